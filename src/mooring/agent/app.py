"""The agent's interface on the wire: reads bodies up to a limit, and has one thing done at a time.

While one document is applied, one other waits, the newest. The others are answered what is held: whoever sent one of
them has something newer to say, or will be told.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from http import HTTPStatus

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from mooring.agent import answers
from mooring.agent.counting import Counting
from mooring.agent.gateway import Gateway
from mooring.agent.metrics import Metrics
from mooring.core.gateway_checks import Reason
from mooring.model.gateway import Refusal
from mooring.wire import http

LARGEST_DOCUMENT = 128 << 20
"""Ten thousand Services with a hundred endpoints each are half of that."""
LARGEST_HEARTBEAT = 4096
LARGEST_PROBES = 1 << 20
"""Of ten thousand nodes."""
LARGEST_CLIENTS = 4 << 20
"""Ten thousand, each of another Service."""
SLOWEST = 60.0
"""Seconds for a body, from its head to its end."""


class Limits(Struct, frozen=True):
    """Of a document, in bytes, and of any body, in seconds."""

    largest: int = LARGEST_DOCUMENT
    slowest: float = SLOWEST


USUAL = Limits()


def app(
    gateway: Gateway,
    hand: Executor,
    metrics: Metrics,
    counting: Counting,
    limits: Limits = USUAL,
) -> Starlette:
    """`hand` has one thread: documents wait for each other there, while heartbeats are answered here."""
    turns = Turns()

    async def put_document(request: Request) -> Response:
        return await taken(request, answers.put_document)

    async def patch_document(request: Request) -> Response:
        return await taken(request, answers.patch_document)

    async def taken(request: Request, take: Callable[[Gateway, bytes], answers.Answer]) -> Response:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        body = await _body(request, limits.largest, limits.slowest)
        if body is None:
            refusal = _too_large(limits.largest)
            gateway.refuses(refusal)
            answer = answers.refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, refusal)
        elif not await turns.wait(answers.age(body)):
            answer = answers.superseded(gateway)
        else:
            try:
                answer = await loop.run_in_executor(hand, take, gateway, body)
            finally:
                turns.pass_on()
        metrics.documents.labels(answer.outcome).inc()
        metrics.seconds.labels(answer.outcome).observe(loop.time() - begin)
        return _sent(answer.response)

    async def small(request: Request, most: int, take: Callable[[Gateway, bytes], answers.Answer]) -> answers.Answer:
        """What is done at once."""
        body = await _body(request, most, limits.slowest)
        return _refused_as_too_large(most) if body is None else take(gateway, body)

    async def post_heartbeat(request: Request) -> Response:
        answer = await small(request, LARGEST_HEARTBEAT, answers.post_heartbeat)
        metrics.heartbeats.labels(answer.outcome).inc()
        return _sent(answer.response)

    async def put_probes(request: Request) -> Response:
        return _sent((await small(request, LARGEST_PROBES, answers.put_probes)).response)

    return Starlette(
        routes=[
            Route("/v1/document", put_document, methods=["PUT"]),
            Route("/v1/document", patch_document, methods=["PATCH"]),
            Route("/v1/heartbeat", post_heartbeat, methods=["POST"]),
            Route("/v1/probes", put_probes, methods=["PUT"]),
            *_told(gateway, counting),
            *_of_clients(gateway, hand, limits.slowest),
        ]
    )


def _told(gateway: Gateway, counting: Counting) -> tuple[Route, Route]:
    """What changes nothing."""

    async def get_state(_: Request) -> Response:
        return _sent(answers.get_state(gateway))

    async def get_counters(_: Request) -> Response:
        return _sent(await asyncio.to_thread(answers.get_counters, counting))

    return Route("/v1/state", get_state, methods=["GET"]), Route("/v1/counters", get_counters, methods=["GET"])


def _of_clients(gateway: Gateway, hand: Executor, slowest: float) -> tuple[Route, Route]:
    """What gateways remember of clients, which they tell each other by way of the controller."""

    async def get_clients(_: Request) -> Response:
        return _sent(answers.get_clients(gateway))

    async def put_clients(request: Request) -> Response:
        body = await _body(request, LARGEST_CLIENTS, slowest)
        if body is None:
            return _sent(_refused_as_too_large(LARGEST_CLIENTS).response)
        heard = await asyncio.to_thread(answers.heard_clients, gateway, body)
        if isinstance(heard, answers.Recall):
            heard = await asyncio.get_running_loop().run_in_executor(hand, answers.put_clients, gateway, heard)
        return _sent(heard.response)

    return (
        Route("/v1/clients", get_clients, methods=["GET"]),
        Route("/v1/clients", put_clients, methods=["PUT"]),
    )


class Turns:
    """One at a time, and one that waits."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting: asyncio.Future[bool] | None = None
        self._age = (0, 0)

    async def wait(self, age: tuple[int, int]) -> bool:
        """Until it is one's turn. False: somebody else waits instead, who is as new or newer."""
        if not self._busy:
            self._busy = True
            return True
        if self._waiting is not None and not self._waiting.done() and age < self._age:
            return False
        self._wake(turn=False)
        self._age = age
        mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting = mine
        try:
            return await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled() and mine.result():  # its turn had come just then
                self.pass_on()
            raise

    def pass_on(self) -> None:
        self._busy = self._wake(turn=True)

    def _wake(self, *, turn: bool) -> bool:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():  # it may have gone away
            return False
        waiting.set_result(turn)
        return True


async def _body(request: Request, largest: int, slowest: float) -> bytes | None:
    """All of it; None, if it is more than that: then the rest is heard out, and forgotten."""
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(slowest):
            async for piece in request.stream():
                size += len(piece)
                if size <= largest:
                    pieces.append(piece)
                else:
                    pieces.clear()
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, headers={"connection": "close"}) from None
    return b"".join(pieces) if size <= largest else None


def _too_large(largest: int) -> Refusal:
    return Refusal(Reason.TOO_LARGE.value, f"the body is larger than {largest} bytes")


def _refused_as_too_large(largest: int) -> answers.Answer:
    return answers.refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(largest))


def _sent(response: http.Response) -> Response:
    return Response(response.body, response.status, dict(response.headers))
