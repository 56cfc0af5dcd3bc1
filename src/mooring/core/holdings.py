"""Who has which port: by what Services say of themselves, and by what they were given.

Whose a port is, is told by the Services' annotations; where somebody took these away, by the addresses that they show.
Everybody can name a port: what counts is who may have it, and who had it first.
"""

from collections.abc import Callable, Iterable, Mapping

from mooring.core import grants, having, keeping, mapping, shares
from mooring.core.addresses import Addresses, Origin
from mooring.core.allocation import Allocations, Wanted
from mooring.core.changes import Changes
from mooring.core.shares import Share
from mooring.core.showing import Showing
from mooring.core.wishes import Refused, Wish
from mooring.model.cloud import PortId
from mooring.model.kubernetes import Name, Service

GROUPS: Mapping[str, Callable[[Name], str]] = {
    "namespace": lambda name: name.namespace,
    "cluster": lambda _: "",
    "none": str,
}
"""Who may share an address, by what the operator allows."""


class Holdings:
    """Mutable, owned by one task. After `addresses` has changed, `offer` has to be called."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self.showing = Showing()
        self.changes = Changes()
        self.offered: frozenset[PortId] = frozenset()
        """What may be given to somebody."""
        self._group = GROUPS[addresses.place.sharing]
        self._allocations: Allocations[PortId, Name] = Allocations()
        self._granted: dict[Name, tuple[PortId, ...]] = {}

    def offer(self) -> None:
        """Let what is usable now be given to somebody, and nothing else."""
        usable = self.addresses.usable()
        for port in sorted(self.offered.difference(usable)):
            self._allocations.withdraw(port)
        for port in usable:
            reserved = keeping.kept(self.addresses.on(port)) or self.addresses.borrowed(port) is not None
            self._allocations.offer(port, self.addresses.origin(port), reserved=reserved)
        self.offered = frozenset(usable)
        self._follow()
        self._withhold()
        self.changes.add_everybody()

    def _follow(self) -> None:
        """Who had a port that is gone has the one that is reached where that was: nobody who comes now takes it."""
        for gone in sorted(self._allocations.used() - self.addresses.ports.keys()):
            for name in sorted(self._allocations.owners(gone)):
                found = (self.addresses.reached_at(each) for each in self.showing.of(name))
                if now := [each for each in found if each is not None]:
                    self._allocations.move(name, now)

    def _withhold(self) -> None:
        """What is kept for others is let go of by who named it before anybody knew that, and was not given it."""
        for port in self.offered:
            for name in self._allocations.owners(port) if keeping.kept(self.addresses.on(port)) else ():
                if self._kept_for_others(port, name.namespace) and not self._was_given(name, port):
                    self._allocations.move(name, [each for each in self._allocations.ports_of(name) if each != port])

    def _kept_for_others(self, port: PortId, namespace: str) -> bool:
        return keeping.for_others(self.addresses.on(port), namespace)

    def claim(self, service: Service) -> None:
        """Take in what a Service says of itself."""
        self.showing.see(service)
        self._hold(service)
        self.give(service, self.ports_of(service))

    def _hold(self, service: Service) -> None:
        """What it has of a list stays, be it that it is listed no more."""
        if held := mapping.held(service).difference(self.addresses.ports):
            self.addresses.hold(held)

    def claim_all(self, services: Iterable[Service]) -> None:
        """Take in what all say of themselves, so that nobody loses what it has.

        What was given to who shows it comes first, then what that one has added since, then what is only named: by
        those who lost the address that they show before all others. Everybody can name a port.
        """
        ordered = sorted(services, key=mapping.precedence)
        for each in ordered:
            self.showing.see(each)
        for each in ordered:
            self._hold(each)
            self._give(each, self.known_by(each), shares.given(each))
        for each in ordered:
            self.give(each, self.known_by(each))
        for each in sorted(ordered, key=self._shows_what_is_there):
            self.claim(each)

    def known_by(self, service: Service) -> list[PortId]:
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
        if not known.place.static and not self._kept_for_others(port, service.metadata.namespace):
            return True
        shown = {each.ip for each in service.status.load_balancer.ingress}
        if known.public(port) in shown or self._was_given(service.name, port):
            return True
        return self.not_allowed(service, Wish(known.family(port) or "", known.public(port) or "")) is None

    def _was_given(self, name: Name, port: PortId) -> bool:
        """Whether a Service has a port from us, and not only because it names it."""
        return port in self._granted.get(name, ()) or self.addresses.public(port) in self.showing.of(name)

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
        self.showing.forget(name)
        self._granted.pop(name, None)

    def used(self) -> frozenset[PortId]:
        """The ports that somebody has."""
        return self._allocations.used()

    def owners(self, port: PortId) -> frozenset[Name]:
        """Everybody who has a port."""
        return self._allocations.owners(port)

    def claimed(self, service: Service) -> tuple[PortId, ...]:
        """The ports that it has, or was to be given when the answer was lost."""
        return self._allocations.ports_of(service.name)

    def free(self, service: Service, origin: Origin) -> PortId | None:
        """The first port of an origin that is free for it."""
        return self._allocations.first_fit(self._wanted(service), origin)

    def undisputed(self, service: Service, port: PortId) -> bool:
        """Whether nobody else has on a port what it wants there."""
        return self._allocations.fits(port, self._wanted(service), service.name)

    def rival(self, service: Service, port: PortId) -> Name | None:
        """Who is in its way on a port."""
        return self._allocations.rival(port, self._wanted(service), service.name)

    def not_allowed(self, service: Service, wish: Wish) -> Refused | None:
        """Why it may not have what it asks for."""
        return grants.not_allowed(self.addresses, service.name, wish, self.owners, self.showing.by)
