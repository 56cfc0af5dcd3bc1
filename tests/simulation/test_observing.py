"""Controllers that are configured to observe write nothing, whatever happens: 0 writes in every scenario."""

import functools

import msgspec
import pytest

from tests.kept import Kept
from tests.simulation import explore
from tests.simulation.explore import ByChance, Report, Run
from tests.simulation.scenarios import SCENARIOS, Scenario

APART = {"first-look", "two-second-thought", "uninstall", "uninstall-keeping"}
"""In these they are told to act in the end, or are not there any more."""
OBSERVED = {
    name: msgspec.structs.replace(each, observes=True, addresses=0)
    for name, each in SCENARIOS.items()
    if name not in APART
}
READS = ("get ", "list ", "watch ", "event ")
SHORTEST = "map"
PARTS = 40


def holds(report: Report, what: str) -> None:
    print(f"\n{what}: {report}")  # noqa: T201 - seen with -s, and on failure
    assert report.failed == [], str(report.failed[0])
    assert report.ran == report.points


def writes(run: Run) -> list[str]:
    return [step.what for step in run.trace if not step.what.startswith(READS)]


@pytest.mark.parametrize("name", OBSERVED)
def test_nothing_is_written_in_a_world_without_faults(name: str) -> None:
    run = explore.replay(OBSERVED[name], 1, {})
    assert run.wrong is None, str(run)
    assert writes(run) == []
    everywhere = {"kube", "g1", "g2"} if "static" in name else {"kube", "neutron", "g1", "g2"}
    assert {step.server for step in run.trace} == everywhere, "it has looked everywhere"


def test_some_faults_of_the_shortest_scenario() -> None:
    holds(explore.every_fault(OBSERVED[SHORTEST], 1, every=8, stop=False), f"{SHORTEST}, observed, each eighth fault")


def test_some_seeds() -> None:
    report = Report(points=len(OBSERVED))
    for seed in range(1, 1 + len(OBSERVED)):
        report.add(_by_chance(seed))
    holds(report, "any scenario, observed, by chance")


def test_who_wrote_would_be_found() -> None:
    """A controller that acts in the place of one that is to observe."""
    run = explore.replay(SCENARIOS["map"], 1, {})
    assert writes(run)
    assert not writes(explore.replay(OBSERVED["map"], 1, {}))


@pytest.mark.parametrize("name", [name for name in OBSERVED if "churn" not in name], ids=str)
class TestWhole:
    pytestmark = pytest.mark.long

    def test_every_fault_at_every_point(self, name: str, whole: bool, parts_kept: Kept) -> None:  # noqa: FBT001 - a fixture
        parts = range(PARTS) if whole or name == SHORTEST else range(0, PARTS, 20)
        look = functools.partial(_singles, OBSERVED[name], parts)
        holds(explore.in_parallel(look, len(parts), kept=parts_kept), f"{name}, observed, faults one at a time")


def _singles(scenario: Scenario, parts: range, part: int) -> Report:
    return explore.every_fault(scenario, 1, every=PARTS, part=parts[part], stop=False)


def _by_chance(seed: int) -> Run:
    names = sorted(OBSERVED)
    return explore.run(OBSERVED[names[seed % len(names)]], seed, ByChance(seed))
