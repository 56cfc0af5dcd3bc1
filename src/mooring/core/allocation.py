"""Which ports carry which (protocol, port) for whom: a plain table, fast at ten thousand Services.

For each key one whole number has bit i set while port i is busy with it, so the first port that is free for all of a
Service's keys is the lowest zero bit of a few numbers or-ed together. Ports are on offer by kind, such as a family of
addresses; owners of different groups do not share a port. What is reserved is shared with those who have it, and is
never given to somebody because nobody has it. Knows nothing of Kubernetes or Neutron.
"""

import heapq
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from mooring.model.gateway import Key

Port = TypeVar("Port", bound=Hashable)
Owner = TypeVar("Owner", bound=Hashable)


class Wanted(Struct, frozen=True):
    """What an owner wants of each of its ports, and with whom it may share one."""

    keys: tuple[Key, ...]
    group: Hashable = None


class Allocations(Generic[Port, Owner]):
    """Mutable, owned by one task.

    Two owners of one key, or of two groups, can be recorded on a port, as the world may have made them so: the one
    that claimed first fits.
    """

    def __init__(self) -> None:
        self._slots: dict[Port, int] = {}
        self._ports: dict[int, Port] = {}
        self._spare: list[int] = []
        self._offered: dict[Port, Hashable] = {}
        self._open: dict[Hashable, int] = {}
        self._busy: dict[Key, int] = {}
        self._owners: dict[tuple[Port, Key], list[Owner]] = {}
        self._claims: dict[Owner, tuple[tuple[Port, ...], Wanted]] = {}
        self._members: dict[
            Port, dict[Hashable, dict[Owner, None]]
        ] = {}  # who is on a port, by group, first come first
        self._reserved = 0  # the ports that are not given to somebody because nobody has them
        self._had = 0  # the ports that somebody has
        self._mixed = 0  # the ports that several groups have
        self._of_group: dict[Hashable, int] = {}

    def offer(self, port: Port, kind: Hashable = None, *, reserved: bool = False) -> None:
        """Let a port be given to somebody new who wants one of this kind; a reserved one to who may share it."""
        if port not in self._offered or self._offered[port] != kind:
            self.withdraw(port)
            self._offered[port] = kind
            self._open[kind] = self._open.get(kind, 0) | 1 << self._slot(port)
        self._reserved = _with(self._reserved, 1 << self._slots[port], on=reserved)

    def withdraw(self, port: Port) -> None:
        """Give a port to nobody new; who has it keeps it."""
        if port in self._offered:
            bit = 1 << self._slots[port]
            self._open[self._offered.pop(port)] &= ~bit
            self._reserved &= ~bit
            self._forget(port)

    def ports_of(self, owner: Owner) -> tuple[Port, ...]:
        return self._claims[owner][0] if owner in self._claims else ()

    def fits(self, port: Port, wanted: Wanted, owner: Owner) -> bool:
        """Whether this owner would be the first, or the only one, to have each of the keys on a port."""
        return self.rival(port, wanted, owner) is None

    def rival(self, port: Port, wanted: Wanted, owner: Owner) -> Owner | None:
        """Somebody who had one of the keys on a port before this owner, or who has the port for another group.

        Whose group came first has the port: what others claim on it does not count.
        """
        group, members = next(iter(self._members.get(port, {}).items()), (wanted.group, {owner: None}))
        if group != wanted.group:
            return next(iter(members))
        owners = (self._owners.get((port, key), ()) for key in wanted.keys)
        first = (next((each for each in every if each in members), owner) for every in owners)
        return next((each for each in first if each != owner), None)

    def first_fit(self, wanted: Wanted, kind: Hashable = None) -> Port | None:
        """The first port of a kind on offer with all keys free: one that its group has, else one of nobody's."""
        free = self._open.get(kind, 0)
        for key in wanted.keys:
            free &= ~self._busy.get(key, 0)
        ours = free & self._of_group.get(wanted.group, 0) & ~self._mixed
        best = ours or free & ~self._had & ~self._reserved
        return self._ports[(best & -best).bit_length() - 1] if best else None

    def claim(self, owner: Owner, ports: Iterable[Port], wanted: Wanted) -> None:
        """From now on these keys of these ports are the owner's, and no others that it had. What it keeps, it keeps."""
        claimed = tuple(dict.fromkeys(ports))
        had, before = self._claims.get(owner, ((), wanted))
        if before.group != wanted.group:
            self.release(owner)
            had, before = (), wanted
        for port in set(had).difference(claimed):
            self._part(owner, port, before)
        if not claimed:
            self._claims.pop(owner, None)
            return
        for port in claimed:
            if port not in had:
                self._join(owner, port, wanted.group)
            self._drop(owner, port, set(before.keys).difference(wanted.keys) if port in had else ())
            self._take(owner, port, (key for key in wanted.keys if port not in had or key not in before.keys))
        self._claims[owner] = (claimed, wanted)

    def move(self, owner: Owner, ports: Iterable[Port]) -> None:
        """What an owner has, it has on these ports from now on."""
        if owner in self._claims:
            self.claim(owner, ports, self._claims[owner][1])

    def claimed(self, owner: Owner, ports: Iterable[Port], wanted: Wanted) -> bool:
        """Whether an owner has just this."""
        return self._claims.get(owner) == (tuple(dict.fromkeys(ports)), wanted)

    def contenders(self, owner: Owner) -> frozenset[Owner]:
        """Who may fit on a port only because this owner has it or has it not."""
        ports, wanted = self._claims.get(owner, ((), Wanted(())))
        mixed = (each for port in ports if len(self._members[port]) > 1 for each in self.owners(port))
        return frozenset((*mixed, *(each for port in ports for key in wanted.keys for each in self._owners[port, key])))

    def release(self, owner: Owner) -> None:
        ports, wanted = self._claims.pop(owner, ((), None))
        for port in ports:
            if wanted is not None:
                self._part(owner, port, wanted)

    def used(self) -> frozenset[Port]:
        """The ports that somebody has."""
        return frozenset(self._members)

    def owners(self, port: Port) -> frozenset[Owner]:
        """Everybody who has a port, of whatever group."""
        return frozenset(owner for members in self._members.get(port, {}).values() for owner in members)

    def _take(self, owner: Owner, port: Port, keys: Iterable[Key]) -> None:
        bit = 1 << self._slots[port]
        for key in keys:
            self._owners.setdefault((port, key), []).append(owner)
            self._busy[key] = self._busy.get(key, 0) | bit

    def _drop(self, owner: Owner, port: Port, keys: Iterable[Key]) -> None:
        for key in keys:
            owners = self._owners[port, key]
            owners.remove(owner)
            if not owners:
                del self._owners[port, key]
                self._busy[key] &= ~(1 << self._slots[port])

    def _join(self, owner: Owner, port: Port, group: Hashable) -> None:
        """Somebody comes to a port."""
        self._slot(port)
        self._members.setdefault(port, {}).setdefault(group, {})[owner] = None
        self._regroup(port, group)

    def _part(self, owner: Owner, port: Port, wanted: Wanted) -> None:
        """Somebody leaves a port, and all that it had on it."""
        self._drop(owner, port, wanted.keys)
        members = self._members[port]
        del members[wanted.group][owner]
        if not members[wanted.group]:
            del members[wanted.group]
        self._regroup(port, wanted.group)
        if not members:
            del self._members[port]
        self._forget(port)

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
        if port not in self._members and port not in self._offered:
            slot = self._slots.pop(port)
            del self._ports[slot]
            heapq.heappush(self._spare, slot)


def _with(bits: int, bit: int, *, on: bool) -> int:
    return bits | bit if on else bits & ~bit
