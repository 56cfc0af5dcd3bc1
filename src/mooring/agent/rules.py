"""The rules in the kernel: loaded in the dark and switched on in one step, changed by elements, watched.

`known`: whether the kernel has what we think. If it does not, everything is loaded anew.

A load makes a table beside the one that is in force, fills it, lets it keep which clients have which backend and what
was counted, and then it takes the other's place. What the kernel refuses, it refuses in the dark: nothing has changed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from structlog.typing import FilteringBoundLogger

from mooring.agent.host import Filter
from mooring.core import affinity, elements, gateway_document, ruleset
from mooring.core.elements import InForce
from mooring.core.gateway_change import Wanted
from mooring.core.ruleset import FAMILIES, TABLES, Mode, Skeleton
from mooring.host.nftables import NftError, NftGone
from mooring.model.gateway import Backend, Clients, Forward, Place
from mooring.model.rules import Element, Transaction

LOOK_EVERY = 10.0
"""Seconds between two looks at everything, while others change rules of theirs all the time."""
SELDOM = 20
"""And so many times as long as a look takes."""
MAPS = ("be", "services", "backends", "hosts", "vips", "limited", "allowed", "learning", "counted")
"""What must be as we left it. The first has more elements than all others together."""
SLOT = 4
"""Bytes of a slot at the end of a key."""


class Rules:
    def __init__(self, filter_: Filter, mode: Mode, *, log: FilteringBoundLogger, clock: Callable[[], float]) -> None:
        self.known = False
        self.repaired = 0
        self.joined: dict[Place, float] = {}
        """When a backend came to a Service whose clients come back: others may send some of them elsewhere."""
        self._filter = filter_
        self._mode = mode
        self._log = log
        self._clock = clock
        self._in_force = InForce(mode)
        self._skeleton = Skeleton(mode=mode)
        self._table = ""
        self._times: frozenset[int] = frozenset()
        self._generation = 0
        self._fingerprint = ""
        self._look: Iterator[str] | None = None
        self._look_at = clock() + LOOK_EVERY
        self._spent = 0.0
        self._others = 0

    @property
    def forwards(self) -> dict[Place, Forward]:
        return self._in_force.forwards

    @property
    def seed(self) -> int:
        return self._skeleton.seed

    def addresses(self) -> frozenset[str]:
        return frozenset(each.address for each in self.forwards.values())

    def fits(self, seed: int) -> bool:
        """Whether a change is enough to get wherever it goes."""
        return self.known and seed == self._skeleton.seed

    def load(self, forwards: Iterable[Forward], seed: int) -> None:
        """Everything, in place of everything that was there."""
        in_force = InForce(self._mode)
        in_force.follow(gateway_document.by_place(forwards))
        kept = in_force.forwards.values()
        skeleton = Skeleton(seed, ruleset.chains(_most(kept)), self._mode)
        times = frozenset(each.affinity for each in kept if each.affinity)
        there = self._filter.tables()
        old = next((each for each in TABLES if there.get((FAMILIES[0].name, each))), "")
        new = TABLES[0] if old != TABLES[0] else TABLES[1]
        self._filter.run(ruleset.table(new, skeleton))
        self._filter.change(new, Transaction(), _memories(times))
        copied = self._carried_over(old, new, in_force) if old else frozenset()
        self._filter.fill(new, (each for each in in_force.elements() if each not in copied))
        self._filter.switch(new, TABLES[TABLES[0] == new])
        self._in_force, self._skeleton, self._table, self._times = in_force, skeleton, new, times
        self.known = True
        self.joined = dict.fromkeys((each.place for each in kept if each.affinity), self._clock())
        self._seen()

    def change(self, wanted: Wanted, seed: int) -> str:
        """Let some places be as wanted, and all others as they are. Returns what was done, for people."""
        if not self.fits(seed) or self._most(wanted) > self._skeleton.chains:
            after = {place: each for place, each in {**self.forwards, **wanted}.items() if each is not None}
            self.load(after.values(), seed)
            return "all rules"
        change = self._in_force.transaction(wanted)
        if change:
            self._change(change)
        gone, joined = _left(self.forwards, wanted), affinity.joined(self.forwards, wanted)
        self._in_force.follow(wanted)
        self._follow_joined(wanted, joined)
        if gone:
            self._forget(gone)
        return "rules" if change else ""

    def remembered(self, family: str, reader: Filter) -> Iterator[tuple[Element, float]]:
        """Which clients come back to which backend, and for how many seconds longer. For any thread."""
        yield from reader.remembered(family, self._table, affinity.MAP)

    def remember(self, told: Clients, here: Mapping[Element, float]) -> int:
        """Let clients come back to where others have seen them; returns how many. `here`: what is remembered here."""
        taken = affinity.taken(told, self.forwards, here)
        if taken.recalled:
            self._generation += self._filter.remember(self._table, taken.recalled)
            self._follow_joined({}, taken.places)
        return len(taken.recalled)

    def look(self) -> None:
        """See whether somebody else changed our rules. Costs nothing, if nobody changed any."""
        generation = self._filter.generation()
        if not self.known or generation == self._generation:
            return
        there = self._filter.tables()
        missing = [f"{family.name} {self._table}" for family in FAMILIES if not there.get((family.name, self._table))]
        if missing:
            self._damaged(f"the table {', '.join(missing)} is gone")
        elif self._look is not None or self._clock() >= self._look_at:
            self._look_on(generation)

    def _look_on(self, generation: int) -> None:
        """Compare one part after the other, each in a turn of its own: changes of ours need not wait for all.

        What others do to their own tables meanwhile does not matter: ours are changed here alone, between two parts.
        """
        begin = self._clock()
        if self._look is None:
            self._look, self._spent = self._differences(), 0.0
            self._others = generation - self._generation
        found = next(self._look, None)
        self._spent += self._clock() - begin
        if found == "":
            return
        if found is None:
            self._generation += self._others  # which were not about us
        else:
            self._damaged(found)
        self._look, self._look_at = None, self._clock() + max(LOOK_EVERY, SELDOM * self._spent)

    @property
    def counters(self) -> tuple[str, ...]:
        """The sets whose elements count."""
        return ruleset.counters(self._mode)

    @property
    def counts_endpoints(self) -> bool:
        return self._mode.counters == "endpoints"

    def counted(self, name: str, reader: Filter) -> Iterator[tuple[Forward, int, int]]:
        """What the elements of a set have counted: packets and bytes, of what is served now. For any thread."""
        served = {elements.service_key(each): each for each in tuple(self.forwards.values()) if each.backends}
        for family in FAMILIES:
            for element, packets, octets in reader.counted(family.name, self._table, name):
                if element.key in served:
                    yield served[element.key], packets, octets

    def counted_endpoints(self, reader: Filter) -> Iterator[tuple[Forward, Backend, int]]:
        """The connections that each backend was given since it has been there. For any thread."""
        served = tuple(each for each in tuple(self.forwards.values()) if each.backends)
        known = {
            (one.key[:-SLOT], one.value): (forward, backend)
            for forward in served
            for backend, one in zip(forward.backends, elements.slots(forward, forward.backends), strict=True)
        }
        found: dict[tuple[Forward, Backend], int] = {}
        for family in FAMILIES:
            for element, packets, _ in reader.counted(family.name, self._table, "be"):
                which = known.get((element.key[:-SLOT], element.value))
                if which is not None:
                    found[which] = found.get(which, 0) + packets
        for (forward, backend), packets in found.items():
            yield forward, backend, packets

    def _follow_joined(self, wanted: Wanted, places: Iterable[Place]) -> None:
        for place in places:
            self.joined[place] = self._clock()
        for place, new in wanted.items():
            if new is None or not new.affinity:
                self.joined.pop(place, None)

    def _most(self, wanted: Wanted) -> int:
        return _most(each for each in wanted.values() if each is not None)

    def _change(self, change: Transaction) -> None:
        """Elements that are refused show that the kernel does not hold what it should; then all are loaded next."""
        new = change.times - self._times
        first = _let_in(change)
        try:
            if first:
                self._filter.change(self._table, Transaction(added=tuple(sorted(first))), {})
                self._generation += 1
            rest = tuple(each for each in change.added if each not in first)
            self._filter.change(self._table, Transaction(change.removed, rest, change.times), _memories(new))
        except NftError:
            self.known = False
            raise
        self._times |= new
        self._generation += 1  # if somebody else changed something too, it is another one, and we look
        if new and self._filter.generation() == self._generation:
            self._fingerprint = self._filter.fingerprint(self._table)  # else it is another one too, and all is loaded

    def _seen(self) -> None:
        self._generation = self._filter.generation()
        self._fingerprint = self._filter.fingerprint(self._table)
        self._look, self._look_at = None, self._clock() + LOOK_EVERY

    def _carried_over(self, old: str, new: str, in_force: InForce) -> frozenset[Element]:
        """Let a new table have what clients and counters have come to in the old one, as far as that is still served.

        Returns what of its elements it has by that.
        """
        served = [each for each in in_force.forwards.values() if each.backends]
        wanted = frozenset(map(elements.service_key, served))
        sticky = [each for each in served if each.affinity]
        slots = [one for each in sticky for one in elements.slots(each, each.backends)]
        backends = frozenset((each.key[:-SLOT], each.value) for each in slots)
        copied: set[Element] = set()
        for family in FAMILIES:
            try:
                self._filter.copy(family.name, old, new, affinity.MAP, lambda each: _to(each) in backends)
                for name in ruleset.counters(self._mode):
                    copied.update(self._filter.copy(family.name, old, new, name, lambda each: each.key in wanted))
            except NftGone as error:  # a table of another version of ours
                self._log.warning("what was counted and remembered is lost", table=old, error=str(error))
        return frozenset(copied)

    def _forget(self, gone: frozenset[tuple[str, bytes, bytes | str]]) -> None:
        """Let no client come back to a backend that is gone."""
        try:
            for family in sorted({each[0] for each in gone}):
                self._generation += self._filter.forget(
                    family,
                    self._table,
                    affinity.MAP,
                    lambda each: (each.family, *_to(each)) in gone,
                )
        except NftError as error:
            self._log.warning("clients may come back to backends that are gone", error=str(error))

    def _differences(self) -> Iterator[str]:
        """What is not as we left it, part by part, for people; empty for a part that is."""
        yield "rules in it were changed" if self._filter.fingerprint(self._table) != self._fingerprint else ""
        counters = ruleset.counters(self._mode)[1:]
        for family, names in product(FAMILIES, (MAPS[:1], (*MAPS[1:], *counters))):
            sought = frozenset(names)
            wanted = {each for each in self._in_force.elements() if each.set in sought and each.family == family.name}
            there = {each for name in names for each in self._filter.elements(family.name, self._table, name)}
            missing, foreign = len(wanted - there), len(there - wanted)
            yield f"{missing} elements are missing and {foreign} are not ours" if missing or foreign else ""

    def _damaged(self, what: str) -> None:
        self.known = False
        self.repaired += 1
        self._log.warning("somebody else changed our rules; they are loaded again", table=self._table, what=what)


def _most(forwards: Iterable[Forward]) -> int:
    """How many backends one has at most, of those that choose by their number."""
    return max((len(each.backends) for each in forwards if not each.affinity), default=0)


def _let_in(change: Transaction) -> frozenset[Element]:
    """Who is let in where nobody was kept out. To be told first: the kernel has ranges a moment later than the rest."""
    limited = {each.family + each.key.hex() for each in change.added if each.set == "limited"}
    ranges = [each for each in change.added if each.set == "allowed"] if limited else []
    return frozenset(each for each in ranges if each.family + each.key[: -elements.wide(each)].hex() in limited)


def _to(remembered: Element) -> tuple[bytes, bytes | str]:
    """Which Service's backend a client comes back to."""
    return remembered.key[elements.wide(remembered) :], remembered.value


def _memories(times: Iterable[int]) -> dict[int, str]:
    return {each: ruleset.memory(each) for each in times}


def _left(before: dict[Place, Forward], wanted: Wanted) -> frozenset[tuple[str, bytes, bytes | str]]:
    """Which backends clients must not come back to: family, key of the Service, value."""
    found = set()
    for place, new in wanted.items():
        old = before.get(place)
        if old is not None and old.affinity:
            kept = frozenset(new.backends) if new is not None and new.affinity else frozenset()
            gone = tuple(each for each in old.backends if each not in kept)
            found |= {(each.family, each.key[:-SLOT], each.value) for each in elements.slots(old, gone)}
    return frozenset(found)
