"""What is to be looked at next. Items are names, never events: however often a thing changes, it is looked at once.

An item that is being worked on and is added meanwhile comes back when the work ends. A failure comes back later and
later; "again after" is no failure and starts nothing that grows.
"""

import asyncio
import random
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class WorkQueue(Generic[Item]):
    """For one loop; `get` may be awaited by several workers, each item is with one of them at a time."""

    def __init__(self, chance: random.Random, *, first: float = 0.5, longest: float = 60.0) -> None:
        self._chance = chance
        self._first = first
        self._longest = longest
        self._ready: deque[Item] = deque()
        self._waiting: set[Item] = set()  # those in _ready
        self._working: set[Item] = set()
        self._again: set[Item] = set()  # added while being worked on
        self._failures: dict[Item, int] = {}
        self._timers: dict[Item, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready)

    def only(self, item: Item) -> bool:
        """Nothing but this item, if that, comes next or later."""
        return not self._ready and not self._working and self._timers.keys() <= {item}

    def failures(self, item: Item) -> int:
        """How often in a row an item has failed."""
        return self._failures.get(item, 0)

    def add(self, item: Item) -> None:
        """Look at it as soon as possible. A delay that it was under is over: something has changed."""
        if timer := self._timers.pop(item, None):
            timer.cancel()
        if item in self._working:
            self._again.add(item)
        elif item not in self._waiting:
            self._waiting.add(item)
            self._ready.append(item)
            self._wake.set()

    def nudge(self, item: Item) -> None:
        """Look at it as soon as possible, unless it has failed: what has changed is nothing that this was due to."""
        if item not in self._failures or item not in self._timers:
            self.add(item)

    def add_after(self, item: Item, seconds: float) -> None:
        """Look at it in a while, or sooner if it is added or was to come sooner anyway."""
        loop = asyncio.get_running_loop()
        if item in self._waiting:
            return
        timer = self._timers.get(item)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[item] = loop.call_later(seconds, self.add, item)

    async def get(self) -> Item:
        while not self._ready:
            self._wake.clear()
            await self._wake.wait()
        item = self._ready.popleft()
        self._waiting.discard(item)
        self._working.add(item)
        return item

    def done(self, item: Item) -> None:
        """The work succeeded; earlier failures are forgotten."""
        self._failures.pop(item, None)
        self._end(item)

    def again(self, item: Item, seconds: float) -> None:
        """The work has to wait for something."""
        self.done(item)
        self.add_after(item, seconds)

    def failed(self, item: Item, *, not_before: float = 0.0) -> float:
        """The work failed. It comes back after a delay that grows with each failure in a row; the delay is returned."""
        count = self._failures.get(item, 0)
        self._failures[item] = count + 1
        delay = min(self._first * 2.0 ** min(count, 30), self._longest) * self._chance.uniform(0.8, 1.0)
        delay = max(delay, not_before)
        again = item in self._again
        self._end(item)
        if not again:
            self.add_after(item, delay)
        return delay

    def _end(self, item: Item) -> None:
        self._working.discard(item)
        if item in self._again:
            self._again.discard(item)
            self.add(item)
