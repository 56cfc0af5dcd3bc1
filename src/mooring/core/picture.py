"""The one picture that all decisions about Services are made from: who has what, what is free, what is to be served.

The controller keeps it up to date as things change; `mooring why` and `mooring plan` paint it once from what they find.
Whose a port is, is told by the Services' annotations; where somebody took these away, by the addresses that they show.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from mooring.core import (
    backends,
    choices,
    claims,
    cleaning,
    endpoints,
    gateway_document,
    grants,
    having,
    heard,
    layers,
    mapping,
    room,
    shares,
    wishes,
)
from mooring.core.addresses import Addresses, Beside
from mooring.core.allocation import Allocations, Wanted
from mooring.core.backends import Known
from mooring.core.changes import Changes
from mooring.core.heard import Gateways
from mooring.core.layers import Layer
from mooring.core.mapping import Leg, Seen
from mooring.core.shares import Share
from mooring.core.showing import Showing
from mooring.core.wishes import Refused, Wish
from mooring.model.cloud import FloatingIpId, PortId
from mooring.model.gateway import Forward
from mooring.model.kubernetes import Name, Service

GROUPS: Mapping[str, Callable[[Name], str]] = {
    "namespace": lambda name: name.namespace,
    "cluster": lambda _: "",
    "none": str,
}
"""Who may share an address, by what the operator allows."""


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
        self._showing = Showing()
        self._granted: dict[Name, tuple[PortId, ...]] = {}
        self.changes = Changes()

    def offer(self) -> None:
        """Let what is usable now be given to somebody, and nothing else."""
        self._public = self.addresses.all_public()
        usable = self.addresses.usable()
        for port in sorted(self._offered.difference(usable)):
            self._allocations.withdraw(port)
        for port in usable:
            self._allocations.offer(port, self.addresses.origin(port), reserved=self.addresses.reserved(port))
        self._offered = frozenset(usable)
        self._follow()
        self.changes.add_everybody()

    def _follow(self) -> None:
        """Who had a port that is gone has the one that is reached where that was: nobody who comes now takes it.

        What is kept for others is let go of by who only names it.
        """
        for gone in sorted(self._allocations.used() - self.addresses.ports.keys()):
            for name in sorted(self._allocations.owners(gone)):
                found = (self.addresses.reached_at(each) for each in self._showing.of(name))
                if now := [each for each in found if each is not None]:
                    self._allocations.move(name, now)
        for port in filter(self.addresses.reserved, self._offered):
            for name in self._allocations.owners(port):
                if self.addresses.kept_for_others(port, name.namespace) and not self._was_given(name, port):
                    self._allocations.release(name)  # it named the port before anybody knew for whom it is kept

    def claim(self, service: Service) -> None:
        """Take in what a Service says of itself."""
        self._showing.see(service)
        self._hold(service)
        self.give(service, self.ports_of(service))

    def _hold(self, service: Service) -> None:
        """What it has of a list stays, be it that it is listed no more."""
        if held := mapping.held(service) - self.addresses.ports.keys():
            self.addresses.hold(held)
            self._public = self.addresses.all_public()

    def claim_all(self, services: Iterable[Service]) -> None:
        """Take in what all say of themselves, so that nobody loses what it has.

        What was given to who shows it comes first, then what that one has added since, then what is only named: by
        those who lost the address that they show before all others. Everybody can name a port.
        """
        ordered = sorted(services, key=mapping.precedence)
        for each in ordered:
            self._showing.see(each)
        for each in ordered:
            self._hold(each)
            self._give(each, self._known_by(each), shares.given(each))
        for each in ordered:
            self.give(each, self._known_by(each))
        for each in sorted(ordered, key=self._shows_what_is_there):
            self.claim(each)

    def _known_by(self, service: Service) -> list[PortId]:
        """Of its ports those whose addresses it shows. Everybody can name a port; controllers write a status."""
        shown = {each.ip for each in service.status.load_balancer.ingress}
        return [each for each in self.ports_of(service) if self.addresses.public(each) in shown]

    def ports_of(self, service: Service) -> tuple[PortId, ...]:
        """The ports that it has, by what it says."""
        return tuple(each for each in having.ports_of(service, self.addresses) if self._may_name(service, each))

    def _may_name(self, service: Service, port: PortId) -> bool:
        """Everybody can name a port. One of a list counts if we gave it, or if it may be asked for.

        So does one whose floating IP is kept for others.
        """
        known = self.addresses
        if not known.place.static and not known.kept_for_others(port, service.metadata.namespace):
            return True
        shown = {each.ip for each in service.status.load_balancer.ingress}
        if known.public(port) in shown or self._was_given(service.name, port):
            return True
        return self._not_allowed(service, Wish(known.family(port) or "", known.public(port) or "")) is None

    def _was_given(self, name: Name, port: PortId) -> bool:
        """Whether a Service has a port from us, and not only because it names it."""
        return port in self._granted.get(name, ()) or self.addresses.public(port) in self._showing.of(name)

    def _shows_what_is_there(self, service: Service) -> bool:
        """Whether an address that it shows is that of a port, or it shows none."""
        shown = [each.ip for each in service.status.load_balancer.ingress]
        return not shown or any(self.addresses.reached_at(each) for each in shown)

    def grant(self, service: Service, ports: tuple[PortId, ...]) -> None:
        """What a Service is about to be given is nobody else's from now on."""
        self._granted[service.name] = ports
        self.give(service, ports)

    def give(self, service: Service, ports: Iterable[PortId]) -> None:
        self._give(service, ports, shares.wanted(service))

    def _give(self, service: Service, ports: Iterable[PortId], share: Share) -> None:
        name, claimed, wanted = service.name, tuple(ports), self._wanted(service, share)
        self.changes.add((name,))
        if not self._allocations.claimed(name, claimed, wanted):
            self.changes.add(self._allocations.contenders(name))
            self._allocations.claim(name, claimed, wanted)
            self.changes.add(self._allocations.contenders(name))

    def _wanted(self, service: Service, share: Share | None = None) -> Wanted:
        wanted = share or shares.wanted(service)
        return Wanted(wanted.keys, (self._group(service.name), wanted.company))

    def release(self, name: Name) -> None:
        self.changes.add((name, *self._allocations.contenders(name)))
        self._allocations.release(name)
        self._made.pop(name, None)
        self._showing.forget(name)
        self._granted.pop(name, None)

    def used(self) -> frozenset[PortId]:
        """The ports that somebody has."""
        return self._allocations.used()

    def layer(self, service: Service) -> Layer:
        """Where its packets enter the cluster."""
        return layers.of_service(service, self.addresses.place.layer)

    def forwards(self, service: Service, known: Known) -> tuple[Forward, ...]:
        """What the gateways should serve for a Service."""
        if not mapping.can_be_managed(service):
            return ()
        addresses = tuple(self.addresses.address(each) or "" for each in self._served_at(service))
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
            port_is_ours=any(port in self.addresses.ports for port in mapping.named_ports(service)),
            shows_ours=self._lost(service)
            or mapping.says_retired(service)
            or any(each.ip in self._public for each in service.status.load_balancer.ingress),
            served=gateways.serve(service, wanted),
            live=gateways.live,
            holder=gateways.holder,
            endpoints=not wanted or any(each.backends for each in wanted),
            left_out=(
                *(endpoints.left_out(known.slices) if layer == "pod" else ()),
                *heard.left_out(gateways, service),
            ),
            remarks=(
                *backends.remarks(service, wanted, known, layer, gateways.snat),
                *heard.without(gateways, service, wanted),
            ),
            refused=heard.refused(gateways, service, wanted),
            ip_mode=self.addresses.place.services.ip_mode,
        )

    def _lost(self, service: Service) -> bool:
        """Whether the ports that we gave it are gone, so that what it shows is nobody's any more.

        If so many are gone at once, it is rather that we are shown something else: another project, another cluster.
        """
        named, known = mapping.named_ports(service), self.addresses.ports.keys()
        if not named or not mapping.bound(service) or not known.isdisjoint(named):
            return False
        used = self._allocations.used()
        gone = used - known
        return len(gone) <= cleaning.MOST or len(gone) <= cleaning.SHARE * len(used)

    def _legs(self, service: Service) -> tuple[Leg, ...]:
        hopeless, named = self._hopeless(service), self._named(service)
        legs = [self._leg(service, wish, named.get(wish.family), hopeless) for wish in self._wishes(service)]
        return tuple(each.kept() if each.holds and each.denied else each for each in self._room(legs))

    def _hopeless(self, service: Service) -> Refused | None:
        """Why what it asks for can be granted nowhere."""
        return (
            layers.refused(service)
            or claims.unclear(service)
            or wishes.unclear(service)
            or wishes.refused(service, self._families(service))
            or choices.refused(service, self.addresses.place.choices)
        )

    def _wishes(self, service: Service) -> Iterator[Wish]:
        for wish in wishes.wished(service, self._families(service)):
            yield choices.chosen(service, wish, self.addresses.place.choices)

    def _room(self, legs: list[Leg]) -> list[Leg]:
        """Who needs new addresses is denied all where there is no room for them: none is made in vain."""
        new = [each for each in legs if not (each.fits or each.candidate or each.denied)]
        denied = room.refused(self.addresses, [each.wish for each in new])
        return [msgspec.structs.replace(each, denied=denied) if denied and each in new else each for each in legs]

    def _leg(self, service: Service, wish: Wish, port: PortId | None, hopeless: Refused | None) -> Leg:
        known = self.addresses
        its = port is not None and self._fits(service, port)
        fits = its and port is not None and grants.granted(known, port, wish)
        asked = known.reached_at(wish.address) if wish.address else None
        candidate = None if fits else self._candidate(service, wish, asked)
        taken = self._taken(service, asked) if asked else None if fits or candidate else grants.not_listed(known, wish)
        return Leg(
            wish,
            port,
            fits=fits,
            holds=its and not fits and port in self._known_by(service),
            candidate=candidate,
            address=(known.public(port) or "") if port else "",
            inner=(known.address(port) or "") if port else "",
            rival=self._rival(service, port) if port else None,
            denied=hopeless or self._not_allowed(service, wish) or taken,
            to_keep=known.to_keep(port, service.metadata.namespace) if port and wishes.keeps(service) else None,
            not_to_keep=self._not_to_keep(service, port) if port and wishes.keeps_no_more(service) else None,
            taken_off=self._taken_off(service, port) if port and not fits else None,
            lost=self._lost_address(service, wish) if port is None else "",
            refused=hopeless if fits else None,
            retired=port is not None and known.retired(port),
        )

    def _not_to_keep(self, service: Service, port: PortId) -> FloatingIpId | None:
        """Whose address others have too leaves it as it is: one of them may want it to stay."""
        alone = set(self._allocations.owners(port)) == {service.name}
        return self.addresses.not_to_keep(port, service.metadata.namespace) if alone else None

    def _taken_off(self, service: Service, port: PortId) -> FloatingIpId | None:
        """The floating IP that belongs on its port, by what it shows."""
        known = self.addresses
        unreached = mapping.bound(service) and port in known.ports and known.public(port) is None
        if not unreached or not self._undisputed(service, port):
            return None
        return known.taken_off(each.ip for each in service.status.load_balancer.ingress)

    def _lost_address(self, service: Service, wish: Wish) -> str:
        """The address that it shows, whose floating IP is there and whose port is gone."""
        known, shown = self.addresses, [each.ip for each in service.status.load_balancer.ingress]
        found = known.taken_off(shown) if mapping.bound(service) and mapping.named_ports(service) else None
        address = known.floating_ips[found].floating_ip_address if found else ""
        return address if wish.family == wishes.family_of(address) and wish.address in {"", address} else ""

    def beside(self, service: Service) -> Beside:
        """What is others' when an address is made for a Service."""
        return Beside(
            service.metadata.namespace,
            self._showing.everything(),
            self._allocations.used().difference(self.ports_of(service)),
        )

    def asked_for(self, services: Iterable[Service]) -> frozenset[PortId]:
        """The ports of ours that Services ask for and may have, be it that they are about to go."""
        return frozenset(
            port
            for service in services
            for wish in self._wishes(service)
            if wish.address and mapping.can_be_managed(service) and self._hopeless(service) is None
            if (port := self.addresses.reached_at(wish.address)) and self._fits(service, port)
            if self._not_allowed(service, wish) is None and grants.granted(self.addresses, port, wish)
        )

    def begun_for(self, waiting: Iterable[Service]) -> frozenset[PortId]:
        """What was begun, and will be gone on with by those who wait; and what they have the half of already.

        Who asks for an address may wait for it for ever: nothing is kept for it, of whatever family.
        """
        every = [self._legs(service) for service in waiting]
        legs = [leg for its in every if not any(each.awaits for each in its) for leg in its]
        subnets = {self.addresses.place.origin(leg.wish).subnet for leg in legs if not leg.wish.address}
        begun = (each for each in self.addresses.all_begun() if self.addresses.origin(each).subnet in subnets)
        return frozenset(leg.candidate for leg in legs if leg.candidate).union(begun)

    def _families(self, service: Service) -> frozenset[str]:
        """Of which families it can have addresses; what it has of a list, it keeps."""
        known = self.addresses
        kept = (known.family(each) for each in self.ports_of(service) if each in known.ports and known.retired(each))
        return known.place.families.union(each for each in kept if each)

    def _named(self, service: Service) -> dict[str, PortId]:
        """By family the first port of ours that a Service has, by what it says."""
        found: dict[str, PortId] = {}
        for port in self.ports_of(service):
            if family := self.addresses.family(port):
                found.setdefault(family, port)
        return found

    def _served_at(self, service: Service) -> list[PortId]:
        """The ports that it has. Who lost a floating IP is served for as long as it shows it: it may be put back."""
        shows = bool(service.status.load_balancer.ingress)
        named = self._named(service).values()
        return [each for each in named if self._fits(service, each) or (shows and self._undisputed(service, each))]

    def _fits(self, service: Service, port: PortId) -> bool:
        reachable = self.addresses.public(port) is not None
        return reachable and self._undisputed(service, port)

    def _undisputed(self, service: Service, port: PortId) -> bool:
        return self._allocations.fits(port, self._wanted(service), service.name)

    def _rival(self, service: Service, port: PortId) -> Name | None:
        return self._allocations.rival(port, self._wanted(service), service.name)

    def _not_allowed(self, service: Service, wish: Wish) -> Refused | None:
        return grants.not_allowed(self.addresses, service.name, wish, self._allocations.owners, self._showing.by)

    def _taken(self, service: Service, port: PortId) -> Refused | None:
        return grants.taken(self.addresses, port, self._rival(service, port), offered=port in self._offered)

    def _candidate(self, service: Service, wish: Wish, asked: PortId | None) -> PortId | None:
        """What it asks for, what it was to be given when the answer was lost, or the first that is free."""
        if wish.address:
            return asked if asked in self._offered and grants.granted(self.addresses, asked, wish) else None
        origin = self.addresses.place.origin(wish)
        for claimed in self._allocations.ports_of(service.name):
            if claimed in self._offered and self.addresses.origin(claimed) == origin and self._fits(service, claimed):
                return claimed
        return self._allocations.first_fit(self._wanted(service), origin)
