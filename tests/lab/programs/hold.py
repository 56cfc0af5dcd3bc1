"""Holds connections of several kinds open, and tells on request how many of each still work.

    hold.py ADDRESS PORT COUNT
    reads lines: for each, prints one line of JSON, {"idle": 20, ...}. The first one comes by itself

kind          what it does
----          ------------
idle          is silent between two requests; then a third of a megabyte goes there and back
active        says a word every 100 ms and hears it
server-first  after the first word only the server speaks; the client sends keepalives
udp           a flow from one port; works if it is answered by the backend that it had

A connection that failed once has failed for ever. Needs nothing but the standard library.
"""

import asyncio
import json
import socket
import sys
from contextlib import suppress

PATIENCE = 12.0
TRY = 1.0
BEAT = 0.1
CHUNK = bytes(range(256)) * 64
CHUNKS = 20


class Idle:
    def __init__(self) -> None:
        self.failed = False

    async def open(self, address: str, port: int) -> None:
        self.reader, self.writer = await asyncio.open_connection(address, port)
        await self.exchange(b"hello\n")

    async def exchange(self, words: bytes) -> None:
        self.writer.write(words)
        if await self.reader.readexactly(len(words)) != words:
            raise OSError("other words")

    async def works(self) -> bool:
        try:
            for _ in range(CHUNKS):
                await asyncio.wait_for(self.exchange(CHUNK), PATIENCE)
        except (TimeoutError, OSError, EOFError):
            self.failed = True
        return not self.failed


class Active(Idle):
    async def open(self, address: str, port: int) -> None:
        await super().open(address, port)
        self.exchanged = asyncio.Condition()
        self.task = asyncio.create_task(self.speak())

    async def speak(self) -> None:
        while not self.failed:
            try:
                await asyncio.wait_for(self.exchange(b"active\n"), PATIENCE)
            except (TimeoutError, OSError, EOFError):
                self.failed = True
            async with self.exchanged:
                self.exchanged.notify_all()
            await asyncio.sleep(BEAT)

    async def works(self) -> bool:
        """The second word from now on was said after the question."""
        for _ in range(2):
            async with self.exchanged:
                if not self.failed:
                    await self.exchanged.wait()
        return not self.failed


class ServerFirst(Idle):
    async def open(self, address: str, port: int) -> None:
        await super().open(address, port)
        opened = self.writer.get_extra_info("socket")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        self.writer.write(b"stream\n")
        self.heard = asyncio.Condition()
        self.task = asyncio.create_task(self.listen())

    async def listen(self) -> None:
        while not self.failed:
            try:
                self.failed = not await self.reader.read(1000)
            except OSError:
                self.failed = True
            async with self.heard:
                self.heard.notify_all()

    async def hear(self) -> None:
        async with self.heard:
            if not self.failed:
                await self.heard.wait()

    async def works(self) -> bool:
        """It hears three words more."""
        try:
            for _ in range(3):
                await asyncio.wait_for(self.hear(), PATIENCE)
        except TimeoutError:
            self.failed = True
        return not self.failed


class Flow:
    def __init__(self) -> None:
        self.backend = b""
        self.failed = False

    async def open(self, address: str, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)  # noqa: FBT003 - so it is called
        self.socket.connect((address, port))
        if not await self.works():
            raise OSError("no answer over UDP")

    async def ask(self) -> bytes:
        loop = asyncio.get_running_loop()
        self.socket.send(b"who\n")
        return (await loop.sock_recv(self.socket, 200)).split()[0]

    async def works(self) -> bool:
        """A datagram may be lost while something moves."""
        for _ in range(int(PATIENCE / TRY)):
            with suppress(asyncio.TimeoutError, OSError):
                backend = await asyncio.wait_for(self.ask(), TRY)
                self.failed |= self.backend not in (b"", backend)
                self.backend = backend
                return not self.failed
        self.failed = True
        return False


KINDS: dict[str, type[Idle] | type[Flow]] = {
    "idle": Idle,
    "active": Active,
    "server-first": ServerFirst,
    "udp": Flow,
}


async def main() -> None:
    address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    held = {name: [kind() for _ in range(count)] for name, kind in KINDS.items()}
    for each in held.values():
        for one in each:
            await one.open(address, port)
    loop = asyncio.get_running_loop()
    while True:
        jobs = {name: asyncio.gather(*(one.works() for one in each)) for name, each in held.items()}
        told = {name: sum(await job) for name, job in jobs.items()}
        print(json.dumps(told), flush=True)  # noqa: T201 - this is how it answers
        if not await loop.run_in_executor(None, sys.stdin.readline):
            return


asyncio.run(main())
