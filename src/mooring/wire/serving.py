"""Serving over HTTP inside a process that does other things too, and what every process tells of itself."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import prometheus_client
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mooring.model.errors import StartRefused

GOODBYE = 3
"""Seconds that a request may still take when the server ends."""
KEPT_ALIVE = 75
PORTS = range(1 << 16)


class CannotServe(StartRefused):
    """The address cannot be listened at, or the certificates cannot be used. The text says which and why."""


@asynccontextmanager
async def serving(app: Starlette, listen: str, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve for as long as the block runs, at `host:port`; gives the port, which the kernel chooses if it is 0."""
    opened = _opened(listen)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        server_header=False,
        timeout_keep_alive=KEPT_ALIVE,
        timeout_graceful_shutdown=GOODBYE,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    config.load()
    # The steps of `serve`, without its handlers of signals: they are the business of the process.
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[opened])
    task = asyncio.create_task(server.main_loop(), name=f"serving {listen}")
    try:
        yield opened.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        await server.shutdown(sockets=[opened])


def server_tls(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.3, and nobody is heard who has no certificate for clients that the authority signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(ca)
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise CannotServe(f"the certificates {ca}, {certificate} and {key} cannot be used: {error}") from error
    return context


def monitoring(registry: prometheus_client.CollectorRegistry, ready: Callable[[], str | None]) -> Starlette:
    """`ready` says why the process does not do its work, or None."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        why_not = ready()
        return PlainTextResponse("ok\n") if why_not is None else PlainTextResponse(f"{why_not}\n", 503)

    async def metrics(_: Request) -> Response:
        content = prometheus_client.generate_latest(registry)
        return Response(content, media_type=prometheus_client.CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)],
    )


def _opened(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    if int(port) not in PORTS:  # the system would take another one without a word
        raise CannotServe(f"{listen} cannot be listened at: {port} is not a port")
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
        except OSError:
            opened.close()
            raise
    except OSError as error:
        raise CannotServe(f"{listen} cannot be listened at: {error}") from error
    return opened
