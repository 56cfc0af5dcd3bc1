"""An event loop whose time is a number. When nobody has anything to do, the clock jumps to the next timer.

Callbacks run in the order in which they were asked for, timers by their time, so a run is the same every time.
Processes are told apart by a context variable that their tasks inherit; one that is paused gets nothing done until it
is resumed, as if it had been sent SIGSTOP.
"""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar, TypeVarTuple, Unpack

from tests.simulation.process import Process

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

Context = contextvars.Context
Spawned = Generator[Any, None, T] | Coroutine[Any, Any, T]

PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


class Callback(asyncio.TimerHandle):
    """Something to be called, now or at a time. As little of a handle as is needed: most of a run is spent on these."""

    def __init__(self, when: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context) -> None:
        self._when = when
        self._callback: Callable[..., object] | None = callback
        self._args: tuple[Any, ...] = args
        self._context = context
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self._callback = None
        self._args = ()


class VirtualLoop(asyncio.AbstractEventLoop):
    """As much of an event loop as code needs that touches no socket, file or thread."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ready: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Callback]] = []
        self._order = itertools.count()
        self._paused: dict[Process | None, list[Callback]] = {}
        self._ends: dict[Process | None, asyncio.TimerHandle] = {}
        self.failures: list[dict[str, Any]] = []
        self.ends_with: Exception | None = None
        """Ends the run with this, whoever is at work."""

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = Callback(self._now, callback, args, contextvars.copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = Callback(when, callback, args, contextvars.copy_context() if context is None else context)
        heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Spawned[T], *, name: str | None = None, context: Context | None = None, **_: object
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        owner = PROCESS.get()
        if owner is not None:
            owner.adopt(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(context)

    @property
    def paused(self) -> tuple[Process | None, ...]:
        return tuple(self._paused)

    def pause(self, process: Process, seconds: float) -> None:
        """Let nothing of a process run for a while; what was to run meanwhile runs then."""
        self._paused.setdefault(process, [])
        outside = contextvars.Context()  # the timer that ends a pause is nobody's
        self._ends[process] = self.call_later(seconds, self.resume, process, context=outside)

    def resume(self, process: Process | None) -> None:
        """End a pause, also before its time."""
        self._ends.pop(process).cancel()
        self._ready.extend(self._paused.pop(process))

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run until this is done. A loop with nothing left to do is a deadlock, and an error."""
        asyncio._set_running_loop(self)  # noqa: SLF001 - what every event loop calls; there is no other way
        try:
            task = self.create_task(main)
            while not task.done():
                self._step()
                if self.ends_with is not None:
                    raise self.ends_with
            return task.result()
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    def drain(self) -> None:
        """Let what is ready run to its end, without any time passing."""
        for process in list(self._paused):
            self.resume(process)
        asyncio._set_running_loop(self)  # noqa: SLF001
        try:
            while self._ready:
                self._step()
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    def _step(self) -> None:
        ready = self._ready
        while not ready:
            when, _, timer = heapq.heappop(self._timers)
            if not timer._cancelled:  # noqa: SLF001 - our own class; a method call would cost as much as the rest
                self._now = max(self._now, when)
                ready.append(timer)
        handle = ready.popleft()
        if handle._cancelled:  # noqa: SLF001
            return
        if self._paused and self._held_back(handle):
            return
        try:
            handle._context.run(handle._callback, *handle._args)  # type: ignore[arg-type]  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - whatever a callback does wrong is told at the end of the run
            self.call_exception_handler({"message": str(error), "exception": error})

    def _held_back(self, handle: Callback) -> bool:
        """Whether this belongs to a process that is paused; it is kept for later then."""
        waiting = self._paused.get(handle._context.get(PROCESS))  # noqa: SLF001
        if waiting is None:
            return False
        waiting.append(handle)
        return True


def new_loop() -> VirtualLoop:
    """The methods that it lacks are those that touch sockets, files, signals, threads and processes."""
    return VirtualLoop()  # type: ignore[abstract]


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run something on a loop of its own, where waiting costs nothing."""
    loop = new_loop()
    try:
        return loop.run(main)
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.drain()
