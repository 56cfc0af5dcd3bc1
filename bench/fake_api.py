"""As much of a Kubernetes API as the clients of the benchmarks need, in a process of its own, all answers made before.

    python -m bench.fake_api SERVICES [CERTIFICATE KEY]

It prints its port and ends when its standard input does. Events come when they are asked for, on each watch that is
open: `POST /bench/burst` sends those of that wave at once, `POST /bench/singly` one by one. Like the real one it sends
each event as a chunk of its own. Standard library only.
"""

import asyncio
import itertools
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench import services

BODY = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
OK = b"HTTP/1.1 200 OK\r\n"
STREAM = OK + b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
PIECE = 1 << 20
PAUSE = 0.002

Writer = asyncio.StreamWriter


class FakeApi:
    """Holds every answer as bytes."""

    def __init__(self, size: int) -> None:
        objects = [services.service(number, number + 1) for number in range(size)]
        self._items = [services.compact(each) for each in objects]
        head = {"kind": "Service", "apiVersion": "v1"}
        self._initial = b"".join(_chunk(_event("ADDED", head | each)) for each in objects)
        changes = (_chunk(event) for event in _changes(size))
        self._waves = {wave: list(itertools.islice(changes, count)) for wave, count in services.WAVES.items()}
        self._patched = _answer(services.compact(services.small_service(0, services.NOW)))
        self._fixed = {path: _answer(services.compact(value)) for path, value in _discovery().items()}
        self._watches: list[Writer] = []

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """One connection, request by request."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = head.partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
                method, target, _ = head.split(" ", 2)
                await self._reply(method, target, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._watches = [each for each in self._watches if each is not writer]
            writer.close()

    async def _reply(self, method: str, target: str, writer: Writer) -> None:
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if method == "patch":
            writer.write(self._patched)
        elif url.path.startswith("/bench/"):
            writer.write(_answer(b"{}"))
            await self._go(url.path.removeprefix("/bench/"))
        elif query.get("watch") in {"1", "true"}:
            await self._watch(url.path, query, writer)
        elif url.path == "/api/v1/services":
            writer.write(self._page(query))
        else:
            writer.write(
                self._fixed.get(url.path.rstrip("/")) or _answer(b'{"code":404}', b"HTTP/1.1 404 Not Found\r\n")
            )
        await writer.drain()

    async def _watch(self, path: str, query: dict[str, str], writer: Writer) -> None:
        """Objects that there are come first where they are asked for, and where no version is given."""
        writer.write(STREAM)
        if path != "/api/v1/services":
            return
        if "resourceversion" not in query:
            await _send(writer, self._initial)
        if "sendinitialevents" in query:
            writer.write(_chunk(_event("BOOKMARK", _bookmark())))
        self._watches.append(writer)

    async def _go(self, wave: str) -> None:
        for watch in self._watches:
            if wave != "singly":
                await _send(watch, b"".join(self._waves[wave]))
                continue
            for event in self._waves[wave]:
                watch.write(event)
                await asyncio.sleep(PAUSE)

    def _page(self, query: dict[str, str]) -> bytes:
        begin = int(query.get("continue", "0"))
        end = begin + int(query.get("limit", "0") or 0) if query.get("limit") else len(self._items)
        metadata = {"resourceVersion": str(services.NOW)} | ({"continue": str(end)} if end < len(self._items) else {})
        head = services.compact({"kind": "ServiceList", "apiVersion": "v1", "metadata": metadata})
        return _answer(head[:-1] + b',"items":[' + b",".join(self._items[begin:end]) + b"]}")


def _answer(body: bytes, status: bytes = OK) -> bytes:
    return status + BODY % (len(body), body)


def _chunk(line: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(line), line)


def _event(kind: str, value: dict[str, Any]) -> bytes:
    return services.compact({"type": kind, "object": value}) + b"\n"


def _changes(size: int) -> Iterable[bytes]:
    """Changes, spread over all objects so that no two of one object follow each other closely."""
    count = sum(services.WAVES.values())
    numbers = itertools.cycle(range(0, size, max(1, size // count)))
    for version in range(services.NOW + 1, services.NOW + count + 1):
        yield _event("MODIFIED", services.service(next(numbers), version, kind=True))


def _bookmark() -> dict[str, Any]:
    metadata = {"resourceVersion": str(services.NOW), "annotations": {"k8s.io/initial-events-end": "true"}}
    return {"kind": "Service", "apiVersion": "v1", "metadata": metadata}


def _discovery() -> dict[str, dict[str, Any]]:
    kinds = [("services", "service", "Service", True), ("namespaces", "namespace", "Namespace", False)]
    resources = [
        {"name": plural, "singularName": singular, "kind": kind, "namespaced": namespaced, "verbs": VERBS}
        for plural, singular, kind, namespaced in kinds
    ]
    metadata = {"resourceVersion": str(services.NOW)}
    return {
        "/version": {"major": "1", "minor": "35", "gitVersion": "v1.35.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": resources},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1/namespaces": {"kind": "NamespaceList", "apiVersion": "v1", "metadata": metadata, "items": []},
    }


async def _send(writer: Writer, data: bytes) -> None:
    for begin in range(0, len(data), PIECE):
        writer.write(data[begin : begin + PIECE])
        await writer.drain()


async def _serve(handle: Callable[[asyncio.StreamReader, Writer], Awaitable[None]], files: list[str]) -> None:
    tls = None
    if files:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*files)
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(_serve(FakeApi(int(sys.argv[1])).serve, sys.argv[2:]))
