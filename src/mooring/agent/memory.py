"""What this gateway remembers of clients and others have to know, and what others remember.

Who holds an address looks at its clients when a backend came: at once, and again and again for as long as some of them
are where others would not send them. Once there are none, there will be none until a backend comes again. Everything
that it finds is told anew each time: so nobody has to know what others were told before.

`look` and `here` are for any thread, `take` is for the one that changes the host.
"""

import threading
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.agent.host import Filter
from mooring.agent.rules import SELDOM, Rules
from mooring.agent.standing import Standing
from mooring.core import affinity
from mooring.core.affinity import Strayed
from mooring.host.errors import HostError
from mooring.model.gateway import Clients, Forward, Place, Remembered
from mooring.model.rules import Element

SETTLED = 1.0
"""Seconds after which a packet that was on its way when a backend came has been remembered."""
SOONEST, LATEST, PART = 1.0, 30.0, 20
"""Seconds between two looks: a part of the time that clients are remembered for."""


class Look(Struct, frozen=True):
    """What was found, when. `number` is another one each time; 0: nothing."""

    number: int = 0
    at: float = 0.0
    found: Strayed = Strayed()


class Memory:
    def __init__(
        self,
        reader: Filter,
        rules: Rules,
        standing: Standing,
        *,
        log: FilteringBoundLogger,
        clock: Callable[[], float],
    ) -> None:
        self.last = Look()
        self._reader = reader
        self._rules = rules
        self._standing = standing
        self._log = log
        self._clock = clock
        self._reading = threading.Lock()
        self._number = 0
        self._settled: dict[Place, float] = {}
        self._looked_at = self._next = clock() - LATEST

    def due(self) -> bool:
        """Whether it is time for a look. Costs nothing where no client comes back."""
        watched = self._watched()
        return bool(watched) and (max(watched.values()) > self._looked_at or self._clock() >= self._next)

    def look(self) -> None:
        """See which clients others have to know of."""
        with self._reading:
            watched, begin = self._watched(), self._clock()
            forwards = [each for place in watched if (each := self._rules.forwards.get(place)) is not None]
            self._looked_at, self._next = begin, begin + SETTLED
            try:
                found = self._strayed(forwards)
            except HostError as error:  # such as while another table takes the place of this one
                self._log.info("clients cannot be looked at, and will be again", error=str(error))
                return
            quiet = {place: at for place, at in watched.items() if place not in found.places and begin >= at + SETTLED}
            kept = {place: at for place, at in self._settled.items() if place in self._rules.joined}
            self._settled = kept | quiet
            if found.remembered:
                self._next = begin + max(_pause(forwards, found.places), SELDOM * (self._clock() - begin))
            self._told(found, begin)

    def clients(self) -> Clients:
        """What others have to know now."""
        last = self.last
        held = (each for each in last.found.remembered if self._standing.holds(each.address))
        return Clients(tuple(affinity.later(held, self._clock() - last.at)))

    def here(self, told: Clients) -> dict[Element, float]:
        """For how many seconds more each client is remembered here, of the families of those that were told."""
        with self._reading:
            return {element._replace(value=b""): left for element, left in self._remembered(told.remembered)}

    def take(self, told: Clients, here: dict[Element, float]) -> int:
        """Remember what others do, as far as it is about what is served here; returns how many clients that are."""
        count = self._rules.remember(told, here)
        if count:
            self._log.info("clients of other gateways are remembered", clients=count)
        return count

    def _watched(self) -> dict[Place, float]:
        """Where a backend came, and clients may be where others would not send them: when that was."""
        settled = self._settled
        return {
            place: at
            for place, at in tuple(self._rules.joined.items())
            if settled.get(place) != at and self._standing.holds(place[0])
        }

    def _strayed(self, forwards: list[Forward]) -> Strayed:
        return affinity.strayed(self._remembered(forwards), forwards, self._rules.seed)

    def _remembered(self, places: Iterable[Forward | Remembered]) -> Iterator[tuple[Element, float]]:
        """All that is remembered, of the families of these places."""
        for family in sorted({"ip6" if ":" in each.address else "ip" for each in places}):
            yield from self._rules.remembered(family, self._reader)

    def _told(self, found: Strayed, at: float) -> None:
        self._number = max(self._number + 1, int(1000 * at))
        if found.cut and not self.last.found.cut:
            advice = "let endpoints come one after the other, or set a shorter timeoutSeconds"
            self._log.warning("others are not told of all clients", told=found.count, cut=found.cut, advice=advice)
        if found.count != self.last.found.count:
            self._log.info("clients that others have to know of", clients=found.count)
        self.last = Look(self._number if found.remembered else 0, at, found)


def _pause(forwards: list[Forward], places: frozenset[Place]) -> float:
    shortest = min(each.affinity for each in forwards if each.place in places)
    return min(max(SOONEST, shortest / PART), LATEST)
