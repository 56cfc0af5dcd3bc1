"""The smallest HTTP server that can misbehave in every way: each byte of an answer is a test's own affair."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from mooring.host.certificates import Authority
from mooring.kube import credentials
from mooring.kube.transport import HttpTransport
from tests.patience import until

RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: a connection that is closed says RST, not FIN."""


class Asked(Struct, frozen=True):
    """A request as it arrived; `who` is the common name of the client's certificate."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    who: str = ""


class Line:
    """The server's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def asked(self) -> Asked:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Asked(method, path, headers, body, self._who())

    async def send(self, piece: bytes) -> None:
        self._writer.write(piece)
        await self._writer.drain()

    async def answer(self, status: int = 200, body: bytes = b"{}", **headers: str) -> None:
        """A whole answer."""
        lines = [f"HTTP/1.1 {status} Some Reason", f"Content-Length: {len(body)}", "Content-Type: application/json"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join([*lines, "\r\n"]).encode() + body)

    async def begin(self, status: int = 200) -> None:
        """The head of an answer in chunks."""
        await self.send(f"HTTP/1.1 {status} Some Reason\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    async def chunk(self, piece: bytes) -> None:
        await self.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    async def end(self) -> None:
        """The last chunk."""
        await self.send(b"0\r\n\r\n")

    async def reset(self) -> None:
        """Break the connection as a machine does that has forgotten it."""
        await self._writer.drain()
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._writer.transport.abort()

    async def say_goodbye(self) -> None:
        """Hang up, and stay until the client has noticed."""
        self._writer.write_eof()
        await self.silence()
        self._writer.close()

    async def hang_up(self) -> None:
        self._writer.close()

    async def silence(self) -> None:
        """Say nothing for as long as the client stays."""
        while await self._reader.read(1024):
            pass

    @property
    def over(self) -> bool:
        return self._writer.is_closing()

    def _who(self) -> str:
        certificate: Mapping[str, Any] = self._writer.get_extra_info("peercert") or {}
        names: dict[str, str] = dict(pair for part in certificate.get("subject", ()) for pair in part)
        return names.get("commonName", "")


Answer = Callable[[Asked, Line], Awaitable[None]]


class TinyServer:
    """Where it is, what it was asked, and how many connections there were."""

    def __init__(self, answer: Answer, *, tls: bool) -> None:
        self._answer = answer
        self._scheme = "https" if tls else "http"
        self._busy: set[asyncio.Task[None]] = set()
        self.port = 0
        self.asked: list[Asked] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def methods(self) -> list[str]:
        return [asked.method for asked in self.asked]

    @property
    def tokens(self) -> list[str]:
        return [asked.headers.get("authorization", "") for asked in self.asked]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(Line(reader, writer)))
        self._busy.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._busy.discard(task)
            writer.close()

    async def stop(self) -> None:
        for task in self._busy:
            task.cancel()
        await until(lambda: not self._busy)

    async def _serve(self, line: Line) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while not line.over:
                self.asked.append(await line.asked())
                await self._answer(self.asked[-1], line)


@contextlib.asynccontextmanager
async def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[TinyServer]:
    tiny = TinyServer(answer, tls=tls is not None)
    server = await asyncio.start_server(tiny.connected, "127.0.0.1", 0, ssl=tls, backlog=200)
    tiny.port = server.sockets[0].getsockname()[1]
    try:
        yield tiny
    finally:
        server.close()
        await tiny.stop()
        await server.wait_closed()


@contextlib.asynccontextmanager
async def speaking(kubeconfig: Path) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(credentials.access(str(kubeconfig)))
    try:
        yield transport
    finally:
        await transport.close()


def write_kubeconfig(
    folder: Path, server: str, *, user: Mapping[str, Any] | None = None, authority: Path | None = None
) -> Path:
    """A kubeconfig of one cluster and one user. JSON is YAML too."""
    cluster = {"server": server} | ({"certificate-authority": str(authority)} if authority else {})
    content = {
        "current-context": "tiny",
        "contexts": [{"name": "tiny", "context": {"cluster": "tiny", "user": "me"}}],
        "clusters": [{"name": "tiny", "cluster": cluster}],
        "users": [{"name": "me", "user": dict(user or {})}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(content))
    return file


def authority(folder: Path) -> Authority:
    folder.mkdir()
    made = Authority(folder)
    made.create()
    return made


def server_tls(by: Authority, *, address: str = "127.0.0.1") -> ssl.SSLContext:
    """A server's side of TLS that looks at a client's certificate if there is one."""
    pair = by.issue("server", "server", addresses=[address])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(by.certificate))
    context.load_cert_chain(pair.certificate, pair.key)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


Scene = Callable[[TinyServer, HttpTransport], Awaitable[None]]


def play(folder: Path, answer: Answer, scene: Scene) -> None:
    async def run() -> None:
        async with serving(answer) as server, speaking(write_kubeconfig(folder, server.url)) as transport:
            await scene(server, transport)

    asyncio.run(run())
