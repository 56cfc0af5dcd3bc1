"""Which ports carry which (protocol, port) for whom: a plain table, fast at ten thousand Services.

For each key one whole number has bit i set while port i is busy with it, so the first port that is free for all of a
Service's keys is the lowest zero bit of a few numbers or-ed together. Knows nothing of Kubernetes or Neutron.
"""

import heapq
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from mooring.model.gateway import Key

Port = TypeVar("Port", bound=Hashable)
Owner = TypeVar("Owner", bound=Hashable)


class Allocations(Generic[Port, Owner]):
    """Mutable, owned by one task. An owner has at most one port.

    Two owners of one key can be recorded, as the world may have made them so: the one that claimed first fits.
    """

    def __init__(self) -> None:
        self._slots: dict[Port, int] = {}
        self._ports: dict[int, Port] = {}
        self._spare: list[int] = []
        self._open = 0
        self._claimed: dict[Port, int] = {}
        self._busy: dict[Key, int] = {}
        self._owners: dict[tuple[Port, Key], list[Owner]] = {}
        self._claims: dict[Owner, tuple[Port, tuple[Key, ...]]] = {}

    def offer(self, port: Port) -> None:
        """Let a port be given to somebody new."""
        self._open |= 1 << self._slot(port)

    def withdraw(self, port: Port) -> None:
        """Give a port to nobody new; who has it keeps it."""
        if port in self._slots:
            self._open &= ~(1 << self._slots[port])
            self._forget(port)

    def port_of(self, owner: Owner) -> Port | None:
        claim = self._claims.get(owner)
        return claim[0] if claim else None

    def fits(self, port: Port, keys: Iterable[Key], owner: Owner) -> bool:
        """Whether this owner would be the first, or the only one, to have each of the keys on a port."""
        return self.rival(port, keys, owner) is None

    def rival(self, port: Port, keys: Iterable[Key], owner: Owner) -> Owner | None:
        """Somebody who had one of the keys on a port before this owner."""
        first = (self._owners.get((port, key), [owner])[0] for key in keys)
        return next((each for each in first if each != owner), None)

    def first_fit(self, keys: Iterable[Key]) -> Port | None:
        """The first port on offer on which all keys are free."""
        free = self._open
        for key in keys:
            free &= ~self._busy.get(key, 0)
        return self._ports[(free & -free).bit_length() - 1] if free else None

    def claim(self, owner: Owner, port: Port, keys: Iterable[Key]) -> None:
        """From now on these keys of this port are the owner's, and no others that it had."""
        kept = tuple(sorted(set(keys)))
        if self._claims.get(owner) == (port, kept):
            return
        self.release(owner)
        self._claims[owner] = (port, kept)
        self._claimed[port] = self._claimed.get(port, 0) + 1
        bit = 1 << self._slot(port)
        for key in kept:
            self._owners.setdefault((port, key), []).append(owner)
            self._busy[key] = self._busy.get(key, 0) | bit

    def release(self, owner: Owner) -> None:
        claim = self._claims.pop(owner, None)
        if claim is None:
            return
        port, keys = claim
        for key in keys:
            owners = self._owners[port, key]
            owners.remove(owner)
            if not owners:
                del self._owners[port, key]
                self._busy[key] &= ~(1 << self._slots[port])

        self._claimed[port] -= 1
        self._forget(port)

    def used(self) -> frozenset[Port]:
        """The ports that somebody has."""
        return frozenset(self._claimed)

    def _slot(self, port: Port) -> int:
        """A port's bit: the lowest that no other port has."""
        slot = self._slots.get(port)
        if slot is None:
            slot = heapq.heappop(self._spare) if self._spare else len(self._slots)
            self._slots[port] = slot
            self._ports[slot] = port
        return slot

    def _forget(self, port: Port) -> None:
        """Give back the bit of a port that is neither had nor on offer."""
        if not self._claimed.get(port):
            self._claimed.pop(port, None)
            if not self._open >> self._slots[port] & 1:
                slot = self._slots.pop(port)
                del self._ports[slot]
                heapq.heappush(self._spare, slot)
