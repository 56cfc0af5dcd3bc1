"""The agent's interface on the wire: reads bodies up to a limit, and has one thing done at a time."""

import asyncio
from concurrent.futures import Executor
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mooring.agent import answers
from mooring.agent.gateway import Gateway
from mooring.agent.metrics import Metrics
from mooring.core.gateway_checks import Reason
from mooring.model.gateway import Refusal
from mooring.wire import http

LARGEST_DOCUMENT = 64 << 20
LARGEST_HEARTBEAT = 4096


def app(gateway: Gateway, hand: Executor, metrics: Metrics, *, largest: int = LARGEST_DOCUMENT) -> Starlette:
    """`hand` has one thread: documents wait for each other there, while heartbeats are answered here."""

    async def put_document(request: Request) -> Response:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        body = await _body(request, largest)
        if body is None:
            refusal = _too_large(largest)
            gateway.refuses(refusal)
            answer = answers.refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, refusal)
        else:
            answer = await loop.run_in_executor(hand, answers.put_document, gateway, body)
        metrics.documents.labels(answer.outcome).inc()
        metrics.seconds.labels(answer.outcome).observe(loop.time() - begin)
        return _sent(answer.response)

    async def post_heartbeat(request: Request) -> Response:
        body = await _body(request, LARGEST_HEARTBEAT)
        if body is None:
            answer = answers.refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(LARGEST_HEARTBEAT))
        else:
            answer = answers.post_heartbeat(gateway, body)
        metrics.heartbeats.labels(answer.outcome).inc()
        return _sent(answer.response)

    async def get_state(_: Request) -> Response:
        return _sent(answers.get_state(gateway))

    return Starlette(
        routes=[
            Route("/v1/document", put_document, methods=["PUT"]),
            Route("/v1/heartbeat", post_heartbeat, methods=["POST"]),
            Route("/v1/state", get_state, methods=["GET"]),
        ]
    )


async def _body(request: Request, largest: int) -> bytes | None:
    """All of it; None as soon as it is more than that."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > largest:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(largest: int) -> Refusal:
    return Refusal(Reason.TOO_LARGE.value, f"the body is larger than {largest} bytes")


def _sent(response: http.Response) -> Response:
    return Response(response.body, response.status, dict(response.headers))
