"""Events on objects, for `kubectl describe`. Telling never waits, never fails and never floods.

The first telling of something makes an Event; the same again within the time that a series lasts only counts: the
first repetition is written at once, further ones together, once a minute. What could not be written is tried again
after a minute; what the API server will never take is given up at once, and told. Each object has a budget, so that one
that fails all day does not bury the others. While nothing can be written, what waits longest is dropped.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime

import msgspec
from msgspec import Struct

from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.kinds import EVENTS
from mooring.model.kubernetes import Event, EventSeries, Meta, Name, ObjectReference

LONGEST_NOTE = 1024
"""In bytes, which is how the API server counts."""
SERIES_SECONDS = 600.0
WRITE_SECONDS = 60.0
BURST = 25
REFILL_SECONDS = 300.0
MOST = 4096
MOST_PENDING = 1024
SINGLY = 2
TRIES = 3


class Told(Struct, frozen=True):
    """What an event says. Two that are equal belong to one series."""

    regarding: ObjectReference
    type: str
    reason: str
    action: str
    note: str


class _Series(Struct):
    count: int = 0
    written: int = 0
    last_told: float = 0.0
    last_written: float = float("-inf")
    name: Name | None = None
    tries: int = 0
    not_before: float = float("-inf")

    @property
    def due(self) -> float:
        return self.not_before if self.count <= SINGLY else max(self.not_before, self.last_written + WRITE_SECONDS)


class _Budget(Struct):
    left: float
    at: float


class Recorder:
    """Writes events in the background: `run` is a task of its own. `dropped` counts what was not written.

    `refused` is told what the API server will not take.
    """

    def __init__(  # noqa: PLR0913 - who tells, where to, and when
        self,
        api: Api,
        controller: str,
        instance: str,
        clock: Callable[[], datetime],
        chance: random.Random,
        *,
        refused: Callable[[Told, errors.KubeError], None] = lambda _told, _why: None,
    ) -> None:
        self._api = api
        self._controller = controller
        self._instance = instance
        self._clock = clock
        self._chance = chance
        self._refused = refused
        self._series: dict[Told, _Series] = {}
        self._pending: dict[Told, _Series] = {}
        self._budgets: dict[str, _Budget] = {}
        self._wake = asyncio.Event()
        self.dropped = 0

    def tell(self, told: Told) -> None:
        now = self._now()
        told = msgspec.structs.replace(told, note=_cut(told.note))
        self._forget(now)
        series = self._series.pop(told, None) or self._pending.get(told)
        if series is None:
            if not self._allowed(told.regarding.uid, now):
                self.dropped += 1
                return
            series = _Series()
        self._series[told] = series  # at the end: the first ones are those that were told longest ago
        self._pend(told, series)
        series.count += 1
        series.last_told = now
        self._wake.set()

    def _pend(self, told: Told, series: _Series) -> None:
        if told not in self._pending and len(self._pending) >= MOST_PENDING:
            oldest = next(iter(self._pending))
            lost = self._pending.pop(oldest)
            self.dropped += lost.count - lost.written
            lost.written = lost.count
        self._pending[told] = series

    async def run(self) -> None:
        while True:
            self._wake.clear()
            for told, series in list(self._pending.items()):
                if told in self._pending and self._now() >= series.due:
                    await self._write(told, series)
            await self._wait()

    async def _wait(self) -> None:
        """For something new, or for the time at which a counted repetition or another try is due."""
        waiting = [each.due for each in self._pending.values()]
        try:
            async with asyncio.timeout_at(min(waiting, default=None)):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _write(self, told: Told, series: _Series) -> None:
        count = series.count
        try:
            if series.name is not None and count > 1:
                await self._repeat(series.name, count)
            else:
                series.name = await self._create(told, count)
        except errors.NotFound:
            series.name = None  # an event lives for an hour; this one begins again
            self._give_up(told, series, count)
        except errors.TooManyRequests as error:
            self._give_up(told, series, count, at_least=error.retry_after or 0.0)
        except (errors.AlreadyExists, errors.Invalid, errors.Forbidden) as error:
            self._refused(told, error)
            series.tries = TRIES
            self._give_up(told, series, count)
        except errors.KubeError:
            self._give_up(told, series, count)
        else:
            self._written(told, series, count)

    def _written(self, told: Told, series: _Series, count: int) -> None:
        series.written, series.last_written, series.tries = count, self._now(), 0
        if series.count == count:
            self._pending.pop(told, None)

    def _give_up(self, told: Told, series: _Series, count: int, *, at_least: float = 0.0) -> None:
        """An event is worth a few tries, a minute apart, and no more."""
        series.tries += 1
        series.not_before = self._now() + max(WRITE_SECONDS, at_least)
        if series.tries >= TRIES:
            self.dropped += max(count - series.written, 0)
            self._written(told, series, count)

    async def _create(self, told: Told, count: int) -> Name:
        regarding = told.regarding
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        name = Name(regarding.namespace or "default", f"{regarding.name}.{self._chance.getrandbits(64):016x}")
        event = Event(
            metadata=Meta(name=name.name, namespace=name.namespace),
            event_time=now,
            series=EventSeries(count, now) if count > 1 else None,
            reporting_controller=self._controller,
            reporting_instance=self._instance,
            action=told.action,
            reason=told.reason,
            regarding=regarding,
            note=told.note,
            type=told.type,
        )
        await self._api.create(EVENTS, event)
        return name

    async def _repeat(self, name: Name, count: int) -> None:
        series = {"count": count, "lastObservedTime": self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        await self._api.patch(EVENTS, name, {"series": series}, version=None)

    def _allowed(self, uid: str, now: float) -> bool:
        budget = self._budgets.pop(uid, None) or _Budget(BURST, now)
        self._budgets[uid] = budget  # at the end, as with series
        budget.left = min(budget.left + (now - budget.at) / REFILL_SECONDS, BURST)
        budget.at = now
        if budget.left < 1:
            return False
        budget.left -= 1
        return True

    def _forget(self, now: float) -> None:
        """Series that have ended; and, to stay small, the oldest series and the budgets that were used longest ago."""
        while self._series:
            told, oldest = next(iter(self._series.items()))
            if oldest.last_told + SERIES_SECONDS > now and len(self._series) < MOST:
                break
            del self._series[told]
        while len(self._budgets) >= MOST:
            del self._budgets[next(iter(self._budgets))]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _cut(note: str) -> str:
    """As much of a note as an event can have, and no half of a character."""
    return note.encode()[:LONGEST_NOTE].decode(errors="ignore")
