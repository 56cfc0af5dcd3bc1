"""Clients that come back to their backend: which of them other gateways have to be told of, and which told ones count.

All gateways give a client the same slot, and a slot the same backend. So they agree on all clients but those whose slot
went to a backend that came later, and that are remembered where they were before: only those are told.

A told client against what is remembered here of it:

here                    ->  the told one
----                        ------------
nothing                     is taken
ends clearly before         is taken in its place: the other gateway has heard the client since
lasts about as long         is left: it is the same, or this gateway has heard the client since
"""

import ipaddress
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from mooring.core import elements, jhash, plain_address, ruleset
from mooring.core.gateway_change import Wanted
from mooring.model.gateway import Backend, Clients, Forward, Place, Remembered
from mooring.model.rules import Element, Recalled

MAP = "affinity"
MOST = 10_000
"""Clients that others are told of, of all Services together."""
SLACK = 2.0
"""Seconds that a client may be on its way from one gateway to another."""


class Strayed(Struct, frozen=True):
    """Clients that others have to be told of. `cut`: how many more there are that are not told."""

    remembered: tuple[Remembered, ...] = ()
    cut: int = 0

    @property
    def places(self) -> frozenset[Place]:
        return frozenset(each.place for each in self.remembered)

    @property
    def count(self) -> int:
        return sum(len(each.clients) for each in self.remembered)


class Taken(Struct, frozen=True):
    """What is remembered from now on, and of which Services."""

    recalled: tuple[Recalled, ...] = ()
    places: frozenset[Place] = frozenset()


def joined(before: Mapping[Place, Forward], wanted: Wanted) -> tuple[Place, ...]:
    """Where a backend comes, so that remembered clients may have a slot that is another's. One that goes moves none."""
    return tuple(
        place
        for place, new in wanted.items()
        if new is not None
        and new.affinity
        and (old := before.get(place)) is not None
        and old.affinity
        and not frozenset(new.backends) <= frozenset(old.backends)
    )


def strayed(remembered: Iterable[tuple[Element, float]], forwards: Iterable[Forward], seed: int) -> Strayed:
    """Which of the clients that are remembered, for so many seconds more, others would send elsewhere.

    If there are too many, those are told that came last.
    """
    watched = {elements.service_key(each): each for each in forwards if each.affinity and each.backends}
    known: dict[bytes, Slots] = {}
    found = []
    for element, left in remembered:
        wide = elements.wide(element)
        client, service = element.key[:wide], element.key[wide:]
        if service not in watched or left < 1:
            continue
        if service not in known:  # most have no client: they cost nothing
            known[service] = Slots(watched[service])
        slots = known[service]
        backend = slots.backends.get(element.value)
        if backend is not None and slots.owners[slot(client, seed)] != element.value:
            found.append((-int(left), slots.place, backend, client))
    kept = sorted(found)[:MOST]
    return Strayed(tuple(_grouped(kept)), len(found) - len(kept))


def later(remembered: Iterable[Remembered], seconds: float) -> Iterator[Remembered]:
    """The same some time later: each has less time left, and some have none."""
    spent = math.ceil(seconds)
    for each in remembered:
        left = tuple((client, rest - spent) for client, rest in each.clients if rest > spent)
        if left:
            yield Remembered(*each.place, each.backend, left)


def taken(told: Clients, forwards: Mapping[Place, Forward], here: Mapping[Element, float]) -> Taken:
    """What of this is remembered from now on: of what cannot be, nothing is, and nobody else suffers.

    `here`: for how many seconds more each lasts that is remembered here, without its value.
    """
    found: dict[Element, tuple[Place, Recalled]] = {}
    for place, element, seconds in islice(_fitting(told, forwards), MOST):
        which = element._replace(value=b"")
        if which in here and seconds <= here[which] + SLACK:
            continue
        if which not in found or seconds > found[which][1].seconds:
            found[which] = place, Recalled(element, seconds, there=which in here)
    return Taken(tuple(each for _, each in found.values()), frozenset(place for place, _ in found.values()))


def slot(client: bytes, seed: int) -> int:
    """The slot that every gateway gives to a client that nobody remembers (`core.ruleset`, chain `sticky`)."""
    return jhash.scaled(client, seed, ruleset.SLOTS)


class Slots:
    """Which backend has which slot of a forward, in the kernel's words."""

    def __init__(self, forward: Forward) -> None:
        values = [each.value for each in elements.slots(forward, forward.backends)]
        packed = dict(zip(forward.backends, values, strict=True))
        self.place = forward.place
        self.backends: dict[bytes | str, Backend] = {value: backend for backend, value in packed.items()}
        self.owners = [packed[each] for each in elements.sticky_slots(forward.backends)]


def _grouped(clients: Iterable[tuple[int, Place, Backend, bytes]]) -> Iterator[Remembered]:
    groups: dict[tuple[Place, Backend], list[tuple[str, int]]] = {}
    for left, place, backend, client in clients:
        groups.setdefault((place, backend), []).append((str(ipaddress.ip_address(client)), -left))
    for place, backend in sorted(groups):
        yield Remembered(*place, backend, tuple(groups[place, backend]))


def _fitting(told: Clients, forwards: Mapping[Place, Forward]) -> Iterator[tuple[Place, Element, int]]:
    """Of clients that there can be, to backends that there are, of Services whose clients come back."""
    for each in told.remembered:
        forward = forwards.get(each.place)
        if forward is None or not forward.affinity or each.backend not in forward.backends:
            continue
        (to,) = elements.slots(forward, (each.backend,))
        key, six = elements.service_key(forward), ":" in forward.address
        for client, left in each.clients:
            seconds = min(left, forward.affinity)
            if seconds > 0 and (":" in client) == six and plain_address.is_of_a_host(client):
                packed = plain_address.parsed(client).packed
                yield each.place, Element(to.family, MAP, packed + key, to.value), seconds
