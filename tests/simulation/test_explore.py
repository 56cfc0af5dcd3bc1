"""Runs are counted honestly, rare requests get their faults, and what fails is told briefly and can be run again."""

from collections.abc import Mapping

import msgspec
import pytest
from click.testing import CliRunner

from tests.simulation import __main__ as command
from tests.simulation import explore
from tests.simulation.explore import FOCUS, ByChance, Report, Run
from tests.simulation.faults import CRASHES, STALE, WRITES, Fault
from tests.simulation.scenarios import SCENARIOS, Scenario
from tests.simulation.world import Step


def step(number: int, what: str = "list things", fault: Fault | None = None) -> Step:
    return Step(number, float(number), "c1.1", "kube", what, "/things", fault)


def run(*steps: Step, wrong: str | None = None) -> Run:
    return Run("map", 1, {each.number: each.fault for each in steps if each.fault}, wrong, steps, {})


@pytest.mark.parametrize("name", SCENARIOS)
def test_stale_kinds_are_possible_in_every_scenario(name: str) -> None:
    base = explore.replay(SCENARIOS[name], 1, {})
    assert {fault for plan in explore.singles(base) for fault in plan.values()} >= set(STALE)


@pytest.mark.parametrize("focus", FOCUS)
def test_a_run_with_a_focus_has_most_of_its_faults_there(focus: str) -> None:
    inside = outside = 0
    for plan in filter(lambda plan: plan.focus == focus, map(ByChance, range(400))):
        for number in range(1, 400, 2):
            inside += plan.at(number, f"a {focus} b", WRITES) is not None
            outside += plan.at(number + 1, "something else", WRITES) is not None
    assert inside > 5 * outside


def test_events_are_not_counted_as_requests() -> None:
    report = Report()
    report.add(run(step(1, "watch services"), step(2, "event services"), step(3, "event leases")))
    assert (report.requests, report.events) == (1, 2)
    assert "1 requests, 2 events" in str(report)


def test_announced_faults_are_counted_before_they_are_tried() -> None:
    base = msgspec.structs.replace(run(), possible={1: (Fault.PAUSE, Fault.CRASH_BEFORE), 2: CRASHES})
    assert explore.announced(base) == len(list(explore.singles(base))) == 4
    assert explore.announced(base, CRASHES, after=1) == 2


def test_a_search_that_stops_has_run_less_than_was_announced() -> None:
    impossible = msgspec.structs.replace(SCENARIOS["map"], addresses=0)
    report = explore.every_fault(impossible, 1, stop=True)
    assert report.ran == len(report.failed) == 1
    assert report.points > 100


def test_a_failure_of_another_kind_is_not_the_same_failure() -> None:
    """It takes the faults 1 and 2 for S2; with 1 alone, something else is wrong."""

    def replay(_scenario: Scenario, _seed: int, faults: Mapping[int, Fault]) -> Run:
        wrong = "S2: x" if {1, 2} <= set(faults) else "at rest: y" if 1 in faults else None
        return Run("map", 1, dict(faults), wrong, (), {})

    failed = replay(SCENARIOS["map"], 1, dict.fromkeys((1, 2, 3, 4), Fault.LATE))
    assert explore.shrunk(failed, replay).faults == {1: Fault.LATE, 2: Fault.LATE}


def test_a_long_trace_is_told_by_its_end_and_its_faults() -> None:
    steps = [step(number, fault=Fault.LATE if number == 20 else None) for number in range(1, 201)]
    told = str(run(*steps, wrong="S2: x")).splitlines()
    assert [line.split()[0] for line in told[:4]] == ["...", "20", "...", "141"]
    assert len(told) == 3 + 60 + 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["replay", "map", "--faults", "abc"], "'abc' is not NUMBER:KIND"),
        (["replay", "map", "--faults", "3:abc"], "'3:abc' is not NUMBER:KIND"),
        (["replay", "map", "--faults", "x:late"], "'x:late' is not NUMBER:KIND"),
        (["chance", "any", "--runs", "-5"], "'--runs'"),
    ],
)
def test_wrong_arguments_are_told(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(command.main, arguments)
    assert result.exit_code == 2
    assert told in result.output
    assert "unpack" not in result.output
