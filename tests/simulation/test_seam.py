"""Each fault does what it says: what is carried out, and what the caller learns of it."""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping

import pytest

from mooring.core import roster
from mooring.wire.http import NO_HEADERS, NoAnswer, NotSent, Request, Response, Stream
from tests.simulation.faults import CRASHES, EVENTS, OPENS, PAUSES, REFUSALS, STALE, STATUS, WRITES, Fault
from tests.simulation.gateway import GatewayTwin
from tests.simulation.loop import run_virtually
from tests.simulation.process import Process
from tests.simulation.seam import PAUSE, Seam, SimulatedStream
from tests.simulation.servers import AWAY, GatewayServer

WATCH = Request("watch things", "GET", "/things")
WRITE = Request("create things", "POST", "/things", seconds=10.0)


class Lines:
    """A stream of numbered lines that never ends."""

    status = 200
    headers: Mapping[str, str] = NO_HEADERS

    def __init__(self) -> None:
        self._lines = deque(b"line %d\n" % number for number in range(1, 9))

    async def read(self) -> bytes:
        return self._lines.popleft()

    async def close(self) -> None:
        self._lines.clear()


class Server:
    """Counts what it carries out."""

    name = "server"

    def __init__(self, stream: Callable[[], Stream] = Lines) -> None:
        self._stream = stream
        self.done = 0
        self.stale = 0
        self.disturbed: list[Fault] = []

    def possible(self, request: Request) -> tuple[Fault, ...]:  # noqa: ARG002 - all alike
        return tuple(Fault)

    def handle(self, process: Process, request: Request) -> Response:  # noqa: ARG002 - all alike
        self.done += 1
        return Response(201, body=b'{"made": true}')

    def handle_stale(self, request: Request, back: int) -> Response:  # noqa: ARG002 - all alike
        self.stale = back
        return Response(200, body=b"{}")

    def open(self, request: Request) -> Stream:  # noqa: ARG002 - all alike
        return self._stream()

    def disturb(self, fault: Fault) -> None:
        self.disturbed.append(fault)


class Around:
    """A world with one fault in it, at the first point that is met."""

    def __init__(self, fault: Fault | None) -> None:
        self._fault = fault
        self.crashed = False
        self.lag = 0
        self.without_certificate = ""
        self.points: list[str] = []
        self.paused = 0.0

    def point(self, process: Process, server: str, request: Request, possible: tuple[Fault, ...]) -> Fault | None:  # noqa: ARG002
        self.points.append(request.what)
        fault, self._fault = self._fault, None
        return fault

    def outcome(self, process: Process, server: str, *, answered: bool, since: float) -> None: ...

    def obeyed(self, process: Process, server: str, *, obeyed: bool, since: float) -> None: ...

    def latency(self) -> float:
        return 0.01

    def answers_late(self) -> bool:
        return True

    def crash(self, process: Process, *, lag: int = 0) -> None:
        self.crashed, self.lag = True, lag
        process.kill()

    def expire(self, server: str) -> None:
        self.without_certificate = server

    def expired(self, server: str) -> bool:
        return self.without_certificate == server

    def pause(self, process: Process, seconds: float) -> None:  # noqa: ARG002 - there is one
        self.paused = seconds

    def wake(self) -> None:
        self.paused = 0.0


class Scene:
    def __init__(self, fault: Fault | None) -> None:
        self.world = Around(fault)
        self.server = Server()
        self.process = Process("p")
        self.seam = Seam(self.world, self.process, self.server)

    async def sent(self) -> Response | str:
        """The answer, or the name of what was raised."""
        try:
            return await self.seam.send(WRITE)
        except (NotSent, NoAnswer, asyncio.CancelledError) as error:
            return type(error).__name__


def outcome(fault: Fault | None) -> tuple[Response | str, Scene]:
    async def scene() -> tuple[Response | str, Scene]:
        it = Scene(fault)
        return await it.sent(), it

    return run_virtually(scene())


WHOLE = Response(201, body=b'{"made": true}')


