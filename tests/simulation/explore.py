"""Running a scenario again and again, each time with other faults: all that there are, or some by chance.

A run that fails is made small: faults are taken away for as long as it still fails in the same way. What is left is
told as a trace and as one command that runs it again.
"""

import gc
import itertools
import multiprocessing
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec
from msgspec import Struct

from tests.kept import Kept
from tests.simulation import ends
from tests.simulation.ends import End
from tests.simulation.faults import CRASHES, HEARD_WRONGLY, PAUSES, Fault
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import Step, Violation, World

RATES = (0.01, 0.03, 0.1)
MOST_FAULTS = 8
FOCUS = (
    *("delete", "delete ports", "delete floatingips", "tag", "create", "get services", "patch services"),
    *("put document", "get state", "leases", "watch", "event services"),
)
"""Kinds of requests that some runs are after; many of them are rare, and would hardly ever be met by chance."""
FOCUSED = 0.7
"""How many of the runs have a focus."""
FOCUS_RATE = 0.6
ELSEWHERE_RATE = 0.005
WAKE_RATE = 0.1
"""How often one that is stopped goes on at a point at which it can."""
TOLD_STEPS = 60
ANY = "any"
NOTHING_KEPT = Kept()


Look = Callable[[str, int], "Report"]
Progress = Callable[[int, "Report"], None]
Again = Callable[[Scenario, int, Mapping[int, Fault]], "Run"]


