"""Every kind of fault is tried at every kind of call, and the world holds."""

import functools

import pytest

from tests.simulation import explore, matrix
from tests.simulation.explore import Report, Run
from tests.simulation.faults import Fault
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.test_scenarios import holds

SEEDS = range(1, 41)
PARTS = 8

ASKED = {
    *(Fault.NOT_FOUND, Fault.CONFLICT, Fault.TOO_MANY, Fault.ERROR, Fault.UNAVAILABLE, Fault.NO_ANSWER_BEHIND),
    *(Fault.TIMEOUT_BEFORE, Fault.TIMEOUT_AFTER, Fault.RESET, Fault.CUT, Fault.WRONG, Fault.DELAY, Fault.EXPIRED),
}
"""What may happen to any call, whoever is asked."""


@functools.cache
def bases() -> tuple[Run, ...]:
    return tuple(matrix.bases())


def test_every_call_is_made_and_every_fault_that_it_may_have_is_there() -> None:
    counts = matrix.counted(bases())
    cells = sum(len(row) for row in counts.values())
    print(f"\n{len(counts)} calls, {cells} cells of calls and faults, none empty")  # noqa: T201 - seen with -s
    assert set(counts) == matrix.CALLS
    for call, row in counts.items():
        streams = call[1].startswith(("event ", "watch "))
        missing = (set() if streams else ASKED) - row.keys()
        assert missing == set(), f"{' '.join(call)} lacks {missing}"


def test_there_are_no_calls_but_these() -> None:
    made = {matrix.call(step) for seed in SEEDS for step in explore.chosen_by(seed).trace}
    assert made <= matrix.CALLS


def test_what_is_nowhere_in_the_table_is_said_why() -> None:
    """A row that lacks a kind of fault is one for which a reason stands."""
    reasons = frozenset().union(*(faults for faults, _ in matrix.WHY_NOT.values()))
    for call, row in matrix.counted(bases()).items():
        if not call[1].startswith(("event ", "watch ")):
            assert set(Fault) - row.keys() <= reasons, call


@pytest.mark.long
def test_the_world_holds_in_each_cell() -> None:
    cells = list(matrix.one_of_each(bases()).values())
    look = functools.partial(_some, cells)
    holds(explore.in_parallel(look, PARTS), f"{len(cells)} cells of calls and faults, each once")
    print(matrix.table(matrix.counted(bases())))  # noqa: T201 - seen with -s, and in the summary


def _some(cells: list[tuple[str, dict[int, Fault]]], part: int) -> Report:
    mine = cells[part::PARTS]
    report = Report(points=len(mine))
    for name, faults in mine:
        report.add(explore.replay(SCENARIOS[name], 1, faults))
    return report
