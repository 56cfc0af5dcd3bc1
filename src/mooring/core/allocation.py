"""Which ports carry which (protocol, port) for whom: a plain table, fast at ten thousand Services.

For each key one whole number has bit i set while port i is busy with it, so the first port that is free for all of a
Service's keys is the lowest zero bit of a few numbers or-ed together. Owners of different groups do not share a port;
which group an owner is of, is told by `group`. Knows nothing of Kubernetes or Neutron.
"""

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from mooring.model.gateway import Key

Port = TypeVar("Port", bound=Hashable)
Owner = TypeVar("Owner", bound=Hashable)


class Allocations(Generic[Port, Owner]):
    """Mutable, owned by one task. An owner has at most one port.

    Two owners of one key, or of two groups, can be recorded on a port, as the world may have made them so: the one
    that claimed first fits.
    """

    def __init__(self, group: Callable[[Owner], Hashable] = lambda _: None) -> None:
        self._group = group
        self._slots: dict[Port, int] = {}
        self._ports: dict[int, Port] = {}
        self._spare: list[int] = []
        self._open = 0
        self._claimed: dict[Port, int] = {}
        self._busy: dict[Key, int] = {}
        self._owners: dict[tuple[Port, Key], list[Owner]] = {}
        self._claims: dict[Owner, tuple[Port, tuple[Key, ...]]] = {}
        self._members: dict[
            Port, dict[Hashable, dict[Owner, None]]
        ] = {}  # who is on a port, by group, first come first
        self._had = 0  # the ports that somebody has
        self._mixed = 0  # the ports that several groups have
        self._of_group: dict[Hashable, int] = {}

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
        """Somebody who had one of the keys on a port before this owner, or who has the port for another group.

        Whose group came first has the port: what others claim on it does not count.
        """
        mine = self._group(owner)
        group, members = next(iter(self._members.get(port, {}).items()), (mine, {owner: None}))
        if group != mine:
            return next(iter(members))
        first = (next((each for each in self._owners.get((port, key), ()) if each in members), owner) for key in keys)
        return next((each for each in first if each != owner), None)

    def first_fit(self, keys: Iterable[Key], owner: Owner) -> Port | None:
        """The first port on offer on which all keys are free, and which no other group has."""
        ours = self._of_group.get(self._group(owner), 0) & ~self._mixed
        free = self._open & (ours | ~self._had)
        for key in keys:
            free &= ~self._busy.get(key, 0)
        return self._ports[(free & -free).bit_length() - 1] if free else None

    def claim(self, owner: Owner, port: Port, keys: Iterable[Key]) -> None:
        """From now on these keys of this port are the owner's, and no others that it had. What it keeps, it keeps."""
        wanted = tuple(sorted(set(keys)))
        before, had = self._claims.get(owner, (port, ()))
        if before != port:
            self.release(owner)
            had = ()
        if owner not in self._claims:
            self._join(owner, port)
        self._claims[owner] = (port, wanted)
        self._drop(owner, port, set(had).difference(wanted))
        bit = 1 << self._slots[port]
        for key in wanted:
            if key not in had:
                self._owners.setdefault((port, key), []).append(owner)
                self._busy[key] = self._busy.get(key, 0) | bit

    def release(self, owner: Owner) -> None:
        claim = self._claims.pop(owner, None)
        if claim is None:
            return
        port, keys = claim
        self._drop(owner, port, keys)
        self._part(owner, port)
        self._forget(port)

    def used(self) -> frozenset[Port]:
        """The ports that somebody has."""
        return frozenset(self._claimed)

    def _drop(self, owner: Owner, port: Port, keys: Iterable[Key]) -> None:
        for key in keys:
            owners = self._owners[port, key]
            owners.remove(owner)
            if not owners:
                del self._owners[port, key]
                self._busy[key] &= ~(1 << self._slots[port])

    def _join(self, owner: Owner, port: Port) -> None:
        """Somebody comes to a port."""
        self._claimed[port] = self._claimed.get(port, 0) + 1
        self._slot(port)
        group = self._group(owner)
        self._members.setdefault(port, {}).setdefault(group, {})[owner] = None
        self._regroup(port, group)

    def _part(self, owner: Owner, port: Port) -> None:
        """Somebody leaves a port."""
        self._claimed[port] -= 1
        group, members = self._group(owner), self._members[port]
        del members[group][owner]
        if not members[group]:
            del members[group]
        self._regroup(port, group)
        if not members:
            del self._members[port]

    def _regroup(self, port: Port, group: Hashable) -> None:
        """Bring the bits of a port up to date after somebody of a group came or went."""
        bit, members = 1 << self._slots[port], self._members[port]
        self._had = _with(self._had, bit, on=bool(members))
        self._mixed = _with(self._mixed, bit, on=len(members) > 1)
        self._of_group[group] = _with(self._of_group.get(group, 0), bit, on=group in members)
        if not self._of_group[group]:
            del self._of_group[group]

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


def _with(bits: int, bit: int, *, on: bool) -> int:
    return bits | bit if on else bits & ~bit
