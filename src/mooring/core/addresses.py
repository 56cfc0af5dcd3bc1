"""The ports and floating IPs of ours and the gateways' own ports: what was last seen, and what we changed since.

An address is a port that the gateways serve and, where floating IPs are wanted, one floating IP on it. It is usable
once it can be reached from outside and every gateway may use it, by an entry in its port's allowed address pairs.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from mooring.core import mark
from mooring.model import names
from mooring.model.cloud import AddressPair, FloatingIp, FloatingIpId, NetworkId, Port, PortId, SubnetId

Ours = Port | FloatingIp


class Place(Struct, frozen=True):
    """Where addresses come from, the gateways' ports, and the identity of the cluster that they are for."""

    cluster: str
    network: NetworkId
    subnet: SubnetId
    floating_network: NetworkId | None = None
    gateways: tuple[PortId, ...] = ()
    name: str = "kubernetes"
    """What people call the cluster."""
    sharing: Literal["namespace", "cluster", "none"] = "namespace"

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
        if self.place.floating_network is None:
            return self.address(port)
        found = self._by_port.get(port)
        return found.floating_ip_address if found else None

    def all_public(self) -> frozenset[str]:
        """Every address of ours that somebody may be sent to."""
        if self.place.floating_network is None:
            return frozenset(each.ip_address for port in self.ports.values() for each in port.fixed_ips)
        return frozenset(each.floating_ip_address for each in self.floating_ips.values())

    def usable(self) -> list[PortId]:
        """Ports that may be given to somebody: complete, and not going away. Oldest first."""
        ready = [each for each in self.ports.values() if self._complete(each.id) and not going(each)]
        return [each.id for each in sorted(ready, key=lambda each: (each.created_at, each.id))]

    def begun(self) -> PortId | None:
        """A port that somebody began to make an address of and did not end."""
        found = [each.id for each in self.ports.values() if not self._complete(each.id) and not going(each)]
        return min(found, default=None)

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
            if address is not None and address not in {pair.ip_address for pair in each.allowed_address_pairs}
        )

    def _complete(self, port: PortId) -> bool:
        return self.public(port) is not None and not self.unpaired(port)


def _addresses(ports: Iterable[Port]) -> frozenset[str]:
    return frozenset(each.ip_address for port in ports for each in port.fixed_ips)


def going(what: Ours) -> bool:
    return names.DELETING_TAG in what.tags


def paired(
    has: tuple[AddressPair, ...], *, add: frozenset[str] = frozenset(), remove: frozenset[str] = frozenset()
) -> tuple[AddressPair, ...] | None:
    """A gateway's pairs with some of ours more or less; None: it has them so. What others entered stays as it is."""
    kept = tuple(each for each in has if each.ip_address not in remove)
    missing = add.difference(each.ip_address for each in kept)
    wanted = (*kept, *(AddressPair(each) for each in sorted(missing)))
    return None if wanted == has else wanted
