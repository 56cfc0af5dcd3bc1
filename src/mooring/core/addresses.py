"""The ports and floating IPs of ours and the gateways' own ports: what was last seen, and what we changed since.

An address is a port that the gateways serve and, where floating IPs are wanted, one floating IP on it. It is usable
once it can be reached from outside and every gateway may use it, by an entry in its port's allowed address pairs.

A port without a floating IP is one that somebody began, or one that is to have none: the port itself says so, from the
call that makes it on (`internal`). It is reached at its own address, whatever people put on it.

Without OpenStack an operator lists the addresses: each is a port that is always there, and whose id it is itself.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from mooring.core import keeping, mark, ranges, wishes
from mooring.core.choices import Choices
from mooring.core.layers import Layer
from mooring.core.ranges import Range
from mooring.core.wishes import Wish
from mooring.model import names
from mooring.model.cloud import (
    AddressPair,
    FixedIp,
    FloatingIp,
    FloatingIpId,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    Quota,
    SecurityGroup,
    SecurityGroupId,
    SubnetId,
)
from mooring.model.config import Services

Ours = Port | FloatingIp


NOWHERE = SubnetId("")
"""Of addresses that an operator lists."""


class Origin(Struct, frozen=True):
    """Where an address comes from: Services of different origins do not share one."""

    family: str
    subnet: SubnetId
    floating_network: NetworkId | None = None


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
    probe_port: int = 0
    """Where nodes are asked whether they answer; 0: they are not."""
    manage_security_group: bool = False
    """Whether a security group on the gateways' ports is ours to keep."""
    pairs_limit: int = 0
    """How many address pairs Neutron lets a port have; 0: not known."""
    wishes: Literal["own", "shared", "none"] = "own"
    wished: tuple[Range, ...] = ()
    """Which addresses Services may ask for, and the only ones, where there are such."""
    choices: Choices = Choices()
    """Where else addresses may come from, if the owner of a Service chooses so."""
    static: tuple[Range, ...] = ()
    """All addresses that there are, where they do not come from OpenStack."""

    @property
    def subnets(self) -> dict[str, SubnetId]:
        """Where addresses of each family come from."""
        both = {wishes.IPV4: self.subnet, wishes.IPV6: self.subnet_ipv6}
        return {family: subnet for family, subnet in both.items() if subnet}

    @property
    def families(self) -> frozenset[str]:
        """Of which families Services can have addresses."""
        listed = (wishes.IPV6 if each.version == ranges.V6 else wishes.IPV4 for each in self.static)
        return frozenset((*self.subnets, *listed))

    def origin(self, wish: Wish) -> Origin:
        """Where an address comes from that somebody wishes for."""
        subnet = wish.subnet or self.subnets.get(wish.family, NOWHERE)
        if wish.internal:
            return Origin(wish.family, subnet)
        default = self.floating_network if self.floats(wish.family) else None
        return Origin(wish.family, subnet, wish.floating_network or default)

    def floats(self, family: str) -> bool:
        """Whether an address of a family is reached by a floating IP. Neutron has none of IPv6."""
        return family == wishes.IPV4 and self.floating_network is not None

    def internal(self, origin: Origin) -> bool:
        """Whether an address is to have no floating IP, though others of its family have one."""
        return self.floats(origin.family) and origin.floating_network is None

    @property
    def mark(self) -> str:
        return mark.dump(self.cluster)


class Beside(Struct, frozen=True):
    """Who wants a new address, and what is others'."""

    namespace: str = ""
    shown: frozenset[str] = frozenset()
    """The addresses that Services show."""
    taken: frozenset[PortId] = frozenset()
    """The ports that others have."""


