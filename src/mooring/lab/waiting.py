"""Waiting for a condition with a deadline; there is no other way of waiting in the lab."""

import time
from collections.abc import Callable

from mooring.lab.errors import LabError

Condition = Callable[[], bool]
INTERVAL = 0.05


def until(condition: Condition, *, seconds: float, what: str, interval: float = INTERVAL) -> None:
    """Return as soon as the condition holds; raise when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:g} s for {what}", hint="the machine may be overloaded; try again")
        time.sleep(interval)
