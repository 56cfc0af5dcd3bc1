"""When a gateway gives way to others."""

import pytest

from mooring.core import freshness
from mooring.core.freshness import GRACE, HOLDING, Heard
from mooring.model.gateway import Heartbeat, Held

HELD = Held(2, 5, "x")


@pytest.mark.parametrize(
    ("heard", "held", "now", "stale"),
    [
        (Heard(10.0, (2, 5)), HELD, 10.0, False),
        (Heard(10.0, (2, 5)), HELD, 10.0 + GRACE, False),
        (Heard(10.0, (2, 5)), HELD, 10.1 + GRACE, True),
        (Heard(10.0, (2, 6), 9.0), HELD, 10.0, False),
        (Heard(20.0, (2, 6), 9.0), HELD, 20.0, True),
        (Heard(20.0, (2, 6), 9.0), Held(2, 6, "y"), 20.0, False),
        (Heard(20.0, (3, 1), 9.0), HELD, 20.0, True),
        (Heard(10.0), Held(), 10.0, True),
    ],
)
def test_each_case(heard: Heard, held: Held, now: float, stale: bool) -> None:  # noqa: FBT001 - a table
    assert freshness.stale(heard, held, now=now) is stale


def test_who_has_the_newest_is_not_behind() -> None:
    assert freshness.after(Heard(0.0, (2, 9), 0.0), Heartbeat(2, 5), HELD, now=1.0) == Heard(1.0, (2, 5))


def test_what_is_said_last_about_draining_counts() -> None:
    drained = freshness.after(Heard(0.0), Heartbeat(2, 5, drained=True), HELD, now=1.0)
    assert drained.drained
    assert freshness.after(drained, Heartbeat(2, 9, drained=True), HELD, now=2.0).drained
    assert not freshness.after(drained, Heartbeat(2, 9), HELD, now=2.0).drained


def test_who_stays_behind_is_so_since_the_beginning() -> None:
    heard = freshness.after(Heard(0.0), Heartbeat(2, 6), HELD, now=1.0)
    assert heard == Heard(1.0, (2, 6), 1.0)
    assert freshness.after(heard, Heartbeat(2, 7), HELD, now=2.0) == Heard(2.0, (2, 7), 1.0)


def test_who_always_gets_the_last_but_one_is_not_stale() -> None:
    heard = Heard(0.0)
    for second in range(20):
        heard = freshness.after(heard, Heartbeat(2, 6 + second), Held(2, 5 + second, "x"), now=float(second))
        assert not freshness.stale(heard, Held(2, 5 + second, "x"), now=float(second))


@pytest.mark.parametrize(("silence", "expected"), [(GRACE + 0.1, False), (GRACE + HOLDING, False), (5.0, True)])
def test_who_holds_the_addresses_gives_way_after_all_others(silence: float, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """When the leader is gone, nothing moves: by the time that the holder gives way, everybody has."""
    assert freshness.stale(Heard(0.0), HELD, now=silence, holding=True) is expected
    assert freshness.stale(Heard(0.0), HELD, now=silence)
