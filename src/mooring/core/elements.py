"""What Services are in the kernel: elements of the maps and sets that `core.ruleset` has, as the kernel spells them.

Most elements belong to one forward. Some are shared: an address that several forwards have, a backend that stands
behind several of them. Those come with the first and go with the last that needs them.

Looks only at what changes: what a change costs does not depend on how much else there is.
"""

import hashlib
import ipaddress
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache

from mooring.core import ruleset
from mooring.core.gateway_change import Wanted
from mooring.model.gateway import Backend, Forward, Place
from mooring.model.rules import Element, Transaction

PROTOCOLS = {"TCP": 6, "UDP": 17, "SCTP": 132}
"""By the number that stands in packets. A closed list: nothing else reaches the kernel."""


class InForce:
    """The forwards that the kernel has elements of."""

    def __init__(self, mode: ruleset.Mode) -> None:
        self.forwards: dict[Place, Forward] = {}
        self._mode = mode
        self._shared: dict[Element, int] = {}

    def transaction(self, wanted: Wanted) -> Transaction:
        """What has to be done for these to be as wanted. Changes nothing here."""
        pairs = [(self.forwards.get(place), new) for place, new in wanted.items() if self.forwards.get(place) != new]
        removed: list[Element] = []
        added: list[Element] = []
        for old, new in pairs:
            had, has = set(self._own(old)), set(self._own(new))
            removed += sorted(had - has)
            added += sorted(has - had)
        for element, more in self._balance(pairs).items():
            before = self._shared.get(element, 0)
            if before and not before + more:
                removed.append(element)
            elif more and not before:
                added.append(element)
        times = frozenset(each.affinity for _, each in pairs if each is not None and each.affinity)
        return Transaction(tuple(removed), tuple(added), times)

    def follow(self, wanted: Wanted) -> None:
        """They are as wanted now."""
        pairs = [(self.forwards.get(place), new) for place, new in wanted.items()]
        for element, more in self._balance(pairs).items():
            count = self._shared.get(element, 0) + more
            if count:
                self._shared[element] = count
            else:
                self._shared.pop(element, None)
        for place, new in wanted.items():
            if new is None:
                self.forwards.pop(place, None)
            else:
                self.forwards[place] = new

    def elements(self) -> Iterator[Element]:
        """All of them, in the same order for the same forwards."""
        for place in sorted(self.forwards):
            yield from self._own(self.forwards[place])
        yield from sorted(self._shared)

    def _own(self, forward: Forward | None) -> Iterator[Element]:
        return iter(()) if forward is None else own(forward, self._mode)

    def _balance(self, pairs: Iterable[tuple[Forward | None, Forward | None]]) -> dict[Element, int]:
        """How many more there are that need a shared element."""
        found: dict[Element, int] = {}
        for old, new in pairs:
            for forward, one in ((old, -1), (new, 1)):
                if forward is not None:
                    for element in shared(forward, self._mode):
                        found[element] = found.get(element, 0) + one
        return {element: more for element, more in found.items() if more}


def own(forward: Forward, mode: ruleset.Mode) -> Iterator[Element]:
    """The elements that are there for one forward alone. Without backends there are none: it is refused then."""
    if not forward.backends:
        return
    family, key = _packed(forward.address)[0], service_key(forward)
    if forward.affinity:
        yield Element(family, "services", key, "sticky")
        yield Element(family, "learning", key, ruleset.memory(forward.affinity))
        yield from slots(forward, sticky_slots(forward.backends))
    else:
        yield Element(family, "services", key, ruleset.chain(len(forward.backends)))
        yield from slots(forward, forward.backends)
    for each in ruleset.counters(mode):
        yield Element(family, each, key)
    if forward.sources:
        yield Element(family, "limited", key)
        for first, last in _ranges(forward.sources):
            yield Element(family, "allowed", key + first, b"", key + last)


def service_key(forward: Forward) -> bytes:
    """Address . protocol . port."""
    return _packed(forward.address)[1] + _protocol(forward.protocol) + _port(forward.port)


def slots(forward: Forward, backends: Iterable[Backend]) -> Iterator[Element]:
    """Backends, by the number of their slot."""
    family, key = _packed(forward.address)[0], service_key(forward)
    for number, backend in enumerate(backends):
        other, packed = _packed(backend.address)
        if other != family:
            raise ValueError(f"{forward.service}: {backend.address} is not of the same family as {forward.address}")
        yield Element(family, "be", key + struct.pack("=I", number), packed + _port(backend.port))


def wide(element: Element) -> int:
    """Bytes of an address in the key of an element."""
    return 4 if element.family == "ip" else 16


def shared(forward: Forward, mode: ruleset.Mode) -> Iterator[Element]:
    """The elements that others may need too."""
    family, address = _packed(forward.address)
    yield Element(family, "vips", address)
    protocol = _protocol(forward.protocol)
    for backend in forward.backends:
        packed = _packed(backend.address)[1]
        yield Element(family, "backends", packed + protocol + _port(backend.port))
        if mode.source == "never":
            yield Element(family, "hosts", packed)


def sticky_slots(backends: tuple[Backend, ...]) -> tuple[Backend, ...]:
    """Which backend has which slot, each decided by itself: one that goes gives up its slots, and no other changes."""
    marks = [(_marks(each), each) for each in backends]
    return tuple(max((mark[slot], each) for mark, each in marks)[1] for slot in range(ruleset.SLOTS))


@lru_cache(maxsize=4096)
def _marks(backend: Backend) -> tuple[int, ...]:
    """How much a backend wants each slot."""
    text = f"{backend.address} {backend.port}".encode()
    return struct.unpack(f">{ruleset.SLOTS}I", hashlib.shake_128(text).digest(4 * ruleset.SLOTS))


def _ranges(sources: Iterable[str]) -> Iterator[tuple[bytes, bytes]]:
    """First and last address of each; none lies within another, which the kernel would refuse."""
    kept = tuple(sources)
    for four in ipaddress.collapse_addresses(ipaddress.IPv4Network(each) for each in kept if ":" not in each):
        yield four.network_address.packed, four.broadcast_address.packed
    for six in ipaddress.collapse_addresses(ipaddress.IPv6Network(each) for each in kept if ":" in each):
        yield six.network_address.packed, six.broadcast_address.packed


def _packed(address: str) -> tuple[str, bytes]:
    """Of an address that was checked."""
    if ":" in address:
        return "ip6", ipaddress.IPv6Address(address).packed
    return "ip", bytes(map(int, address.split(".", 3)))


def _protocol(name: str) -> bytes:
    return struct.pack(">B3x", PROTOCOLS[name])


def _port(number: int) -> bytes:
    """Each part of a key takes a multiple of four bytes."""
    return struct.pack(">H2x", number)
