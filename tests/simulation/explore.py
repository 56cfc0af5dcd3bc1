"""Running a scenario again and again, each time with other faults: all that there are, or some by chance.

A run that fails is made small: faults are taken away for as long as it still fails. What is left is told as a trace and
as one command that runs it again.
"""

import itertools
import multiprocessing
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor

from msgspec import Struct

from tests.simulation.faults import CRASHES, Fault
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import Step, Violation, World

RATES = (0.01, 0.03, 0.1)
MOST_FAULTS = 8
ANY = "any"


Look = Callable[[str, int], "Report"]


class Scripted:
    """Faults at given points; a fault that cannot happen at its point does not."""

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        self._faults = faults
        self.possible: dict[int, tuple[Fault, ...]] = {}

    def at(self, number: int, possible: tuple[Fault, ...]) -> Fault | None:
        self.possible[number] = possible
        fault = self._faults.get(number)
        return fault if fault in possible else None


class ByChance:
    """Faults as a seed has it: sometimes few, sometimes many, then none, so that there can be rest."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"faults {seed}")  # noqa: S311 - it has to be repeatable
        self._rate = self._chance.choice(RATES)
        self._most = self._chance.randrange(1, MOST_FAULTS + 1)
        self.faults: dict[int, Fault] = {}

    def at(self, number: int, possible: tuple[Fault, ...]) -> Fault | None:
        if len(self.faults) >= self._most or self._chance.random() >= self._rate:
            return None
        fault = self.faults[number] = self._chance.choice(possible)
        return fault


class Run(Struct, frozen=True):
    """One run and how it went."""

    scenario: str
    seed: int
    faults: dict[int, Fault]
    wrong: str | None
    trace: tuple[Step, ...]
    possible: dict[int, tuple[Fault, ...]]

    @property
    def replay(self) -> str:
        faults = ",".join(f"{number}:{fault.value}" for number, fault in sorted(self.faults.items()))
        told = f" --faults {faults}" if faults else ""
        return f".venv/bin/python -m tests.simulation replay {self.scenario} --seed {self.seed}{told}"

    def __str__(self) -> str:
        steps = "\n".join(str(step) for step in self.trace)
        return f"{steps}\n{self.wrong or 'every property held'}\nreplay: {self.replay}"


class Report(Struct):
    """What a series of runs came to."""

    points: int = 0
    ran: int = 0
    calls: int = 0
    failed: list[Run] = []

    def add(self, run: Run) -> None:
        self.ran += 1
        self.calls += len(run.trace)
        if run.wrong is not None:
            self.failed.append(run)

    def __str__(self) -> str:
        return f"ran {self.ran:,} of {self.points:,}, {self.calls:,} calls, {len(self.failed)} failed"


def run(scenario: Scenario, seed: int, plan: Scripted | ByChance, faults: Mapping[int, Fault] | None = None) -> Run:
    world = World(seed, plan, controllers=scenario.controllers)
    wrong = None
    try:
        scenario.run(world, seed)
    except Violation as violation:
        wrong = str(violation)
    happened = plan.faults if isinstance(plan, ByChance) else dict(faults or {})
    possible = plan.possible if isinstance(plan, Scripted) else {}
    return Run(scenario.name, seed, happened, wrong, tuple(world.trace), possible)


def replay(scenario: Scenario, seed: int, faults: Mapping[int, Fault]) -> Run:
    return run(scenario, seed, Scripted(faults), faults)


def singles(base: Run, kinds: Iterable[Fault] | None = None) -> Iterator[dict[int, Fault]]:
    """Every fault of these kinds (None: of all kinds) at every point of a run."""
    wanted = None if kinds is None else frozenset(kinds)
    for number, possible in base.possible.items():
        for fault in possible:
            if wanted is None or fault in wanted:
                yield {number: fault}


def seconds(first: Run, kinds: Iterable[Fault]) -> Iterator[dict[int, Fault]]:
    """A run's fault, and one more at every point after it: also inside the recovery from the first."""
    [last] = first.faults
    wanted = frozenset(kinds)
    for number, possible in first.possible.items():
        if number > last:
            for fault in possible:
                if fault in wanted:
                    yield {**first.faults, number: fault}


def enumerate_faults(name: str, seed: int = 1) -> Report:
    """Every kind of fault at every point of a scenario, one at a time."""
    scenario = SCENARIOS[name]
    base = replay(scenario, seed, {})
    plans = list(singles(base))
    report = Report(points=len(plans) + 1)
    report.add(base)
    for faults in plans:
        report.add(replay(scenario, seed, faults))
    return report


def enumerate_pairs(
    name: str, seed: int = 1, *, kinds: Iterable[Fault] = CRASHES, every: int = 1, part: int = 0
) -> Report:
    """A fault of these kinds at every point, and for each of them a second one at every later point.

    Of the first faults, only each `every`-th is taken, beginning with number `part`.
    """
    scenario = SCENARIOS[name]
    kinds = tuple(kinds)
    report = Report()
    for faults in itertools.islice(singles(replay(scenario, seed, {}), kinds), part, None, every):
        first = replay(scenario, seed, faults)
        pairs = list(seconds(first, kinds))
        report.points += len(pairs) + 1
        report.add(first)
        for pair in pairs:
            report.add(replay(scenario, seed, pair))
    return report


def chosen_by(seed: int, name: str = ANY) -> Run:
    """The run that a seed stands for."""
    names = sorted(SCENARIOS) if name == ANY else [name]
    return run(SCENARIOS[names[seed % len(names)]], seed, ByChance(seed))


def by_chance(name: str, seeds: Iterable[int], *, stop: bool = False) -> Report:
    """A run for each seed; `stop` at the first that fails. Of `any` scenario: the seed says which."""
    report = Report()
    for seed in seeds:
        report.points += 1
        report.add(chosen_by(seed, name))
        if stop and report.failed:
            break
    return report


def shrunk(failed: Run) -> Run:
    """The same failure with as few faults as it takes: none can be left out without everything being right again."""
    smallest = failed
    while True:
        for number in sorted(smallest.faults, reverse=True):
            fewer = {each: fault for each, fault in smallest.faults.items() if each != number}
            tried = replay(SCENARIOS[failed.scenario], failed.seed, fewer)
            if tried.wrong is not None:
                smallest = tried
                break
        else:
            return smallest


def in_parallel(look: Callable[[int], Report], parts: int) -> Report:
    """The parts of a search, on all cores; what they came to, together."""
    whole = Report()
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as workers:
        for part in workers.map(look, range(parts)):
            whole.points += part.points
            whole.ran += part.ran
            whole.calls += part.calls
            whole.failed += part.failed
    return whole
