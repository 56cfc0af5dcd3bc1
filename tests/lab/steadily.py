"""Seeing that something stays as it is."""

import time

from mooring.lab.waiting import INTERVAL, Condition


def throughout(condition: Condition, *, seconds: float, what: str) -> None:
    """Return when the condition has held all the time; fail as soon as it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"it did not stay so for {seconds:g} s that {what}"
        time.sleep(INTERVAL)
