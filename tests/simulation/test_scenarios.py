"""The controllers hold in every world: all faults one at a time, crashes in pairs, and many at once by chance."""

import functools
import os
import subprocess
import sys

import pytest

from tests import source_copy
from tests.kept import Kept
from tests.simulation import explore
from tests.simulation.explore import ByChance, Report, Scripted
from tests.simulation.faults import CRASHES, HEARD_WRONGLY, Fault
from tests.simulation.scenarios import SCENARIOS

NAMES = tuple(SCENARIOS)
SHORTEST = "map"
SEEDS = 10_000
SOAKED_SEEDS = 200_000
PARTS = 40


def holds(report: Report, what: str) -> None:
    """Everything was run, and every property held; else the smallest failure is told, with its replay."""
    print(f"\n{what}: {report}")  # noqa: T201 - seen with -s, and on failure
    assert report.failed == [], str(explore.shrunk(report.failed[0]))
    assert report.ran == report.points


@pytest.mark.parametrize("name", NAMES)
def test_a_world_without_faults(name: str) -> None:
    run = explore.replay(SCENARIOS[name], 1, {})
    assert run.wrong is None, str(run)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_trace(name: str) -> None:
    first, second = (explore.run(SCENARIOS[name], 7, ByChance(7)) for _ in range(2))
    assert first.faults == second.faults
    assert first.trace == second.trace


def test_the_trace_is_the_same_whatever_the_hashes_of_texts_are() -> None:
    """Python gives texts other hashes in every process; nothing may depend on the order of a set."""
    program = (
        "from tests.simulation import explore\n"
        "for seed in range(1, 31):\n"
        "    print(*explore.chosen_by(seed).trace, sep='\\n')"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=source_copy.ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") > 30 * 50


def test_a_replay_of_what_happened_by_chance_is_that_run() -> None:
    by_chance = explore.run(SCENARIOS["churn"], 3, ByChance(3))
    assert by_chance.faults
    again = explore.replay(SCENARIOS["churn"], 3, by_chance.faults)
    assert again.trace == by_chance.trace


def test_some_faults_of_the_shortest_scenario() -> None:
    holds(explore.enumerate_faults(SHORTEST, every=8), f"{SHORTEST}, each eighth fault")


def test_some_seeds() -> None:
    holds(explore.by_chance(explore.ANY, range(1, 101)), "any scenario, by chance")


def test_every_kind_of_fault_is_possible_somewhere() -> None:
    plan = Scripted({})
    explore.run(SCENARIOS["share"], 1, plan)
    seen = {fault for possible in plan.possible.values() for fault in possible}
    plan = Scripted({20: Fault.CRASH_BEFORE})  # a Lease that is there already is asked for
    explore.run(SCENARIOS["two"], 1, plan)
    seen |= {fault for possible in plan.possible.values() for fault in possible}
    told = next(step.number for step in explore.replay(SCENARIOS["two"], 1, {}).trace if step.what == "put document")
    plan = Scripted({told: Fault.PAUSE})  # who leads, so that there is somebody to go on
    explore.run(SCENARIOS["two"], 1, plan)
    seen |= {fault for possible in plan.possible.values() for fault in possible}
    assert seen == set(Fault)


@pytest.mark.parametrize("name", [name for name in NAMES if "churn" not in name], ids=str)
class TestWhole:
    """Every scenario whose deeds are fixed, whole or in a slice."""

    pytestmark = pytest.mark.long

    def test_every_fault_at_every_point(self, name: str, whole: bool, parts_kept: Kept) -> None:  # noqa: FBT001 - a fixture
        parts = range(PARTS) if whole or name == SHORTEST else range(0, PARTS, 20)
        look = functools.partial(_singles, name, parts)
        report = explore.in_parallel(look, len(parts), kept=parts_kept)
        holds(report, f"{name}, faults one at a time")
        print(f"{name}, heard wrongly: {report.told(HEARD_WRONGLY)}")  # noqa: T201

    def test_every_crash_in_the_recovery_from_a_crash(self, name: str, whole: bool, parts_kept: Kept) -> None:  # noqa: FBT001 - a fixture
        every = PARTS if whole else PARTS * 64
        parts = range(PARTS) if whole else range(PARTS, PARTS * 64, PARTS * 32)  # early, and in the middle of the work
        look = functools.partial(_pairs, name, every, parts)
        holds(explore.in_parallel(look, len(parts), kept=parts_kept), f"{name}, crashes in pairs")


def _singles(name: str, parts: range, part: int) -> Report:
    return explore.enumerate_faults(name, every=PARTS, part=parts[part])


def _pairs(name: str, every: int, parts: range, part: int) -> Report:
    return explore.enumerate_pairs(name, kinds=CRASHES, every=every, part=parts[part])


class TestByChance:
    pytestmark = pytest.mark.long

    def test_many_seeds(self, whole: bool, parts_kept: Kept) -> None:  # noqa: FBT001 - a fixture
        seeds = SOAKED_SEEDS if whole else SEEDS
        look = functools.partial(_seeds, seeds // PARTS)
        holds(explore.in_parallel(look, PARTS, kept=parts_kept), "any scenario, by chance")


def _seeds(runs: int, part: int) -> Report:
    return explore.by_chance(explore.ANY, range(1 + part * runs, 1 + (part + 1) * runs))