class Addresses:
    """Mutable, owned by one task."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._listed = {port.id: port for each in place.static for port in map(_static, each.addresses())}
        self.ports: dict[PortId, Port] = dict(self._listed)
        self.floating_ips: dict[FloatingIpId, FloatingIp] = {}
        self.gateways: dict[PortId, Port] = {}
        self.former: frozenset[str] = frozenset()
        """Addresses of ports of ours that somebody else deleted, and that gateways may still use."""
        self.released: frozenset[PortId] = frozenset()
        """Ports of gateways that were let go, and may not use any address of ours any more."""
        self.groups: dict[SecurityGroupId, SecurityGroup] | None = None
        """The security groups of ours; None while nobody has looked."""
        self.quota: Quota | None = None
        """What the project may have and has; None where that is not known."""
        self._by_port: dict[PortId, FloatingIp] = {}
        self._by_address: dict[str, FloatingIp] = {}
        self._borrowed: dict[PortId, FloatingIp] = {}
        self._reached: dict[str, PortId] | None = None  # by address; made when somebody asks

    def replace(
        self,
        ports: Iterable[Port],
        floating_ips: Iterable[FloatingIp],
        gateways: Iterable[Port],
        borrowed: Iterable[FloatingIp] = (),
    ) -> None:
        """All that there is now. `borrowed`: what is on a port of ours, and does not bear our mark."""
        before = _addresses(self.ports.values())
        self.ports = self._listed | {each.id: each for each in ports}
        self.gateways = {each.id: each for each in gateways}
        allowed = {pair.ip_address for each in self.gateways.values() for pair in each.allowed_address_pairs}
        self.former = ((self.former | before) - _addresses(self.ports.values())) & allowed
        self.floating_ips, self._by_port, self._by_address, self._reached = {}, {}, {}, None
        self._borrowed = {each.port_id: each for each in borrowed if each.port_id is not None}
        for each in floating_ips:
            self.put(each)

    def put(self, what: Ours) -> None:
        """As it is now. Of two ports with one address the older one is gone: Neutron gives it to one at a time."""
        self._reached = None
        if isinstance(what, Port):
            same = (each for each in self.ports.values() if what.fixed_ips and each.fixed_ips == what.fixed_ips)
            for other in [each.id for each in same if each.id != what.id]:
                del self.ports[other]
            self.ports[what.id] = what
            return
        before = self.floating_ips.get(what.id)
        if before is not None and before.port_id is not None and self._by_port.get(before.port_id) is before:
            del self._by_port[before.port_id]
        self.floating_ips[what.id] = self._by_address[what.floating_ip_address] = what
        if what.port_id is not None:
            self._by_port[what.port_id] = what

    def made(self, what: Ours) -> None:
        """Something new, which there is now less room for."""
        self.put(what)
        if self.quota is not None:
            kind = "port" if isinstance(what, Port) else "floatingip"
            usage = getattr(self.quota, kind)
            one_more = msgspec.structs.replace(usage, used=usage.used + 1)
            self.quota = msgspec.structs.replace(self.quota, **{kind: one_more})

    @property
    def project(self) -> ProjectId | None:
        """Whose quota counts: that of the project of what is ours, or will be, beside the gateways."""
        every = (*self.ports.values(), *self.gateways.values())
        return next((each.project_id for each in every), None)

    def put_gateway(self, port: Port) -> None:
        self.gateways[port.id] = port

    def hold(self, addresses: Iterable[str]) -> None:
        """Of a list: Services have these, be it that they are listed no more."""
        if self.place.static:
            self.ports = {each.id: each for each in map(_static, addresses)} | self.ports
            self._reached = None

    def retired(self, port: PortId) -> bool:
        """Whether a port is no longer listed: who has it keeps it, and nobody else gets it."""
        return bool(self.place.static) and port not in self._listed

    def address(self, port: PortId) -> str | None:
        """The address that the gateways serve for a port."""
        found = self.ports.get(port)
        return found.fixed_ips[0].ip_address if found and found.fixed_ips else None

    def public(self, port: PortId) -> str | None:
        """The address at which a port is reached from outside; None while it is not yet."""
        found, family = self.on(port), self.family(port)
        if found is not None:
            return found.floating_ip_address
        lacks = family and self.place.floats(family) and not self._is_internal(port)
        return None if lacks else self.address(port)

    def _is_internal(self, port: PortId) -> bool:
        found = self.ports.get(port)
        return found is not None and internal(found)

    def on(self, port: PortId) -> FloatingIp | None:
        """The one that a port of ours is reached by, whosever it is."""
        return None if self._is_internal(port) else self._by_port.get(port) or self._borrowed.get(port)

    def floating_ip(self, port: PortId) -> FloatingIp | None:
        """The one of ours on a port of ours."""
        return self._by_port.get(port)

    def borrowed(self, port: PortId) -> FloatingIp | None:
        """The one on a port of ours that is not ours, or no more: it is left alone, and packets come by it."""
        return self._borrowed.get(port) if port not in self._by_port else None

    def family(self, port: PortId) -> str | None:
        """The family of a port of ours."""
        address = self.address(port)
        return wishes.family_of(address) if address else None

    def origin(self, port: PortId) -> Origin:
        """Where the address of a port comes from."""
        found, floating_ip = self.ports.get(port), self.on(port)
        subnet = found.fixed_ips[0].subnet_id if found and found.fixed_ips else NOWHERE
        return Origin(self.family(port) or "", subnet, floating_ip.floating_network_id if floating_ip else None)

    def reached_at(self, address: str) -> PortId | None:
        """The port of ours that is reached at an address."""
        if self._reached is None:
            self._reached = {public: each for each in reversed(self.ports) if (public := self.public(each))}
        return self._reached.get(address)

    def taken_off(self, shown: Iterable[str]) -> FloatingIpId | None:
        """The floating IP of ours that is on no port, and has one of these addresses."""
        found = (self._by_address.get(each) for each in shown)
        return next((each.id for each in found if each and each.port_id is None and not going(each)), None)

    def is_public(self, address: str) -> bool:
        """Whether an address is of ours, and somebody may be sent to it."""
        return address in self._by_address or self.reached_at(address) is not None

    def usable(self) -> list[PortId]:
        """Ports that may be given to somebody: complete, and not going away. Oldest first, or as they are listed."""
        if self.place.static:
            return list(self._listed)
        begun = frozenset(self.all_begun())
        ready = [each for each in self.ports.values() if each.id not in begun and not going(each)]
        return [each.id for each in sorted(ready, key=lambda each: (each.created_at, each.id))]

    def spare(self, network: NetworkId, shown: frozenset[str]) -> FloatingIp | None:
        """A floating IP of ours on no port, that is not about to go and that no Service shows: the oldest."""
        free = [
            each
            for each in self.floating_ips.values()
            if each.port_id is None and each.floating_network_id == network
            if not keeping.kept(each) and not going(each) and each.floating_ip_address not in shown
        ]
        return min(free, key=lambda each: (each.created_at, each.id), default=None)

    def begun(self, origin: Origin, address: str = "", *, taken: frozenset[PortId] = frozenset()) -> PortId | None:
        """A port that somebody began to make an address of and did not end; of this address, if it is its own.

        `taken`: those of others. If one of them cannot be reached, it lost its floating IP, and gets it back.
        """
        free = (each for each in self.all_begun() if each not in taken or self.public(each) is not None)
        return min((each for each in free if self._becomes(each, origin, address)), default=None)

    def all_begun(self) -> list[PortId]:
        """Those that no gateway, or not every one, may use yet, or that nobody can reach."""
        allowed = [
            {pair.ip_address for pair in each.allowed_address_pairs}
            for each in self.gateways.values()
            if each.id not in self.released
        ]
        return [
            each
            for each, port in self.ports.items()
            if not going(port)
            and (self.public(each) is None or any(self.address(each) not in every for every in allowed))
        ]

    def _becomes(self, port: PortId, origin: Origin, address: str) -> bool:
        """Whether a port that is complete is reached at such an address."""
        own, reached = self.origin(port), self.public(port)
        if (own.family, own.subnet) != (origin.family, origin.subnet):
            return False
        if own.floating_network not in {None, origin.floating_network}:
            return False
        if self.place.floats(origin.family) and self._is_internal(port) is not self.place.internal(origin):
            return False
        return not address or (reached == address if origin.floating_network is None or reached else True)

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

    def guarded(self, gateway: PortId) -> bool:
        """Whether a gateway's port has a security group of ours, or may have."""
        port = self.gateways.get(gateway)
        return port is not None and (self.groups is None or not self.groups.keys().isdisjoint(port.security_groups))


