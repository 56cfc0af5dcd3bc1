"""Waiting for a condition with a deadline, inside a loop that goes on meanwhile."""

import asyncio
from collections.abc import Callable

INTERVAL = 0.02


async def until(condition: Callable[[], bool], *, seconds: float = 10.0, what: str = "") -> None:
    """Return as soon as the condition holds; fail when the time is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        assert loop.time() < deadline, f"waited {seconds:g} s for {what or 'a condition'}"
        await asyncio.sleep(INTERVAL)
