"""The one place where a simulated process meets the outside, and where everything goes wrong that can.

Every request, every opened stream and every event on a stream is a point with a number. `World.point` says at each what
happens there; this module makes it happen.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol

import msgspec

from mooring.model.gateway import Held, State
from mooring.wire.http import NO_HEADERS, NoAnswer, NotSent, Request, Response, Stream
from tests.simulation.faults import EVENTS, GATEWAY_DEATHS, INITIAL_EVENTS, STALE, STATUS, Fault
from tests.simulation.process import Process

LONG = 4.0
"""A delay after which an answer still comes in time."""
PAUSE = 40.0
"""Longer than any lease."""
END = b"k8s.io/initial-events-end"
STATES = {HTTPStatus.OK, HTTPStatus.CONFLICT}
WRONG = b'{"items": 7, "metadata": "none"}'
WRONG_EVENT = b'{"type": "MODIFIED", "object": 7}\n'


class Server(Protocol):
    """A twin, as the seam sees it."""

    name: str

    def possible(self, request: Request) -> tuple[Fault, ...]:
        """What can happen to a request."""

    def handle(self, process: Process, request: Request) -> Response: ...

    def handle_stale(self, request: Request, back: int) -> Response: ...

    def open(self, request: Request) -> Stream: ...

    def disturb(self, fault: Fault) -> None:
        """Something happens on the server's side: it forgets its history, or dies in the next request."""


class Surroundings(Protocol):
    """What the world gives to a seam."""

    def point(self, process: Process, server: str, request: Request, possible: tuple[Fault, ...]) -> Fault | None: ...

    def outcome(self, process: Process, server: str, *, answered: bool, since: float) -> None: ...

    def obeyed(self, process: Process, server: str, *, obeyed: bool, since: float) -> None: ...

    def latency(self) -> float: ...

    def answers_late(self) -> bool: ...

    def crash(self, process: Process, *, lag: int = 0) -> None: ...

    def expire(self, server: str) -> None: ...

    def expired(self, server: str) -> bool: ...

    def pause(self, process: Process, seconds: float) -> None: ...

    def wake(self) -> None: ...