@pytest.mark.parametrize(
    ("fault", "answer", "done"),
    [
        (None, WHOLE, 1),
        (Fault.CRASH_BEFORE, "CancelledError", 0),
        (Fault.CRASH_AFTER, "CancelledError", 1),
        (Fault.CRASH_STALE, "CancelledError", 0),
        (Fault.PAUSE, WHOLE, 1),
        (Fault.PAUSE_AFTER, WHOLE, 1),
        (Fault.NOT_SENT, "NotSent", 0),
        (Fault.EXPIRED, "NotSent", 0),
        (Fault.TIMEOUT_BEFORE, "NoAnswer", 0),
        (Fault.TIMEOUT_AFTER, "NoAnswer", 1),
        (Fault.RESET, "NoAnswer", 1),
        (Fault.LATE, "NoAnswer", 0),
        (Fault.ERROR_AFTER, Response(500), 1),
        (Fault.CUT, Response(201, body=b'{"made"'), 1),
        (Fault.TWICE, WHOLE, 2),
        (Fault.DELAY, WHOLE, 1),
    ],
)
def test_what_is_done_and_what_is_learnt(fault: Fault | None, answer: Response | str, done: int) -> None:
    found, scene = outcome(fault)
    assert found == answer
    assert scene.server.done == done
    assert scene.world.crashed is (fault in {*CRASHES, Fault.CRASH_STALE})
    assert scene.world.lag == (5 if fault is Fault.CRASH_STALE else 0)
    assert scene.world.paused == (PAUSE if fault in PAUSES else 0.0)


def test_nobody_gets_through_while_a_certificate_has_run_out() -> None:
    async def scene() -> tuple[list[Response | str], int]:
        it = Scene(Fault.EXPIRED)
        answers = [await it.sent(), await it.sent()]
        it.world.without_certificate = ""
        return [*answers, await it.sent()], it.server.done

    assert run_virtually(scene()) == (["NotSent", "NotSent", WHOLE], 1)


def test_the_watches_of_who_was_started_on_a_server_that_lags_lag() -> None:
    async def scene() -> tuple[float, float]:
        found = []
        for process in (Process("p"), Process("p", lag=1, lags_until=9.0)):
            seam = Seam(Around(None), process, Server(Slow))
            stream = await seam.open(WATCH)
            begin = asyncio.get_running_loop().time()
            await stream.read()
            found.append(round(asyncio.get_running_loop().time() - begin))
        return found[0], found[1]

    assert run_virtually(scene()) == (1, 2)


@pytest.mark.parametrize(("fault", "status"), STATUS.items())
def test_a_refusal_changes_nothing(fault: Fault, status: int) -> None:
    found, scene = outcome(fault)
    assert isinstance(found, Response)
    assert found.status == status
    assert scene.server.done == 0


@pytest.mark.parametrize(("fault", "back"), STALE.items())
def test_a_stale_answer(fault: Fault, back: int) -> None:
    _, scene = outcome(fault)
    assert scene.server.stale == back
    assert scene.server.done == 0


def test_what_is_wrong_with_a_wrong_answer() -> None:
    found, scene = outcome(Fault.WRONG)
    assert isinstance(found, Response)
    assert found.body != WHOLE.body
    assert scene.server.done == 1


@pytest.mark.parametrize("fault", [Fault.LATE, Fault.NO_ANSWER_BEHIND])
def test_a_late_request_is_carried_out_after_the_caller_gave_up(fault: Fault) -> None:
    async def scene() -> tuple[int, int]:
        it = Scene(fault)
        await it.sent()
        before = it.server.done
        await asyncio.sleep(60.0)
        return before, it.server.done

    assert run_virtually(scene()) == (0, 1)


def test_a_dead_process_reaches_nothing_any_more() -> None:
    async def scene() -> tuple[Response | str, int]:
        it = Scene(None)
        it.process.kill()
        return await it.sent(), it.server.done

    assert run_virtually(scene()) == ("CancelledError", 0)


def test_every_fault_of_a_write_is_in_the_tables_above() -> None:
    plain = {
        *CRASHES,
        Fault.CRASH_STALE,
        *PAUSES,
        Fault.NOT_SENT,
        Fault.EXPIRED,
        Fault.TIMEOUT_BEFORE,
        Fault.TIMEOUT_AFTER,
        Fault.RESET,
        Fault.LATE,
        Fault.ERROR_AFTER,
        Fault.CUT,
        Fault.WRONG,
        Fault.TWICE,
        Fault.DELAY,
    }
    assert plain | set(REFUSALS) == set(WRITES)


