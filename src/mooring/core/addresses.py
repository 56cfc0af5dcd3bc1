"""The ports and floating IPs of ours and the gateways' own ports: what was last seen, and what we changed since.

An address is a port that the gateways serve and, where floating IPs are wanted, one floating IP on it. It is usable
once it can be reached from outside and every gateway may use it, by an entry in its port's allowed address pairs.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from mooring.core import mark, wishes
from mooring.core.layers import Layer
from mooring.model import names
from mooring.model.cloud import AddressPair, FloatingIp, FloatingIpId, NetworkId, Port, PortId, ProjectId, SubnetId
from mooring.model.config import Services

Ours = Port | FloatingIp


class Place(Struct, frozen=True):
    """Where addresses come from, the gateways' ports, and the identity of the cluster that they are for."""

    cluster: str
    network: NetworkId
    subnet: SubnetId | None
    floating_network: NetworkId | None = None
    gateways: tuple[PortId, ...] = ()
    name: str = "kubernetes"
    """What people call the cluster."""
    sharing: Literal["namespace", "cluster", "none"] = "namespace"
    services: Services = Services()
    """Which Services are ours, and what they say of their addresses."""
    subnet_ipv6: SubnetId | None = None
    layer: Layer = "pod"
    """Where packets of Services go that do not choose themselves."""

    @property
    def subnets(self) -> dict[str, SubnetId]:
        """Where addresses of each family come from."""
        both = {wishes.IPV4: self.subnet, wishes.IPV6: self.subnet_ipv6}
        return {family: subnet for family, subnet in both.items() if subnet}

    def floats(self, family: str) -> bool:
        """Whether an address of a family is reached by a floating IP. Neutron has none of IPv6."""
        return family == wishes.IPV4 and self.floating_network is not None

    @property
    def mark(self) -> str:
        return mark.dump(self.cluster)