def _static(address: str) -> Port:
    """An address of a list as a port. Nobody has to make it, to tag it or to delete it."""
    fixed = (FixedIp(NOWHERE, address),)
    return Port(
        id=PortId(address),
        network_id=NetworkId(""),
        project_id=ProjectId(""),
        revision_number=0,
        tags=(names.TAG,),
        fixed_ips=fixed,
    )


def _addresses(ports: Iterable[Port]) -> frozenset[str]:
    return frozenset(each.ip_address for port in ports for each in port.fixed_ips)


def bare(place: Place, ports: Iterable[Port], floating_ips: Iterable[FloatingIp]) -> tuple[PortId, ...]:
    """The ports that should have a floating IP, and have none of these."""
    floating = {each.port_id for each in floating_ips}
    outer = (each for each in ports if not internal(each))
    every = ((each.id, each.fixed_ips[0].ip_address) for each in outer if each.fixed_ips and each.id not in floating)
    return tuple(port for port, address in every if place.floats(wishes.family_of(address)))


def internal(port: Port) -> bool:
    """Whether a port was made to have no floating IP."""
    return port.device_owner == names.INTERNAL_OWNER


def going(what: Ours) -> bool:
    return names.DELETING_TAG in what.tags


def not_to_be_had(
    floating_ip: FloatingIp, origin: Origin, place: Place, projects: frozenset[ProjectId], namespace: str
) -> str | None:
    """Why a floating IP that is there already cannot be used by us, where a Service asks for it.

    `projects`: those of the gateways. An administrator sees the floating IPs of others, too. `namespace`: of who asks.
    """
    which = f"floating IP {floating_ip.floating_ip_address} ({floating_ip.id})"
    if floating_ip.project_id not in projects:
        return f"{which} belongs to another project"
    if floating_ip.floating_network_id != origin.floating_network:
        return f"{which} is not of the network that its floating IP comes from"
    if floating_ip.port_id is not None:
        return f"{which} is in use on port {floating_ip.port_id}"
    if floating_ip.description and floating_ip.description != place.mark:
        return f"{which} has a description; only with an empty one it may be marked as Mooring's and used"
    if place.wishes == "own" and keeping.for_others(floating_ip, namespace):
        return f"{which} is kept for a Service of another namespace"
    return None


def paired(
    has: tuple[AddressPair, ...], *, add: frozenset[str] = frozenset(), remove: frozenset[str] = frozenset()
) -> tuple[AddressPair, ...] | None:
    """A gateway's pairs with some of ours more or less; None: it has them so. What others entered stays as it is."""
    kept = tuple(each for each in has if each.ip_address not in remove)
    missing = add.difference(each.ip_address for each in kept)
    wanted = (*kept, *(AddressPair(each) for each in sorted(missing)))
    return None if wanted == has else wanted
