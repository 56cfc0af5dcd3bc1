"""The one picture that all decisions about Services are made from: who has what, what is free, what is to be served.

The controller keeps it up to date as things change; `mooring why` and `mooring plan` paint it once from what they find.
Whose a port is, is told by the Services' annotations and by nothing else.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from mooring.core import backends, endpoints, gateway_document, layers, mapping, wishes
from mooring.core.addresses import Addresses
from mooring.core.allocation import Allocations, Wanted
from mooring.core.backends import Known
from mooring.core.layers import Layer
from mooring.core.mapping import Leg, Seen
from mooring.core.wishes import Refused, Wish
from mooring.model.cloud import PortId
from mooring.model.gateway import Document, Forward, LeftOut
from mooring.model.kubernetes import Name, Service

GROUPS: Mapping[str, Callable[[Name], str]] = {
    "namespace": lambda name: name.namespace,
    "cluster": lambda _: "",
    "none": str,
}
"""Who may share an address, by what the operator allows."""


BACK = "Wait: it is taken back within a minute"


class Gateways(Struct, frozen=True):
    """What the gateways say: what all live ones have acknowledged, by Service, and whether there is a live one."""

    acknowledged: Mapping[str, frozenset[tuple[str, str, int]]] | None = None
    live: bool = True
    holder: bool = True
    """One of the live ones holds the addresses; else packets go to one of which nothing is known."""
    left_out: Mapping[str, tuple[str, LeftOut]] = {}
    """What one of the live ones does not serve of what it acknowledged: by Service, which gateway, and what."""
    snat: frozenset[str] = frozenset()
    """Whom backends see, by what the live ones say of themselves."""

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
    known: Known
    addresses: tuple[str, ...]
    forwards: tuple[Forward, ...]


class Picture:
    """Mutable, owned by one task. After `addresses` has changed, `offer` has to be called."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self._group = GROUPS[addresses.place.sharing]
        self._allocations: Allocations[PortId, Name] = Allocations()
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
            self._allocations.offer(port, self.addresses.family(port))
        self._offered = frozenset(usable)

    def claim(self, service: Service) -> None:
        """Take in what a Service says of itself."""
        self.give(service, mapping.ports_of(service))

    def give(self, service: Service, ports: Iterable[PortId]) -> None:
        """What a Service is about to be given is nobody else's from now on."""
        self._allocations.claim(service.name, ports, self._wanted(service))

    def _wanted(self, service: Service) -> Wanted:
        return Wanted(mapping.keys(service), (self._group(service.name), wishes.key(service)))

    def release(self, name: Name) -> None:
        self._allocations.release(name)
        self._made.pop(name, None)

    def used(self) -> frozenset[PortId]:
        """The ports that somebody has."""
        return self._allocations.used()

    def layer(self, service: Service) -> Layer:
        """Where its packets enter the cluster."""
        return layers.of_service(service, self.addresses.place.layer)

    def forwards(self, service: Service, known: Known) -> tuple[Forward, ...]:
        """What the gateways should serve for a Service."""
        if not mapping.mapped(service):
            return ()
        addresses = tuple(self.addresses.address(each) or "" for each in self._fitting(service))
        return self._forwards(service, known, addresses)

    def _forwards(self, service: Service, known: Known, addresses: tuple[str, ...]) -> tuple[Forward, ...]:
        """Made once for as long as the same Service has the same backends: of ten thousand, one has changed."""
        layer = self.layer(service)
        matters = Known(known.slices, known.nodes if layer == "node" else ())
        made = self._made.get(service.name)
        if made is None or (made.service, made.known, made.addresses) != (service, matters, addresses):
            forwards = (gateway_document.forwards(service, each, matters, layer) for each in addresses)
            made = _Made(service, matters, addresses, tuple(itertools.chain.from_iterable(forwards)))
            self._made[service.name] = made
        return made.forwards

    def seen(self, service: Service, known: Known, gateways: Gateways) -> Seen:
        """All that the decision about a Service depends on."""
        layer = self.layer(service)
        wanted = self.forwards(service, known)
        return Seen(
            service,
            self._legs(service),
            port_is_ours=any(port in self.addresses.ports for port in mapping.ports_of(service)),
            shows_ours=any(each.ip in self._public for each in service.status.load_balancer.ingress),
            served=gateways.serve(service, wanted),
            live=gateways.live,
            holder=gateways.holder,
            endpoints=all(each.backends for each in wanted),
            left_out=(*(endpoints.left_out(known.slices) if layer == "pod" else ()), *_left_out(gateways, service)),
            remarks=backends.remarks(service, wanted, known, layer, gateways.snat),
            refused=_refused(gateways, service),
            ip_mode=self.addresses.place.services.ip_mode,
        )

    def _legs(self, service: Service) -> tuple[Leg, ...]:
        offered = self.addresses.place.subnets
        hopeless = wishes.refused(service, offered)
        named = self._named(service)
        return tuple(
            self._leg(service, wish, named.get(wish.family), hopeless) for wish in wishes.wished(service, offered)
        )

    def _leg(self, service: Service, wish: Wish, port: PortId | None, hopeless: Refused | None) -> Leg:
        known = self.addresses
        fits = port is not None and hopeless is None and self._fits(service, port) and self._granted(port, wish)
        asked = known.reached_at(wish.address) if wish.address else None
        return Leg(
            wish,
            port,
            fits=fits,
            candidate=None if fits else self._candidate(service, wish, asked),
            address=(known.public(port) or "") if port else "",
            inner=(known.address(port) or "") if port else "",
            rival=self._allocations.rival(port, self._wanted(service), service.name) if port else None,
            denied=hopeless or (self._taken(service, asked) if asked else None),
            to_keep=known.to_keep(port) if port and wishes.keeps(service) else None,
        )

    def asked_for(self, services: Iterable[Service]) -> frozenset[PortId]:
        """The ports of ours that Services ask for and may have, be it that they are about to go."""
        offered = self.addresses.place.subnets
        return frozenset(
            port
            for service in services
            for wish in wishes.wished(service, offered)
            if wish.address and mapping.can_be_managed(service)
            if (port := self.addresses.reached_at(wish.address)) and self._fits(service, port)
        )

    def begun_for(self, waiting: Iterable[Service]) -> frozenset[PortId]:
        """What was begun, and will be gone on with by those who wait for any address."""
        offered = self.addresses.place.subnets
        wanted = {wish.family for service in waiting for wish in wishes.wished(service, offered) if not wish.address}
        return frozenset(each for each in self.addresses.all_begun() if self.addresses.family(each) in wanted)

    def _named(self, service: Service) -> dict[str, PortId]:
        """By family the first port of ours that a Service names."""
        found: dict[str, PortId] = {}
        for port in mapping.ports_of(service):
            if family := self.addresses.family(port):
                found.setdefault(family, port)
        return found

    def _fitting(self, service: Service) -> list[PortId]:
        return [each for each in self._named(service).values() if self._fits(service, each)]

    def _fits(self, service: Service, port: PortId) -> bool:
        reachable = self.addresses.public(port) is not None
        return reachable and self._allocations.fits(port, self._wanted(service), service.name)

    def _granted(self, port: PortId, wish: Wish) -> bool:
        return not wish.address or self.addresses.public(port) == wish.address

    def _taken(self, service: Service, port: PortId) -> Refused | None:
        """Why it cannot have a port of ours whose address it asks for."""
        address = self.addresses.public(port)
        rival = self._allocations.rival(port, self._wanted(service), service.name)
        if rival is not None:
            fact = f"It asks for {address}, which carries {rival}, with one of its ports or not to be shared"
            return Refused(fact, "Ask for another address, or for none, or give it other ports")
        return None if port in self._offered else Refused(f"It asks for {address}, which was given up", BACK)

    def _candidate(self, service: Service, wish: Wish, asked: PortId | None) -> PortId | None:
        """What it asks for, what it was to be given when the answer was lost, or the first that is free."""
        if wish.address:
            return asked if asked in self._offered else None
        for claimed in self._allocations.ports_of(service.name):
            if (
                claimed in self._offered
                and self.addresses.family(claimed) == wish.family
                and self._fits(service, claimed)
            ):
                return claimed
        return self._allocations.first_fit(self._wanted(service), wish.family)