class Addresses:
    """Mutable, owned by one task."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.ports: dict[PortId, Port] = {}
        self.floating_ips: dict[FloatingIpId, FloatingIp] = {}
        self.gateways: dict[PortId, Port] = {}
        self.former: frozenset[str] = frozenset()
        """Addresses of ports of ours that somebody else deleted, and that gateways may still use."""
        self.released: frozenset[PortId] = frozenset()
        """Ports of gateways that were let go, and may not use any address of ours any more."""
        self._by_port: dict[PortId, FloatingIp] = {}

    def replace(self, ports: Iterable[Port], floating_ips: Iterable[FloatingIp], gateways: Iterable[Port]) -> None:
        """All that there is now."""
        before = _addresses(self.ports.values())
        self.ports = {each.id: each for each in ports}
        self.gateways = {each.id: each for each in gateways}
        allowed = {pair.ip_address for each in self.gateways.values() for pair in each.allowed_address_pairs}
        self.former = ((self.former | before) - _addresses(self.ports.values())) & allowed
        self.floating_ips, self._by_port = {}, {}
        for each in floating_ips:
            self.put(each)

    def put(self, what: Ours) -> None:
        if isinstance(what, Port):
            self.ports[what.id] = what
            return
        self.floating_ips[what.id] = what
        if what.port_id is not None:
            self._by_port[what.port_id] = what

    def put_gateway(self, port: Port) -> None:
        self.gateways[port.id] = port

    def address(self, port: PortId) -> str | None:
        """The address that the gateways serve for a port."""
        found = self.ports.get(port)
        return found.fixed_ips[0].ip_address if found and found.fixed_ips else None

    def public(self, port: PortId) -> str | None:
        """The address at which a port is reached from outside; None while it is not yet."""
        family = self.family(port)
        if family is None or not self.place.floats(family):
            return self.address(port)
        found = self._by_port.get(port)
        return found.floating_ip_address if found else None

    def family(self, port: PortId) -> str | None:
        """The family of a port of ours."""
        address = self.address(port)
        return wishes.family_of(address) if address else None

    def reached_at(self, address: str) -> PortId | None:
        """The port of ours that is reached at an address."""
        return next((each for each in self.ports if self.public(each) == address), None)

    def to_keep(self, port: PortId) -> FloatingIpId | None:
        """The floating IP of a port that does not say yet that it is to stay."""
        found = self._by_port.get(port)
        return found.id if found is not None and names.KEEP_TAG not in found.tags else None

    def all_public(self) -> frozenset[str]:
        """Every address of ours that somebody may be sent to."""
        found = {each.floating_ip_address for each in self.floating_ips.values()}
        return frozenset(found.union(each for port in self.ports if (each := self.public(port))))

    def usable(self) -> list[PortId]:
        """Ports that may be given to somebody: complete, and not going away. Oldest first."""
        ready = [each for each in self.ports.values() if self._complete(each.id) and not going(each)]
        return [each.id for each in sorted(ready, key=lambda each: (each.created_at, each.id))]

    def begun(self, family: str, address: str = "") -> PortId | None:
        """A port that somebody began to make an address of and did not end; of this address, if it is its own."""
        return min((each for each in self.all_begun() if self._becomes(each, family, address)), default=None)

    def all_begun(self) -> list[PortId]:
        return [each.id for each in self.ports.values() if not self._complete(each.id) and not going(each)]

    def _becomes(self, port: PortId, family: str, address: str) -> bool:
        """Whether a port that is complete is reached at such an address."""
        if self.family(port) != family:
            return False
        reached = self.public(port)
        own = not self.place.floats(family)
        return not address or (reached == address if own or reached else True)

    def going(self) -> list[str]:
        """What bears the tag that says that it goes away."""
        everything: list[Ours] = [*self.ports.values(), *self.floating_ips.values()]
        return [each.id for each in everything if going(each)]

    def unpaired(self, port: PortId) -> list[PortId]:
        """The gateways that may not use a port's address yet."""
        address = self.address(port)
        return sorted(
            each.id
            for each in self.gateways.values()
            if each.id not in self.released
            and address is not None
            and address not in {pair.ip_address for pair in each.allowed_address_pairs}
        )

    def usable_by(self, gateway: PortId) -> frozenset[str]:
        """The addresses of ours that a gateway may use, needed or not."""
        port = self.gateways.get(gateway)
        allowed = frozenset(pair.ip_address for pair in port.allowed_address_pairs) if port else frozenset()
        return allowed & (_addresses(self.ports.values()) | self.former)

    def _complete(self, port: PortId) -> bool:
        return self.public(port) is not None and not self.unpaired(port)


def _addresses(ports: Iterable[Port]) -> frozenset[str]:
    return frozenset(each.ip_address for port in ports for each in port.fixed_ips)


def going(what: Ours) -> bool:
    return names.DELETING_TAG in what.tags


def not_to_be_had(floating_ip: FloatingIp, place: Place, projects: frozenset[ProjectId]) -> str | None:
    """Why a floating IP that is there already cannot be used by us, where a Service asks for it.

    `projects`: those of the gateways. An administrator sees the floating IPs of others, too.
    """
    which = f"floating IP {floating_ip.floating_ip_address} ({floating_ip.id})"
    if floating_ip.project_id not in projects:
        return f"{which} belongs to another project"
    if floating_ip.floating_network_id != place.floating_network:
        return f"{which} is not of the network that floating IPs come from"
    if floating_ip.port_id is not None:
        return f"{which} is in use on port {floating_ip.port_id}"
    if floating_ip.description and floating_ip.description != place.mark:
        return f"{which} has a description; only with an empty one it may be marked as Mooring's and used"
    return None


def paired(
    has: tuple[AddressPair, ...], *, add: frozenset[str] = frozenset(), remove: frozenset[str] = frozenset()
) -> tuple[AddressPair, ...] | None:
    """A gateway's pairs with some of ours more or less; None: it has them so. What others entered stays as it is."""
    kept = tuple(each for each in has if each.ip_address not in remove)
    missing = add.difference(each.ip_address for each in kept)
    wanted = (*kept, *(AddressPair(each) for each in sorted(missing)))
    return None if wanted == has else wanted
