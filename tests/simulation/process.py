"""A simulated process: the tasks that belong together because they die together."""

import asyncio
from typing import Any


class Process:
    """One life of a program. After `kill` none of its tasks reaches the outside any more, whatever it still does."""

    def __init__(self, name: str, *, lag: int = 0, lags_until: float = 0.0) -> None:
        """`lag`: by how many events the watches are behind that it opens before some time."""
        self.name = name
        self.lag = lag
        self.lags_until = lags_until
        self.alive = True
        self.epoch = 0  # of the last term that it got, whether it knows or not
        self.deposed_until = 0.0  # its Lease was deleted by somebody; until then it may lead beside another one
        self.failing: dict[str, float] = {}  # gateways that do not answer it, and since when
        self.refusing: dict[str, float] = {}  # gateways that refuse what it tells them, and since when
        self.revived: dict[str, float] = {}  # gateways that answer it again, and since when
        self.contacted: dict[str, float] = {}  # gateways that it has turned to since they are there, and when first
        self.sent: dict[int, float] = {}  # when each request was sent, by its identity
        self._tasks: dict[asyncio.Task[Any], None] = {}  # in the order of their birth: chance has no part in a death

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Count a task that was started by this process among its own."""
        self._tasks[task] = None
        task.add_done_callback(self._forget)

    def kill(self) -> None:
        self.alive = False
        for task in list(self._tasks):
            task.cancel()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
