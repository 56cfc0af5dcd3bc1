"""Limits that a server sets are kept, and every call is counted. On virtual time: waiting costs nothing."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import prometheus_client
import pytest

from mooring.wire import patient
from mooring.wire.calls import CountedCalls, MeteredCalls
from mooring.wire.http import NO_HEADERS, NoAnswer, NotSent, Request, Response, Stream
from mooring.wire.patient import PatientSender, PatientTransport
from tests.simulation.loop import run_virtually

READ = Request("get things", "GET", "/things")
WRITE = Request("create things", "POST", "/things")


class Server:
    """Answers in order; the last answer is repeated. Remembers when it was asked, and how many at a time."""

    def __init__(self, *answers: Response | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[float] = []
        self.at_once = 0
        self.most_at_once = 0

    async def send(self, request: Request) -> Response:  # noqa: ARG002 - it answers all alike
        self.asked.append(asyncio.get_running_loop().time())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.5)
        self.at_once -= 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def open(self, request: Request) -> Stream:
        raise NotSent(request.path)


class Opened:
    """The head of an answer, and whether somebody closed it."""

    def __init__(self, status: int, headers: Mapping[str, str] = NO_HEADERS) -> None:
        self.status = status
        self.headers = headers
        self.closed_at: float | None = None

    async def read(self) -> bytes:
        return b""

    async def close(self) -> None:
        self.closed_at = asyncio.get_running_loop().time()


class Streams(Server):
    """Opens these streams in order; remembers when it was asked."""

    def __init__(self, *streams: Opened) -> None:
        super().__init__(Response(200))
        self._streams = list(streams)

    async def open(self, request: Request) -> Stream:  # noqa: ARG002 - it answers all alike
        self.asked.append(asyncio.get_running_loop().time())
        return self._streams.pop(0)


def opened(server: Server, *, patience: float = 60.0) -> Stream:
    return run_virtually(PatientTransport(server, CountedCalls(), patience=patience).open(READ))


def sent(server: Server, request: Request, *, patience: float = 60.0) -> Response:
    return run_virtually(PatientSender(server, CountedCalls(), patience=patience).send(request))


@pytest.mark.parametrize("request_", [READ, WRITE])
def test_a_refusal_for_now_is_repeated_when_the_server_says(request_: Request) -> None:
    server = Server(Response(429, {"retry-after": "7"}), Response(200))
    assert sent(server, request_).status == 200
    assert server.asked == [0.0, 7.5]


def test_without_a_word_from_the_server_the_pause_grows() -> None:
    server = Server(*[Response(429)] * 4, Response(200))
    assert sent(server, READ).status == 200
    assert [round(after - before, 1) for before, after in zip(server.asked, server.asked[1:], strict=False)] == [
        1.5,
        2.5,
        4.5,
        8.5,
    ]


def test_patience_ends_and_the_refusal_is_handed_on() -> None:
    server = Server(Response(429, {"retry-after": "20"}))
    assert sent(server, READ, patience=30.0).status == 429
    assert len(server.asked) == 2


def test_the_servers_pause_is_never_cut_short() -> None:
    server = Server(Response(429, {"retry-after": "45"}), Response(200))
    assert sent(server, READ).status == 200
    assert server.asked == [0.0, 45.5]


def test_a_pause_longer_than_patience_is_handed_on_at_once() -> None:
    server = Server(Response(429, {"retry-after": "70"}), Response(200))
    assert sent(server, READ).headers["retry-after"] == "70"
    assert server.asked == [0.0]


@pytest.mark.parametrize("status", [429, 503])
def test_a_stream_is_opened_again_when_the_server_says(status: int) -> None:
    refused, last = Opened(status, {"retry-after": "40"}), Opened(200)
    server = Streams(refused, last)
    assert opened(server) is last
    assert server.asked == [0.0, 40.0]
    assert refused.closed_at == 0.0
    assert last.closed_at is None


@pytest.mark.parametrize(
    "refused", [Opened(429, {"retry-after": "70"}), Opened(503), Opened(500, {"retry-after": "1"}), Opened(410)]
)
def test_a_stream_that_stays_refused_is_handed_on_unread(refused: Opened) -> None:
    assert opened(Streams(refused)) is refused
    assert refused.closed_at is None


def test_a_server_in_trouble_is_asked_again_only_for_what_changes_nothing() -> None:
    trouble = Response(503, {"retry-after": "1"})
    assert sent(Server(trouble, Response(200)), READ).status == 200
    assert sent(Server(trouble, Response(200)), WRITE).status == 503
    assert sent(Server(Response(503), Response(200)), READ).status == 503


def test_a_date_is_a_pause_too() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=90)
    pause = patient.retry_after(Response(429, {"retry-after": format_datetime(soon, usegmt=True)}))
    assert pause is not None
    assert 80 < pause <= 90


@pytest.mark.parametrize("text", ["", "soon", "1 2 3", "inf", "nan"])
def test_an_unreadable_pause_is_none(text: str) -> None:
    assert patient.retry_after(Response(429, {"retry-after": text})) is None


def test_no_more_calls_in_flight_than_allowed() -> None:
    server = Server(Response(200))

    async def many() -> None:
        sender = PatientSender(server, CountedCalls(), in_flight=3)
        await asyncio.gather(*(sender.send(READ) for _ in range(10)))

    run_virtually(many())
    assert server.most_at_once == 3
    assert len(server.asked) == 10


def test_who_waits_for_the_server_keeps_nobody_from_asking() -> None:
    server = Server(Response(429, {"retry-after": "20"}), Response(200))

    async def two() -> list[float]:
        sender = PatientSender(server, CountedCalls(), in_flight=1)
        await asyncio.gather(sender.send(READ), sender.send(READ))
        return server.asked

    assert run_virtually(two()) == [0.0, 0.5, 20.5]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda: Response(404), "404"),
        (lambda: NotSent("refused"), "not sent"),
        (lambda: NoAnswer("cut"), "no answer"),
    ],
)
def test_every_call_is_counted_by_how_it_ended(answer: Callable[[], Response | Exception], outcome: str) -> None:
    calls = CountedCalls()

    async def ask() -> None:
        with contextlib.suppress(NotSent, NoAnswer):
            await PatientSender(Server(answer()), calls).send(READ)

    run_virtually(ask())
    assert calls.by_outcome == {("get things", outcome): 1}


def test_an_opened_stream_is_counted_too() -> None:
    calls = CountedCalls()

    async def open_one() -> None:
        with pytest.raises(NotSent):
            await PatientTransport(Server(Response(200)), calls).open(READ)

    run_virtually(open_one())
    assert calls.by_outcome == {("get things", "not sent"): 1}


def test_a_call_that_was_given_up_is_counted() -> None:
    calls = CountedCalls()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await PatientSender(Server(Response(200)), calls).send(READ)

    run_virtually(give_up())
    assert calls.by_outcome == {("get things", "cancelled"): 1}
    assert calls.total == 1


def test_metrics_have_kind_outcome_and_time() -> None:
    registry = prometheus_client.CollectorRegistry()
    run_virtually(PatientSender(Server(Response(200)), MeteredCalls("cloud", registry)).send(WRITE))
    labels = {"call": "create things", "outcome": "200"}
    assert registry.get_sample_value("mooring_cloud_calls_total", labels) == 1.0
    assert registry.get_sample_value("mooring_cloud_call_seconds_sum", {"call": "create things"}) == 0.5
