"""Two leaders at once: one is stopped anywhere, another takes over, the first goes on anywhere in the other's work."""

import functools

import pytest

from tests.kept import Kept
from tests.simulation import explore
from tests.simulation.explore import Report
from tests.simulation.faults import Fault
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.test_scenarios import holds

TWO = tuple(name for name, each in SCENARIOS.items() if each.controllers > 1 and "churn" not in name)
PARTS = 40
SEEDS = 2
"""Latencies are others in each: with them, there are more than 100,000 ways in which two leaders meet."""
SLICE = 3
"""`make test` takes two parts of so many times as many."""


def test_a_leader_that_slept_goes_on_while_another_one_leads() -> None:
    """Both of them write: what is refused is what the first one sends."""
    base = explore.replay(SCENARIOS["two"], 1, {})
    writes = [step.number for step in base.trace if step.what == "put document"]
    stopped = explore.replay(SCENARIOS["two"], 1, {writes[0]: Fault.PAUSE})
    wakes = [number for number, possible in stopped.possible.items() if Fault.WAKE in possible]
    first = base.trace[writes[0] - 1].process
    assert {stopped.trace[number - 1].process for number in wakes} == {"c2.2"}
    assert first == "c1.1"
    woken = explore.replay(SCENARIOS["two"], 1, {writes[0]: Fault.PAUSE, wakes[3]: Fault.WAKE})
    assert woken.wrong is None, str(woken)
    assert first in {step.process for step in woken.trace[wakes[3] : wakes[3] + 20]}


@pytest.mark.parametrize("name", TWO)
class TestTakeovers:
    pytestmark = pytest.mark.long

    def test_every_stop_and_every_return(self, name: str, whole: bool, parts_kept: Kept) -> None:  # noqa: FBT001 - a fixture
        every = PARTS if whole else PARTS * SLICE
        look = functools.partial(_takeovers, name, every)
        holds(
            explore.in_parallel(look, SEEDS * PARTS if whole else 2, kept=parts_kept),
            f"{name}, leaders stopped and going on",
        )


def _takeovers(name: str, every: int, part: int) -> Report:
    return explore.enumerate_takeovers(name, 1 + part // PARTS, every=every, part=part % PARTS)
