"""The one picture that all decisions about Services are made from: who has what, what is free, what is to be served.

The controller keeps it up to date as things change; `mooring why` and `mooring plan` paint it once from what they find.
Who has which port is the business of `holdings`.
"""

import itertools
from collections.abc import Iterable, Iterator

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
    heard,
    keeping,
    layers,
    mapping,
    room,
    wishes,
)
from mooring.core.addresses import Addresses, Beside
from mooring.core.backends import Known
from mooring.core.heard import Gateways
from mooring.core.holdings import Holdings
from mooring.core.layers import Layer
from mooring.core.mapping import Leg, Seen
from mooring.core.wishes import Refused, Wish
from mooring.model.cloud import FloatingIpId, PortId
from mooring.model.gateway import Forward
from mooring.model.kubernetes import Name, Service


class _Made(Struct, frozen=True):
    """What was made of a Service, and of what."""

    service: Service
    known: Known
    addresses: tuple[str, ...]
    forwards: tuple[Forward, ...]


class Picture:
    """Mutable, owned by one task."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self.holdings = Holdings(addresses)
        self._made: dict[Name, _Made] = {}

    def release(self, name: Name) -> None:
        """A Service is gone, or has nothing any more."""
        self.holdings.release(name)
        self._made.pop(name, None)

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
            many_lost=self._lost(service) and self._many_lost(),
            shows_ours=(self._lost(service) and not self._many_lost())
            or mapping.says_retired(service)
            or any(self.addresses.is_public(each.ip) for each in service.status.load_balancer.ingress),
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
        """Whether the ports that we gave it are gone, so that what it shows is nobody's any more."""
        named, known = mapping.named_ports(service), self.addresses.ports.keys()
        return bool(named) and mapping.bound(service) and known.isdisjoint(named)

    def _many_lost(self) -> bool:
        """If so many are gone at once, it is rather that we are shown something else: another project, or cluster."""
        used = self.holdings.used()
        gone = used - self.addresses.ports.keys()
        return len(gone) > cleaning.MOST and len(gone) > cleaning.SHARE * len(used)

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
            or choices.refused(service, self.addresses.place.choices, floats=self.addresses.place.floats(wishes.IPV4))
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
        denied = hopeless or self.holdings.not_allowed(service, wish) or taken
        return Leg(
            wish,
            port,
            fits=fits,
            holds=its and not fits and port in self.holdings.known_by(service),
            candidate=candidate,
            address=(known.public(port) or "") if port else "",
            inner=(known.address(port) or "") if port else "",
            rival=self.holdings.rival(service, port) if port else None,
            denied=denied,
            to_keep=self._to_keep(service, port) if port and wishes.keeps(service) else None,
            not_to_keep=self._not_to_keep(service, port) if port and wishes.keeps_no_more(service) else None,
            taken_off=self._taken_off(service, port) if port and not fits and not wish.internal else None,
            lost=None if port or wish.internal else self._lost_address(service, wish, in_vain=denied is not None),
            refused=hopeless if fits else None,
            retired=port is not None and known.retired(port),
            unmarked=known.place.mark if port and known.borrowed(port) else "",
        )

    def _to_keep(self, service: Service, port: PortId) -> FloatingIpId | None:
        found = self.addresses.floating_ip(port)
        return found.id if found and keeping.not_yet(found, service.metadata.namespace) else None

    def _not_to_keep(self, service: Service, port: PortId) -> FloatingIpId | None:
        """Whose address others have too leaves it as it is: one of them may want it to stay."""
        found = self.addresses.floating_ip(port)
        alone = set(self.holdings.owners(port)) == {service.name}
        return found.id if found and alone and keeping.for_nobody_else(found, service.metadata.namespace) else None

    def _taken_off(self, service: Service, port: PortId) -> FloatingIpId | None:
        """The floating IP that belongs on its port, by what those show who have it."""
        known, showing = self.addresses, self.holdings.showing
        unreached = mapping.bound(service) and port in known.ports and known.public(port) is None
        if not unreached or not self.holdings.undisputed(service, port):
            return None
        return known.taken_off(each for name in sorted(self.holdings.owners(port)) for each in showing.of(name))

    def _lost_address(self, service: Service, wish: Wish, *, in_vain: bool) -> Wish | None:
        """For the address that it shows, whose floating IP is there and whose port is gone: from where it comes.

        Who asks for another one, and not in vain, gets that; who chose another place moves there afterwards.
        """
        known, shown = self.addresses, [each.ip for each in service.status.load_balancer.ingress]
        found = known.taken_off(shown) if mapping.bound(service) and mapping.named_ports(service) else None
        if found is None:
            return None
        floating_ip = known.floating_ips[found]
        address = floating_ip.floating_ip_address
        wanted = in_vain or wish.address in {"", address}
        if not wanted or wish.family != wishes.family_of(address):
            return None
        return Wish(wish.family, address, floating_network=floating_ip.floating_network_id)

    def beside(self, service: Service) -> Beside:
        """What is others' when an address is made for a Service."""
        return Beside(
            service.metadata.namespace,
            self.holdings.showing.everything(),
            self.holdings.used().difference(self.holdings.ports_of(service)),
        )

    def asked_for(self, services: Iterable[Service]) -> frozenset[PortId]:
        """The ports of ours that Services ask for and may have, be it that they are about to go."""
        return frozenset(
            port
            for service in services
            for wish in self._wishes(service)
            if wish.address and mapping.can_be_managed(service) and self._hopeless(service) is None
            if (port := self.addresses.reached_at(wish.address)) and self._fits(service, port)
            if self.holdings.not_allowed(service, wish) is None and grants.granted(self.addresses, port, wish)
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
        its = (each for each in self.holdings.ports_of(service) if each in known.ports and known.retired(each))
        return known.place.families.union(filter(None, map(known.family, its)))

    def _named(self, service: Service) -> dict[str, PortId]:
        """By family the first port of ours that a Service has, by what it says."""
        found: dict[str, PortId] = {}
        for port in self.holdings.ports_of(service):
            if family := self.addresses.family(port):
                found.setdefault(family, port)
        return found

    def _served_at(self, service: Service) -> list[PortId]:
        """The ports that it has. Who lost a floating IP is served for as long as it shows it: it may be put back."""
        named, shows = self._named(service).values(), bool(service.status.load_balancer.ingress)
        its = [each for each in named if self.holdings.undisputed(service, each)]
        return [each for each in its if shows or self.addresses.public(each) is not None]

    def _fits(self, service: Service, port: PortId) -> bool:
        reachable = self.addresses.public(port) is not None
        return reachable and self.holdings.undisputed(service, port)

    def _taken(self, service: Service, port: PortId) -> Refused | None:
        rival, offered = self.holdings.rival(service, port), port in self.holdings.offered
        return grants.taken(self.addresses, port, rival, offered=offered)

    def _candidate(self, service: Service, wish: Wish, asked: PortId | None) -> PortId | None:
        """What it asks for, what it was to be given when the answer was lost, or the first that is free."""
        if wish.address:
            granted = asked in self.holdings.offered and grants.granted(self.addresses, asked, wish)
            return asked if granted else None
        origin = self.addresses.place.origin(wish)
        offered = (each for each in self.holdings.claimed(service) if each in self.holdings.offered)
        its = (each for each in offered if self.addresses.origin(each) == origin and self._fits(service, each))
        return next(its, None) or self.holdings.free(service, origin)
