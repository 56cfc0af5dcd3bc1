"""The documents of one leader, one after the other: so that a gateway that has one is told only what differs.

A gateway that was told a document of the same digest by another leader has it too.
"""

from collections import deque

from mooring.core import gateway_document
from mooring.model.gateway import Delta, Document, Forward, Held, Place, State

LONGEST = 256
"""Documents. Who is further behind is told everything."""


class History:
    def __init__(self) -> None:
        self._wanted: dict[Place, Forward] = {}
        self._newest = Held()
        self._seed = -1
        self._steps: deque[tuple[str, frozenset[Place]]] = deque(maxlen=LONGEST)
        """The digest of each document, and the places that differ from the one before."""

    def add(self, document: Document) -> None:
        """There is a newer document."""
        wanted = gateway_document.by_place(document.forwards)
        if document.seed != self._seed:
            self._steps.clear()
        before = self._wanted
        changed = {place for place, each in wanted.items() if before.get(place) != each}
        changed |= before.keys() - wanted.keys()
        self._wanted, self._newest, self._seed = wanted, document.held, document.seed
        self._steps.append((document.digest, frozenset(changed)))

    def delta(self, state: State) -> Delta | None:
        """What differs from what a gateway was told last; None, if that is not known any more."""
        places: set[Place] = set()
        for digest, changed in reversed(self._steps):
            if digest == state.told:
                base = Held(state.held.epoch, state.held.generation, state.told)
                return gateway_document.delta(base, self._newest, places, self._wanted)
            places |= changed
        return None
