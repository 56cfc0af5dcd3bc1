"""The one picture that all decisions about Services are made from: who has what, what is free, what is to be served.

The controller keeps it up to date as things change; `mooring why` and `mooring plan` paint it once from what they find.
Whose a port is, is told by the Services' annotations and by nothing else.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from msgspec import Struct

from mooring.core import endpoints, gateway_document, mapping
from mooring.core.addresses import Addresses
from mooring.core.allocation import Allocations
from mooring.core.mapping import Seen
from mooring.model.cloud import PortId
from mooring.model.gateway import Document, Forward, LeftOut
from mooring.model.kubernetes import EndpointSlice, Name, Service

GROUPS: Mapping[str, Callable[[Name], Hashable]] = {
    "namespace": lambda name: name.namespace,
    "cluster": lambda _: None,
    "none": lambda name: name,
}
"""Who may share an address, by what the operator allows."""


class Gateways(Struct, frozen=True):
    """What the gateways say: what all live ones have acknowledged, by Service, and whether there is a live one."""

    acknowledged: dict[str, frozenset[tuple[str, str, int]]] | None = None
    live: bool = True
    holder: bool = True
    """One of the live ones holds the addresses; else packets go to one of which nothing is known."""
    left_out: Mapping[str, tuple[str, LeftOut]] = {}
    """What one of the live ones does not serve of what it acknowledged: by Service, which gateway, and what."""

    def serve(self, service: Service, wanted: tuple[Forward, ...]) -> bool:
        """Whether they do what a Service wants, be it that it is gone. Endpoints may lag behind for a moment."""
        if self.acknowledged is None:
            return False
        if self.refused(service):
            return False
        known = self.acknowledged.get(str(service.name), frozenset()) == places(wanted)
        return known and ((self.live and self.holder) or not wanted)

    def refused(self, service: Service) -> tuple[str, LeftOut] | None:
        """Which gateway does not serve a part of a Service at all, and why."""
        found = self.left_out.get(str(service.name))
        return found if found is not None and not found[1].backend else None


def places(forwards: Iterable[Forward]) -> frozenset[tuple[str, str, int]]:
    return frozenset((each.address, each.protocol, each.port) for each in forwards)


def acknowledged(document: Document) -> dict[str, frozenset[tuple[str, str, int]]]:
    """What gateways that hold a document have acknowledged, by Service."""
    found: dict[str, list[Forward]] = {}
    for each in document.forwards:
        found.setdefault(each.service, []).append(each)
    return {service: places(forwards) for service, forwards in found.items()}


def _left_out(gateways: Gateways, service: Service) -> Iterator[str]:
    found = gateways.left_out.get(str(service.name))
    if found is not None and found[1].backend:
        yield f"{found[0]}: {found[1].message}"


def _refused(gateways: Gateways, service: Service) -> tuple[str, str] | None:
    found = gateways.refused(service)
    return None if found is None else (f"Gateway {found[0]} does not serve it: {found[1].message}", found[1].advice)


class _Made(Struct, frozen=True):
    """What was made of a Service, and of what."""

    service: Service
    slices: tuple[EndpointSlice, ...]
    address: str
    forwards: tuple[Forward, ...]


class Picture:
    """Mutable, owned by one task. After `addresses` has changed, `offer` has to be called."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self._allocations: Allocations[PortId, Name] = Allocations(GROUPS[addresses.place.sharing])
        self._offered: frozenset[PortId] = frozenset()
        self._public: frozenset[str] = frozenset()
        self._made: dict[Name, _Made] = {}

    def offer(self) -> None:
        """Let what is usable now be given to somebody, and nothing else."""
        self._public = self.addresses.all_public()
        usable = self.addresses.usable()
        for port in sorted(self._offered.difference(usable)):
            self._allocations.withdraw(port)
        for port in usable:
            self._allocations.offer(port)
        self._offered = frozenset(usable)

    def claim(self, service: Service) -> None:
        """Take in what a Service says of itself."""
        port = mapping.port_of(service)
        if port is None:
            self._allocations.release(service.name)
        else:
            self.give(service, port)

    def give(self, service: Service, port: PortId) -> None:
        """What a Service is about to be given is nobody else's from now on."""
        self._allocations.claim(service.name, port, mapping.keys(service))

    def release(self, name: Name) -> None:
        self._allocations.release(name)
        self._made.pop(name, None)

    def used(self) -> frozenset[PortId]:
        """The ports that somebody has."""
        return self._allocations.used()

    def forwards(self, service: Service, slices: Iterable[EndpointSlice]) -> tuple[Forward, ...]:
        """What the gateways should serve for a Service."""
        port = mapping.port_of(service)
        if port is None or not mapping.mapped(service) or not self._fits(service, port):
            return ()
        return self._forwards(service, tuple(slices), self.addresses.address(port) or "")

    def _forwards(self, service: Service, slices: tuple[EndpointSlice, ...], address: str) -> tuple[Forward, ...]:
        """Made once for as long as the same Service has the same endpoints: of ten thousand, one has changed."""
        made = self._made.get(service.name)
        if made is None or (made.service, made.slices, made.address) != (service, slices, address):
            made = _Made(service, slices, address, gateway_document.forwards(service, address, slices))
            self._made[service.name] = made
        return made.forwards

    def seen(self, service: Service, slices: Iterable[EndpointSlice], gateways: Gateways) -> Seen:
        """All that the decision about a Service depends on."""
        port = mapping.port_of(service)
        slices = tuple(slices)
        wanted = self.forwards(service, slices)
        return Seen(
            service,
            port_is_ours=port in self.addresses.ports,
            fits=port is not None and self._fits(service, port),
            candidate=self._candidate(service),
            address=(self.addresses.public(port) or "") if port else "",
            inner=(self.addresses.address(port) or "") if port else "",
            rival=self._allocations.rival(port, mapping.keys(service), service.name) if port else None,
            shows_ours=any(each.ip in self._public for each in service.status.load_balancer.ingress),
            served=gateways.serve(service, wanted),
            live=gateways.live,
            holder=gateways.holder,
            endpoints=all(each.backends for each in wanted),
            left_out=(*endpoints.left_out(slices), *_left_out(gateways, service)),
            refused=_refused(gateways, service),
        )

    def _fits(self, service: Service, port: PortId) -> bool:
        reachable = self.addresses.public(port) is not None
        return reachable and self._allocations.fits(port, mapping.keys(service), service.name)

    def _candidate(self, service: Service) -> PortId | None:
        """What it was to be given when the answer was lost, or the first that is free."""
        claimed = self._allocations.port_of(service.name)
        if claimed is not None and claimed in self._offered and self._fits(service, claimed):
            return claimed
        return self._allocations.first_fit(mapping.keys(service), service.name)
