"""A TCP proxy between us and a server, which a test can cut, stall and slow down. Knows nothing of what passes."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

from tests.patience import until

PIECE = 64 * 1024
RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Passes bytes on, unless it was told otherwise."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._flow = asyncio.Event()
        self._flow.set()
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._left: int | None = None
        self._piece, self._pause = PIECE, 0.0
        self._shut = False
        self.port = 0
        self.connections = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """How many connections there are now."""
        return len(self._open)

    def shut(self) -> None:
        """Break every connection, and every new one too."""
        self._shut = True
        self.cut()

    def reopen(self) -> None:
        self._shut = False

    def cut(self) -> None:
        """Break every connection, as a machine does that has forgotten them."""
        for writer in self._open.values():
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    def cut_after(self, count: int) -> None:
        """End every connection once so many more bytes have come from the server and gone on to the client."""
        self._left = count

    def stall(self) -> None:
        """Pass nothing on, in neither direction, and keep what comes."""
        self._flow.clear()

    def go_on(self) -> None:
        self._flow.set()

    def slow(self, piece: int, pause: float) -> None:
        """Pass on so many bytes at a time, and wait after each piece."""
        self._piece, self._pause = piece, pause

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._shut:
            writer.transport.abort()
            return
        task = asyncio.ensure_future(self._join(reader, writer))
        self._open[task] = writer
        try:
            await asyncio.wait([task])
        finally:
            del self._open[task]
            writer.close()

    async def stop(self) -> None:
        """End every connection that is left."""
        self.go_on()
        for task in list(self._open):
            task.cancel()
        await until(lambda: not self._open, what="connections to end")

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Two directions; the end of one is the end of both."""
        with contextlib.suppress(OSError):
            there_reader, there_writer = await asyncio.open_connection(*self._there)
            up = asyncio.ensure_future(self._pass(reader, there_writer))
            down = asyncio.ensure_future(self._pass(there_reader, writer, down=True))
            try:
                await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            finally:
                there_writer.transport.abort()
                up.cancel()
                down.cancel()
                await asyncio.wait((up, down))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, down: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(self._piece):
                await self._flow.wait()
                piece = self._allowed(data) if down else data
                writer.write(piece)
                await writer.drain()
                if len(piece) < len(data):
                    self._end()
                if self._pause and down:
                    await asyncio.sleep(self._pause)

    def _end(self) -> None:
        for writer in self._open.values():
            writer.close()

    def _allowed(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        piece = data[: self._left]
        self._left = None if len(piece) < len(data) else self._left - len(piece)
        return piece


@contextlib.asynccontextmanager
async def proxy_to(host: str, port: int) -> AsyncIterator[Proxy]:
    proxy = Proxy(host, port)
    server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.stop()
        await server.wait_closed()
