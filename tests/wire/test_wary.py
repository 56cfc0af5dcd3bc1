"""Who has stopped answering holds up the first who asks, and then nobody. On virtual time: waiting costs nothing."""

import asyncio

import pytest

from mooring.wire import wary
from mooring.wire.http import NoAnswer, NotSent, Request, Response
from mooring.wire.wary import WarySender
from tests.simulation.loop import run_virtually

READ = Request("get things", "GET", "/things", seconds=30.0)
WRITE = Request("create things", "POST", "/things", seconds=30.0)
QUESTION = Request("list doors", "GET", "/doors", seconds=5.0)


class Server:
    """Answers at once, hangs until the request's time is over, or fails at once."""

    def __init__(self) -> None:
        self.hangs = False
        self.fails: Exception | None = None
        self.asked: list[str] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request.what)
        if self.hangs:
            await asyncio.sleep(request.seconds)
            raise NoAnswer(f"no answer within {request.seconds:g} s")
        if self.fails:
            raise self.fails
        return Response(200)


async def took(sender: WarySender, request: Request) -> tuple[float, str]:
    """How long it took, and what came of it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        outcome = str((await sender.send(request)).status)
    except (NotSent, NoAnswer) as error:
        outcome = type(error).__name__
    return loop.time() - began, outcome


def test_only_the_first_waits_for_who_hangs() -> None:
    server = Server()

    async def scene() -> None:
        sender = WarySender(server, QUESTION)
        server.hangs = True
        assert await took(sender, WRITE) == (30.0, "NoAnswer")
        assert await took(sender, READ) == (5.0, "NotSent"), "the question went before it"
        for each in (READ, WRITE):
            assert await took(sender, each) == (0.0, "NotSent")
        await asyncio.sleep(wary.PAUSE)
        assert await took(sender, WRITE) == (5.0, "NotSent")
        assert server.asked == ["create things", "list doors", "list doors"]

    run_virtually(scene())


def test_who_answers_again_is_sent_everything_again() -> None:
    server = Server()

    async def scene() -> None:
        sender = WarySender(server, QUESTION)
        server.hangs = True
        await took(sender, READ)
        server.hangs = False
        assert await took(sender, WRITE) == (0.0, "200"), "one that was late is asked at once"
        assert await took(sender, READ) == (0.0, "200")
        assert server.asked == ["get things", "list doors", "create things", "get things"]

    run_virtually(scene())


def test_all_who_wait_wait_for_one_question() -> None:
    server = Server()

    async def scene() -> None:
        sender = WarySender(server, QUESTION)
        server.hangs = True
        await took(sender, READ)
        assert await asyncio.gather(*(took(sender, READ) for _ in range(9))) == [(5.0, "NotSent")] * 9
        assert server.asked == ["get things", "list doors"]

    run_virtually(scene())


@pytest.mark.parametrize("failure", [NotSent("refused"), NoAnswer("broken off")])
def test_who_fails_at_once_is_not_silent(failure: Exception) -> None:
    server = Server()

    async def scene() -> None:
        sender = WarySender(server, QUESTION)
        server.fails = failure
        for _ in range(3):
            assert await took(sender, READ) == (0.0, type(failure).__name__)
        assert server.asked == ["get things"] * 3

    run_virtually(scene())
