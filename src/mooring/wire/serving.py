"""Serving over HTTP inside a process that does other things too, and what every process tells of itself."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import prometheus_client
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from mooring.model.errors import Hindered, StartRefused

GOODBYE = 3
"""Seconds that a request may still take when the server ends."""
KEPT_ALIVE = 75
PATIENCE = 10.0
"""Seconds for a handshake, and for the head of a request that has begun."""
MOST_STRANGERS = 64
"""Connections of whom nobody knows who they are."""
BACKLOG = 512
PORTS = range(1 << 16)


class CannotServe(StartRefused):
    """The certificates cannot be used. The text says which and why."""


class CannotListen(Hindered):
    """The address cannot be listened at. The text says which and why."""


@asynccontextmanager
async def serving(
    app: Starlette, listen: str, *, tls: ssl.SSLContext | None = None, patience: float = PATIENCE
) -> AsyncIterator[int]:
    """Serve for as long as the block runs, at `host:port`; gives the port, which the kernel chooses if it is 0."""
    opened = _opened(listen)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http=Punctual,
        server_header=False,
        timeout_keep_alive=KEPT_ALIVE,
        timeout_graceful_shutdown=GOODBYE,
    )
    config.load()
    # The steps of `serve`, without its handlers of signals, which are the business of the process, and with our door.
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    server.servers, server.started = [], True
    door = Door(lambda: Punctual(config, server.server_state, {}, patience=patience), tls, patience)
    coming = asyncio.create_task(door.stay_open(opened), name=f"connections to {listen}")
    task = asyncio.create_task(server.main_loop(), name=f"serving {listen}")
    try:
        yield opened.getsockname()[1]
    finally:
        coming.cancel()
        door.close()
        server.should_exit = True
        await task
        await server.shutdown(sockets=[opened])


class Punctual(H11Protocol):
    """A connection that ends when a request has begun and its head does not come. A body is the business of the app."""

    def __init__(self, *arguments: Any, patience: float, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*arguments, **named)
        self.gone = asyncio.Event()
        self._patience = patience
        self._due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._came()
        self.gone.set()

    def _expect(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._came()
        elif self._due is None:
            self._due = self.loop.call_later(self._patience, self.transport.abort)

    def _came(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


class Door:
    """Where connections come in. Who has shown no certificate is a stranger.

    There are only so many of those at a time, and one more takes the place of the one that has been there longest: who
    opens many and says nothing keeps nobody else out, and takes neither memory nor files from the rest.
    """

    def __init__(self, made: Callable[[], Punctual], tls: ssl.SSLContext | None, patience: float) -> None:
        self._made = made
        self._tls = tls
        self._patience = patience
        self._strangers: dict[asyncio.Task[None], None] = {}

    async def stay_open(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:  # who came is gone, or there are no more files: those of strangers come free soon
                await asyncio.sleep(0.1)
                continue
            if len(self._strangers) >= MOST_STRANGERS:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]
                oldest.cancel()
            task = loop.create_task(self._let_in(connection))
            self._strangers[task] = None
            task.add_done_callback(lambda done: self._strangers.pop(done, None))
            await asyncio.sleep(0)  # it has begun, and others get on while many come

    def close(self) -> None:
        if self._tls is not None:  # the others are known to the server too, which lets them finish
            for each in tuple(self._strangers):
                each.cancel()

    async def _let_in(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        patience = None if self._tls is None else self._patience
        try:
            transport, protocol = await loop.connect_accepted_socket(
                self._made, connection, ssl=self._tls, ssl_handshake_timeout=patience
            )
        except OSError:
            return
        if self._tls is None:
            try:
                await protocol.gone.wait()
            except asyncio.CancelledError:
                transport.abort()
                raise


def server_tls(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.3, and nobody is heard who has no certificate for clients that the authority signed.

    Nobody gets a ticket either: who comes back with one would not have to show the certificate again.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.num_tickets = 0
    unreadable = [told for each in (ca, certificate, key) if (told := _unreadable(each))]
    if unreadable:
        raise CannotServe(f"the certificates cannot be used: {', '.join(unreadable)}")
    try:
        context.load_verify_locations(ca)
    except OSError as error:
        raise CannotServe(f"{ca} cannot be used: {error}") from error
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise CannotServe(f"{certificate} and {key} cannot be used: {error}") from error
    return context


def _unreadable(file: str) -> str | None:
    try:
        with Path(file).open("rb"):
            return None
    except OSError as error:
        return f"{file}: {error.strerror or error}"


def renew(context: ssl.SSLContext, fresh: ssl.SSLContext) -> None:
    """Let each new connection to a server of the one context be judged and answered by the other.

    An authority cannot be taken out of a context again: who put a new one into it would go on to trust the old one.
    """

    def replace(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = fresh

    context.sni_callback = replace


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
        raise CannotListen(f"{listen} cannot be listened at: {port} is not a port")
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
            opened.listen(BACKLOG)
            opened.settimeout(0)
        except OSError:
            opened.close()
            raise
    except OSError as error:
        raise CannotListen(f"{listen} cannot be listened at: {error}") from error
    return opened