class Seam:
    """A transport from one process to one server."""

    def __init__(self, world: Surroundings, process: Process, server: Server) -> None:
        self._world = world
        self._process = process
        self._server = server

    async def send(self, request: Request) -> Response:
        fault = self.point(request, self._server.possible(request))
        if fault is not None:
            return await self._faulty(request, fault)
        await self._travel()
        self._check_certificate()
        response = self._carry_out(request)
        if self._world.answers_late():
            await self._travel()
        return response

    async def open(self, request: Request) -> Stream:
        fault = self.point(request, self._server.possible(request))
        if fault is Fault.NOT_SENT:
            raise NotSent("simulated")
        if fault is Fault.TIMEOUT_BEFORE:
            await asyncio.sleep(request.seconds)
            raise NoAnswer("simulated")
        await self._stumble(fault)
        self._check_certificate()
        if fault in STATUS:
            return Refused(STATUS[fault])
        behind = asyncio.get_running_loop().time() < self._process.lags_until
        lag = self._process.lag if behind else 0 if fault is None else STALE.get(fault, 0)
        stream = SimulatedStream(self, request, self._server.open(request), lag=lag)
        if fault is Fault.CRASH_AFTER:
            await self.die()
        if fault is Fault.PAUSE_AFTER:
            await self.pause()
        return stream

    def point(self, request: Request, possible: tuple[Fault, ...]) -> Fault | None:
        self.check()
        return self._world.point(self._process, self._server.name, request, possible)

    def check(self) -> None:
        """A dead process's code may still run, in its `finally` blocks; nothing of it gets through."""
        if not self._process.alive:
            raise asyncio.CancelledError

    async def _travel(self) -> None:
        await asyncio.sleep(self._world.latency())
        self.check()

    async def latency(self) -> None:
        await self._travel()

    async def die(self, *, lag: int = 0) -> None:
        self._world.crash(self._process, lag=lag)
        raise asyncio.CancelledError

    def _check_certificate(self) -> None:
        if self._world.expired(self._server.name):
            raise NotSent("simulated: the certificate has expired")

    async def pause(self) -> None:
        """Stop the process; what this task does next is done after that."""
        self._world.pause(self._process, PAUSE)
        await self._travel()

    def disturb(self, fault: Fault) -> None:
        self._server.disturb(fault)

    def _carry_out(self, request: Request) -> Response:
        try:
            return self._server.handle(self._process, request)
        except ConnectionResetError as error:
            raise NoAnswer("connection reset") from error

    def _come_late(self, request: Request, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._carry_out_late, request)

    def _carry_out_late(self, request: Request) -> None:
        """Nobody waits for the answer any more, nor for the news that the server was not there."""
        with contextlib.suppress(NotSent, NoAnswer):
            self._carry_out(request)

    async def _stumble(self, fault: Fault | None) -> None:
        """What may happen before a request leaves."""
        if fault is Fault.CRASH_BEFORE:
            await self.die()
        if fault is Fault.CRASH_STALE:
            await self.die(lag=max(STALE.values()))
        if fault is Fault.EXPIRED:
            self._world.expire(self._server.name)
        if fault is Fault.PAUSE:
            self._world.pause(self._process, PAUSE)
        if fault is Fault.WAKE:
            self._world.wake()
        await asyncio.sleep(LONG if fault is Fault.DELAY else self._world.latency())
        self.check()

    async def _faulty(self, request: Request, fault: Fault) -> Response:
        await self._stumble(fault)
        self._check_certificate()
        match fault:
            case Fault.NOT_SENT:
                raise NotSent("simulated")
            case Fault.TIMEOUT_BEFORE | Fault.LATE:
                if fault is Fault.LATE:
                    self._come_late(request, request.seconds + LONG)
                await asyncio.sleep(request.seconds)
                raise NoAnswer("simulated")
            case Fault.NO_ANSWER_BEHIND if request.writes:
                self._come_late(request, LONG)
                return Response(STATUS[fault])
            case _ if fault in STATUS:
                return Response(STATUS[fault], {"retry-after": "1"} if fault is Fault.TOO_MANY else NO_HEADERS)
            case _ if fault in STALE:
                return self._server.handle_stale(request, STALE[fault])
            case _ if fault in GATEWAY_DEATHS:
                self._server.disturb(fault)
        return await self._answered(request, fault, self._carry_out(request))

    async def _answered(self, request: Request, fault: Fault, response: Response) -> Response:
        """The request was carried out; what becomes of the answer?"""
        match fault:
            case Fault.CRASH_AFTER:
                await self.die()
            case Fault.PAUSE_AFTER:
                await self.pause()
            case Fault.TIMEOUT_AFTER:
                await asyncio.sleep(request.seconds)
                raise NoAnswer("simulated")
            case Fault.RESET:
                raise NoAnswer("simulated: connection reset")
            case Fault.ERROR_AFTER:
                return Response(HTTPStatus.INTERNAL_SERVER_ERROR)
            case Fault.CUT:
                return Response(response.status, response.headers, response.body[: len(response.body) // 2])
            case Fault.WRONG:
                return Response(response.status, response.headers, WRONG)
            case Fault.TWICE:
                self._carry_out(request)
        await self._travel()
        return response


class GatewaySeam(Seam):
    """The same to a gateway. The world keeps account of who gets answers from whom, because that is what live means."""

    def __init__(self, world: Surroundings, process: Process, server: Server) -> None:
        super().__init__(world, process, server)
        self._held: Held | None = None

    async def send(self, request: Request) -> Response:
        """Who takes a document and says nothing is no less live for it, and has not done what it was told."""
        told = request.method in {"PUT", "PATCH"}
        begin = asyncio.get_running_loop().time()
        state, sent, silent = None, False, True
        try:
            response = await super().send(request)
            sent, state = True, _state(response)
            silent = state is None and response.status in STATES
        except NoAnswer:
            sent = True
            raise
        finally:
            refused = told and sent and state is None
            self._outcome(begin, answered=state is not None or (refused and not silent), failed=not refused)
            if refused or (state is not None and (told or state.held != self._held)):
                self._world.obeyed(self._process, self._server.name, obeyed=not refused, since=begin)
            self._held = state.held if state is not None else self._held
        return response

    def _outcome(self, begin: float, *, answered: bool, failed: bool) -> None:
        if answered or failed:
            self._world.outcome(self._process, self._server.name, answered=answered, since=begin)


def _state(response: Response) -> State | None:
    """What a gateway says that it holds, if it can be read."""
    if response.status not in STATES:
        return None
    try:
        return msgspec.json.decode(response.body, type=State, strict=True)
    except msgspec.DecodeError:
        return None


class Refused:
    """A stream that the server did not open."""

    headers: Mapping[str, str] = NO_HEADERS

    def __init__(self, status: int) -> None:
        self.status = status

    async def read(self) -> bytes:
        return b""

    async def close(self) -> None:
        pass


class SimulatedStream:
    """A watch on which each event is a point of its own.

    One that lags is so many events behind until PAUSE seconds after it was opened; then it catches up. The objects that
    come first on a watch-list are a consistent read, and do not lag.
    """

    def __init__(self, seam: Seam, request: Request, inner: Stream, *, lag: int = 0) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self._seam = seam
        self._event = msgspec.structs.replace(request, what="event " + request.what.removeprefix("watch "))
        self._inner = inner
        self._lines: deque[bytes] = deque()
        self._broken = False
        self._initial = ("sendInitialEvents", "true") in request.query
        self._lag = lag
        self._lags_until = asyncio.get_running_loop().time() + PAUSE
        self._held_back: deque[bytes] = deque()
        self._listing = self._initial

    async def read(self) -> bytes:
        if self._broken:
            raise NoAnswer("simulated")
        await self._fill()
        if not self._lines:
            return b""
        await self._seam.latency()
        fault = self._seam.point(self._event, INITIAL_EVENTS if self._initial else EVENTS)
        line = self._lines.popleft()
        self._initial = self._initial and END not in line
        return line if fault is None else await self._faulty(line, fault)

    async def close(self) -> None:
        await self._inner.close()

    async def _fill(self) -> None:
        if not self._lines:
            await self._fill_behind()
        if not self._lines:
            self._lines.extend((await self._inner.read()).splitlines(keepends=True))
            self._seam.check()

    async def _fill_behind(self) -> None:
        """While it lags: take in lines until one has enough others behind it. Then it catches up."""
        while self._lag and not self._lines:
            try:
                async with asyncio.timeout_at(self._lags_until):
                    piece = await self._inner.read()
            except TimeoutError:
                piece = b""
            self._seam.check()
            for line in piece.splitlines(keepends=True):
                (self._lines if self._listing else self._held_back).append(line)
                self._listing = self._listing and END not in line
            if not piece:
                self._lag = 0
            while len(self._held_back) > self._lag:
                self._lines.append(self._held_back.popleft())

    async def _faulty(self, line: bytes, fault: Fault) -> bytes:
        match fault:
            case Fault.CRASH_BEFORE:
                await self._seam.die()
            case Fault.PAUSE:
                await self._seam.pause()
            case Fault.EVENT_LOST:
                return await self.read()
            case Fault.EVENT_TWICE:
                self._lines.appendleft(line)
            case Fault.EVENT_LATE:
                await asyncio.sleep(PAUSE)
            case Fault.EVENT_WRONG:
                return WRONG_EVENT
            case Fault.EVENT_SWAPPED:
                await self._fill()
                return (self._lines.popleft() if self._lines else b"") + line
            case Fault.STREAM_CUT:
                self._broken = True
                return line[: len(line) // 2]
            case Fault.STREAM_GONE:
                self._seam.disturb(fault)
                raise NoAnswer("simulated")
        return line
