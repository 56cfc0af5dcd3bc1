"""What a gateway was told, and what of it it serves: the rest is left out, and told.

A document and a delta become the same thing here, a `Change`: what each place is to become. It costs as much as there
is to change, not as much as there is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from mooring.core import gateway_checks, gateway_document
from mooring.core.gateway_checks import Reason
from mooring.model.gateway import Delta, Document, Forward, Held, LeftOut, Place, Refusal

Value = TypeVar("Value")

NOTHING = Document(0, 0, "", ())
"""What a gateway holds that was never told anything."""


def fit(_: str) -> str:
    """Of a host that can hold every address."""
    return ""


class Refused(Exception):
    """What came is nonsense as a whole; nothing was touched."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Change(Struct, frozen=True):
    """What each place is to become: as it was told, and as it is served. `told`: the digest of all that was told."""

    age: tuple[int, int]
    seed: int
    told: str
    named: Mapping[Place, Forward | None]
    served: Mapping[Place, Forward | None]
    left_out: Mapping[Place, tuple[LeftOut, ...]]


class Told:
    """Grows and shrinks by changes. Every address is counted, so that it is known which there are."""

    def __init__(self) -> None:
        self.age = (0, 0)
        self.seed = 0
        self.digest = ""
        self.forwards: dict[Place, Forward] = {}
        self.addresses: dict[str, int] = {}
        self.backends = 0
        self.left_out: dict[Place, tuple[LeftOut, ...]] = {}
        self._named: dict[Place, Forward] = {}  # where it is not what is served
        self.held = Held()

    @property
    def document(self) -> Document:
        """All that was told."""
        named = {place: each for place, each in self.forwards.items() if place not in self._named} | self._named
        return Document(*self.age, self.digest, tuple(sorted(named.values())), self.seed)

    def change(self, new: Document | Delta, unfit: Callable[[str], str] = fit) -> Change:
        """What a document or a delta changes; Refused says why it cannot be meant.

        `unfit` says why the host cannot hold an address, or nothing.
        """
        refusal = gateway_checks.refusal(new)
        if refusal is not None:
            raise Refused(refusal)
        named = dict(self._differing(new) if isinstance(new, Document) else _differing(new))
        seed = new.seed if isinstance(new, Document) else self.seed
        digest = gateway_document.digest(new.forwards, seed) if isinstance(new, Document) else self._after(named)
        if digest != new.digest:
            told = f"the digest {new.digest!r} is not that of the forwards and the seed that came with it"
            raise Refused(Refusal(Reason.OTHER_DIGEST.value, told))
        served: dict[Place, Forward | None] = {}
        left_out: dict[Place, tuple[LeftOut, ...]] = {}
        for place, forward in named.items():
            served[place], left_out[place] = self._servable(forward, unfit) if forward is not None else (None, ())
        return Change((new.epoch, new.generation), seed, digest, named, served, left_out)

    def follow(self, change: Change) -> None:
        """What was to change has changed."""
        for place, forward in change.served.items():
            self._count(self.forwards.get(place), -1)
            self._count(forward, 1)
            _put(self.forwards, place, forward)
            named = change.named[place]
            _put(self._named, place, named if named != forward else None)
            _put(self.left_out, place, change.left_out[place] or None)
        self.age, self.seed, self.digest = change.age, change.seed, change.told
        self.held = Held(*self.age, self._served_digest())

    def addresses_after(self, change: Change, now: frozenset[str] | None) -> frozenset[str]:
        """All addresses that are served then. `now`: all that are served now, if that is known: mostly they are it."""
        counts: dict[str, int] = {}
        for place, forward in change.served.items():
            old = self.forwards.get(place)
            for each, one in ((old, -1), (forward, 1)):
                if each is not None:
                    counts[each.address] = counts.get(each.address, 0) + one
        if all((self.addresses.get(each, 0) + more > 0) == (each in self.addresses) for each, more in counts.items()):
            return frozenset(self.addresses) if now is None else now
        after = {each: self.addresses.get(each, 0) + counts.get(each, 0) for each in (*self.addresses, *counts)}
        return frozenset(each for each, count in after.items() if count > 0)

    def _servable(self, forward: Forward, unfit: Callable[[str], str]) -> tuple[Forward | None, tuple[LeftOut, ...]]:
        served, left_out = gateway_checks.servable(forward)
        why = unfit(served.address) if served is not None and served.address not in self.addresses else ""
        return (None, (gateway_checks.unfit(forward, why),)) if why else (served, left_out)

    def _differing(self, document: Document) -> Iterable[tuple[Place, Forward | None]]:
        new = gateway_document.by_place(document.forwards)
        for place, forward in new.items():
            if self._told(place) != forward:
                yield place, forward
        for place in (*self.forwards, *self._named):
            if place not in new:
                yield place, None

    def _after(self, named: Mapping[Place, Forward | None]) -> str:
        gone = [each for each in map(self._told, named) if each is not None]
        come = [each for each in named.values() if each is not None]
        return gateway_document.digest_after(self.digest or "0", gone, come)

    def _served_digest(self) -> str:
        if not self._named:
            return self.digest
        served = [self.forwards[place] for place in self._named if place in self.forwards]
        return gateway_document.digest_after(self.digest, self._named.values(), served)

    def _told(self, place: Place) -> Forward | None:
        return self._named.get(place) or self.forwards.get(place)

    def _count(self, forward: Forward | None, one: int) -> None:
        if forward is None:
            return
        self.backends += one * len(forward.backends)
        count = self.addresses.get(forward.address, 0) + one
        if count:
            self.addresses[forward.address] = count
        else:
            del self.addresses[forward.address]


def _differing(delta: Delta) -> Iterable[tuple[Place, Forward | None]]:
    for place in delta.removed:
        yield place, None
    for forward in delta.put:
        yield forward.place, forward


def _put(found: dict[Place, Value], place: Place, value: Value | None) -> None:
    if value is None:
        found.pop(place, None)
    else:
        found[place] = value