@pytest.mark.parametrize(
    ("fault", "lines"),
    [
        (None, [b"line 1\n", b"line 2\n"]),
        (Fault.EVENT_LOST, [b"line 2\n", b"line 3\n"]),
        (Fault.EVENT_TWICE, [b"line 1\n", b"line 1\n"]),
        (Fault.EVENT_SWAPPED, [b"line 2\nline 1\n", b"line 3\n"]),
        (Fault.EVENT_LATE, [b"line 1\n", b"line 2\n"]),
        (Fault.EVENT_WRONG, [b'{"type": "MODIFIED", "object": 7}\n', b"line 2\n"]),
        (Fault.STREAM_CUT, [b"lin", "NoAnswer"]),
        (Fault.STREAM_GONE, ["NoAnswer", b"line 2\n"]),
        (Fault.CRASH_BEFORE, ["CancelledError", "CancelledError"]),
        (Fault.PAUSE, [b"line 1\n", b"line 2\n"]),
    ],
)
def test_what_becomes_of_an_event(fault: Fault | None, lines: list[bytes | str]) -> None:
    async def scene() -> list[bytes | str]:
        it = Scene(fault)
        stream = SimulatedStream(it.seam, WRITE, Lines())
        found: list[bytes | str] = []
        for _ in range(2):
            try:
                found.append(await stream.read())
            except (NoAnswer, asyncio.CancelledError) as error:
                found.append(type(error).__name__)
        assert it.server.disturbed == ([Fault.STREAM_GONE] if fault is Fault.STREAM_GONE else [])
        return found

    assert run_virtually(scene()) == lines


def test_every_fault_of_an_event_is_in_the_table_above() -> None:
    assert len(EVENTS) == 9


class Slow:
    """A line each second; three of them, then nothing for ever."""

    status = 200
    headers: Mapping[str, str] = NO_HEADERS

    def __init__(self) -> None:
        self._left = 3

    async def read(self) -> bytes:
        await asyncio.sleep(1.0 if self._left else 10_000.0)
        self._left -= 1
        return b"line %d\n" % (3 - self._left)

    async def close(self) -> None: ...


@pytest.mark.parametrize(("lag", "times"), [(0, [1, 2, 3]), (1, [2, 3, 40]), (2, [3, 40, 40]), (5, [40, 40, 40])])
def test_a_watch_that_lags_shows_a_line_when_others_are_behind_it_or_when_it_catches_up(
    lag: int, times: list[int]
) -> None:
    async def scene() -> list[tuple[int, bytes]]:
        stream = SimulatedStream(Scene(None).seam, WATCH, Slow(), lag=lag)
        found = []
        for _ in range(3):
            line = await stream.read()
            found.append((int(asyncio.get_running_loop().time()), line))
        return found

    assert run_virtually(scene()) == list(zip(times, (b"line 1\n", b"line 2\n", b"line 3\n"), strict=True))


@pytest.mark.parametrize("fault", STALE)
def test_a_watch_can_be_opened_that_lags(fault: Fault) -> None:
    async def scene() -> bytes:
        stream = await Scene(fault).seam.open(WATCH)
        return await stream.read()

    assert fault in OPENS
    assert run_virtually(scene()) == b"line 1\n"


def test_an_event_is_told_apart_from_a_request() -> None:
    async def scene() -> list[str]:
        it = Scene(None)
        stream = await it.seam.open(WATCH)
        await stream.read()
        return it.world.points

    assert run_virtually(scene()) == ["watch things", "event things"]


def test_a_gateway_that_is_away_stays_away_longer_than_one_that_crashed() -> None:
    async def is_back(fault: Fault, seconds: float) -> bool:
        twin = GatewayTwin("g1", random.Random(1))  # noqa: S311 - it has to be repeatable
        server = GatewayServer(twin, lambda _process, _name, _request, act: act())
        server.disturb(fault)
        with pytest.raises(ConnectionResetError):
            server.handle(Process("p"), Request("get state", "GET", "/v1/state"))
        await asyncio.sleep(seconds)
        return twin.up

    assert run_virtually(is_back(Fault.GATEWAY_CRASH, roster.GRACE))
    assert not run_virtually(is_back(Fault.GATEWAY_AWAY, 10 * roster.GRACE))
    assert run_virtually(is_back(Fault.GATEWAY_AWAY, AWAY + 1.0))