class Scripted:
    """Faults at given points; a fault that cannot happen at its point does not."""

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        self._faults = faults
        self.possible: dict[int, tuple[Fault, ...]] = {}

    def at(self, number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:  # noqa: ARG002 - a Plan
        self.possible[number] = possible
        fault = self._faults.get(number)
        return fault if fault in possible else None


class ByChance:
    """Faults as a seed has it: sometimes few, sometimes many, then none, so that there can be rest.

    Many runs have a focus: a kind of request at which faults are frequent.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"faults {seed}")  # noqa: S311 - it has to be repeatable
        self._rate = self._chance.choice(RATES)
        self._most = self._chance.randrange(1, MOST_FAULTS + 1)
        self.focus: str | None = None
        if self._chance.random() < FOCUSED:
            self.focus = self._chance.choice(FOCUS)
            self._rate = ELSEWHERE_RATE
        self.faults: dict[int, Fault] = {}

    def at(self, number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
        if len(self.faults) >= self._most:
            return None
        wakes = Fault.WAKE in possible
        rate = FOCUS_RATE if self.focus is not None and self.focus in what else self._rate
        if self._chance.random() >= (WAKE_RATE if wakes else rate):
            return None
        fault = self.faults[number] = Fault.WAKE if wakes else self._chance.choice(possible)
        return fault


class Run(Struct, frozen=True):
    """One run and how it went."""

    scenario: str
    seed: int
    faults: dict[int, Fault]
    wrong: str | None
    trace: tuple[Step, ...]
    possible: dict[int, tuple[Fault, ...]]
    end: End = ()

    @property
    def replay(self) -> str:
        faults = ",".join(f"{number}:{fault.value}" for number, fault in sorted(self.faults.items()))
        told = f" --faults {faults}" if faults else ""
        return f".venv/bin/python -m tests.simulation replay {self.scenario} --seed {self.seed}{told}"

    @property
    def kind(self) -> str:
        """In which way it failed: the rule that was broken, or that there was no rest, or what was wrong at rest."""
        return (self.wrong or "").partition(":")[0]

    def told(self, most: int) -> str:
        """The last steps, and all at which something went wrong."""
        lines: list[str] = []
        left_out = False
        for position, step in enumerate(self.trace, start=1):
            if step.fault is None and position <= len(self.trace) - most:
                left_out = True
                continue
            lines += ["  ...", str(step)] if left_out else [str(step)]
            left_out = False
        return "\n".join([*lines, self.wrong or "every property held", f"replay: {self.replay}"])

    def __str__(self) -> str:
        return self.told(TOLD_STEPS)


class Report(Struct):
    """What a series of runs came to. `points` is how many were announced, before the first of them."""

    points: int = 0
    ran: int = 0
    requests: int = 0
    events: int = 0
    failed: list[Run] = []
    kinds: dict[Fault, int] = {}
    """How often each kind of fault was tried."""

    def add(self, run: Run) -> None:
        events = sum(step.what.startswith("event ") for step in run.trace)
        self.ran += 1
        self.events += events
        self.requests += len(run.trace) - events
        for fault in run.faults.values():
            self.kinds[fault] = self.kinds.get(fault, 0) + 1
        if run.wrong is not None:
            self.failed.append(run)

    def include(self, part: "Report") -> None:
        self.points += part.points
        self.ran += part.ran
        self.requests += part.requests
        self.events += part.events
        self.failed += part.failed
        for fault, times in part.kinds.items():
            self.kinds[fault] = self.kinds.get(fault, 0) + times

    def told(self, kinds: Iterable[Fault]) -> str:
        """How often each of these was tried."""
        return ", ".join(f"{kind.value} {self.kinds[kind]:,}" for kind in kinds if kind in self.kinds)

    def __str__(self) -> str:
        ran = f"ran {self.ran:,} of {self.points:,}"
        return f"{ran}, {self.requests:,} requests, {self.events:,} events, {len(self.failed)} failed"


def run(scenario: Scenario, seed: int, plan: Scripted | ByChance, faults: Mapping[int, Fault] | None = None) -> Run:
    world = World(seed, plan, controllers=scenario.controllers, group=scenario.group, observes=scenario.observes)
    wrong = None
    try:
        scenario.run(world, seed)
    except Violation as violation:
        wrong = str(violation)
    happened = plan.faults if isinstance(plan, ByChance) else dict(faults or {})
    possible = plan.possible if isinstance(plan, Scripted) else {}
    end = ends.end_of(world.truth) if wrong is None else ()
    return Run(scenario.name, seed, happened, wrong, tuple(world.trace), possible, end)


def replay(scenario: Scenario, seed: int, faults: Mapping[int, Fault]) -> Run:
    return run(scenario, seed, Scripted(faults), faults)


def announced(base: Run, kinds: Iterable[Fault] = tuple(Fault), *, after: int = 0) -> int:
    """How many faults of these kinds are possible at the points of a run, counted apart from the runs that try them."""
    wanted = set(kinds)
    return sum(len(wanted & set(possible)) for number, possible in base.possible.items() if number > after)


def singles(base: Run, kinds: Iterable[Fault] = tuple(Fault)) -> Iterator[dict[int, Fault]]:
    """Every fault of these kinds at every point of a run."""
    wanted = frozenset(kinds)
    for number, possible in base.possible.items():
        for fault in possible:
            if fault in wanted:
                yield {number: fault}


def seconds(first: Run, kinds: Iterable[Fault]) -> Iterator[dict[int, Fault]]:
    """A run's fault, and one more at every point after it: also inside the recovery from the first."""
    [last] = first.faults
    for second in singles(first, kinds):
        if min(second) > last:
            yield first.faults | second


def enumerate_faults(name: str, seed: int = 1, *, every: int = 1, part: int = 0, stop: bool = False) -> Report:
    """Every kind of fault at every point of a scenario, one at a time; `stop` at the first that fails.

    Of them all, only each `every`-th is taken, beginning with number `part`.
    """
    return every_fault(SCENARIOS[name], seed, every=every, part=part, stop=stop)


def every_fault(scenario: Scenario, seed: int, *, every: int = 1, part: int = 0, stop: bool) -> Report:
    base = replay(scenario, seed, {})
    report = Report(points=1 + len(range(part, announced(base), every)))
    report.add(base)
    for faults in itertools.islice(singles(base), part, None, every):
        if stop and report.failed:
            break
        tried = replay(scenario, seed, faults)
        report.add(tried if scenario.depends else _compared(tried, base))
    return report


def _compared(tried: Run, base: Run) -> Run:
    """Who hears something wrongly, twice, late or never, ends like who hears everything."""
    [fault] = tried.faults.values()
    if fault not in HEARD_WRONGLY or tried.wrong is not None or tried.end == base.end:
        return tried
    return msgspec.structs.replace(tried, wrong=f"end: {tried.end}, and without the fault it is {base.end}")


def enumerate_pairs(  # noqa: PLR0913 - which pairs of which scenario
    name: str,
    seed: int = 1,
    *,
    kinds: Iterable[Fault] = CRASHES,
    then: Iterable[Fault] = (),
    every: int = 1,
    part: int = 0,
    stop: bool = False,
) -> Report:
    """A fault of these kinds at every point, and for each of them a second one, of `then`, at every later point.

    Of the first faults, only each `every`-th is taken, beginning with number `part`. All of them are run before any
    pair is, because how many pairs there are is known only then.
    """
    scenario = SCENARIOS[name]
    kinds = tuple(kinds)
    then = tuple(then) or kinds
    base = replay(scenario, seed, {})
    report = Report(points=len(range(part, announced(base, kinds), every)))
    firsts: list[Run] = []
    for faults in itertools.islice(singles(base, kinds), part, None, every):
        first = replay(scenario, seed, faults)
        report.add(first)
        report.points += announced(first, then, after=max(faults))
        firsts.append(msgspec.structs.replace(first, trace=()))
    for first in firsts:
        _try_all(report, scenario, seed, seconds(first, then), stop=stop)
    return report


def enumerate_takeovers(name: str, seed: int = 1, *, every: int = 1, part: int = 0, stop: bool = False) -> Report:
    """A process stops at every point; where it led, it goes on at every point of the one that leads after it."""
    return enumerate_pairs(name, seed, kinds=PAUSES, then=(Fault.WAKE,), every=every, part=part, stop=stop)


def _try_all(report: Report, scenario: Scenario, seed: int, plans: Iterable[dict[int, Fault]], *, stop: bool) -> None:
    for faults in plans:
        if stop and report.failed:
            return
        report.add(replay(scenario, seed, faults))


def chosen_by(seed: int, name: str = ANY) -> Run:
    """The run that a seed stands for."""
    names = sorted(SCENARIOS) if name == ANY else [name]
    return run(SCENARIOS[names[seed % len(names)]], seed, ByChance(seed))


def by_chance(name: str, seeds: Sequence[int], *, stop: bool = False) -> Report:
    """A run for each seed; `stop` at the first that fails. Of `any` scenario: the seed says which."""
    report = Report(points=len(seeds))
    for seed in seeds:
        report.add(chosen_by(seed, name))
        if stop and report.failed:
            break
    return report


def shrunk(failed: Run, again: Again = replay) -> Run:
    """The same kind of failure with as few faults as it takes: without any one of them it does not come about."""
    smallest = failed
    while True:
        for number in sorted(smallest.faults, reverse=True):
            fewer = {each: fault for each, fault in smallest.faults.items() if each != number}
            tried = again(SCENARIOS[failed.scenario], failed.seed, fewer)
            if tried.kind == failed.kind:
                smallest = tried
                break
        else:
            return smallest


def workers() -> ProcessPoolExecutor:
    """One for each core. What they have from the beginning is never garbage: they do not look through it."""
    return ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork"), initializer=gc.freeze)


def in_parallel(
    look: Callable[[int], Report],
    parts: int,
    progress: Progress = lambda _done, _so_far: None,
    kept: Kept = NOTHING_KEPT,
) -> Report:
    """The parts of a search, on all cores; what they came to, together. `progress` is told after each part.

    What is `kept` of parts in which nothing failed is not searched again.
    """
    whole = Report()
    found = kept.found(Report)
    for part in found.values():
        whole.include(part)
    left = [each for each in range(parts) if each not in found]
    with workers() as cores:
        for done, (number, part) in enumerate(zip(left, cores.map(look, left), strict=True), start=1 + len(found)):
            whole.include(part)
            if not part.failed:
                kept.add(number, part)
            progress(done, whole)
    return whole
