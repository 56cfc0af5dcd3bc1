"""What one leader told, one edition after the other: so that a gateway that has one is told only what differs.

A gateway that was told something of the same digest by another leader has it too.
"""

from collections import deque

from mooring.core import gateway_document
from mooring.core.editions import Edition
from mooring.model.gateway import Delta, Forward, Held, Place, State

LONGEST = 256
"""Editions. Who is further behind is told everything."""


class History:
    def __init__(self) -> None:
        self._wanted: dict[Place, Forward] = {}
        self._newest = Held()
        self._seed = -1
        self._steps: deque[tuple[str, frozenset[Place]]] = deque(maxlen=LONGEST)
        """The digest of each, and the places that differ from the one before."""

    def add(self, edition: Edition) -> None:
        """There is a newer one."""
        if edition.seed != self._seed:
            self._steps.clear()
        if edition.before == self._newest.digest and edition.seed == self._seed:
            changed = self._follow(edition)
        else:
            changed = self._begin(edition)
        self._newest, self._seed = edition.held, edition.seed
        self._steps.append((edition.held.digest, changed))

    def _follow(self, edition: Edition) -> frozenset[Place]:
        for place, each in edition.changes.items():
            if each is None:
                self._wanted.pop(place, None)
            else:
                self._wanted[place] = each
        return frozenset(edition.changes)

    def _begin(self, edition: Edition) -> frozenset[Place]:
        """It was not made of the one that we have: all of it is looked at."""
        before, self._wanted = self._wanted, gateway_document.by_place(edition.forwards)
        changed = {place for place, each in self._wanted.items() if before.get(place) != each}
        return frozenset(changed | (before.keys() - self._wanted.keys()))

    def delta(self, state: State) -> Delta | None:
        """What differs from what a gateway was told last; None, if that is not known any more."""
        places: set[Place] = set()
        for digest, changed in reversed(self._steps):
            if digest == state.told:
                base = Held(state.held.epoch, state.held.generation, state.told)
                return gateway_document.delta(base, self._newest, places, self._wanted)
            places |= changed
        return None
