"""Answers that arrive in pieces, over real sockets: wherever they are cut, events come whole or not at all."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from mooring.kube import errors
from mooring.kube.api import Api, WatchEvent
from mooring.kube.kinds import SERVICES
from mooring.kube.transport import HttpTransport
from mooring.model.kubernetes import Name, Service
from mooring.wire.http import NoAnswer, Request, Stream
from tests.kube.tiny_server import Asked, Line, TinyServer, play

GET = Request("test", "GET", "/api", seconds=5.0)
ODD = "plain, ü, €, 𝄞"
"""One to four bytes for a character."""


def test_a_stream_has_to_begin_in_time_and_may_then_take_its_time(tmp_path: Path) -> None:
    async def slow_then_quiet(asked: Asked, line: Line) -> None:
        if asked.path == "/begins":
            await line.begin()
            await asyncio.sleep(0.4)
            await line.chunk(b"late")
        await line.silence()

    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        with pytest.raises(NoAnswer, match="did not begin"):
            await transport.open(msgspec.structs.replace(GET, seconds=0.1))
        stream = await transport.open(msgspec.structs.replace(GET, path="/begins", seconds=0.2))
        assert await stream.read() == b"late"
        await stream.close()

    play(tmp_path, slow_then_quiet, scene)


def event(kind: str, name: str, *, text: str = ODD, version: int = 1) -> bytes:
    meta = {"name": name, "namespace": "shop", "uid": name, "resourceVersion": str(version)}
    tree = {"type": kind, "object": {"kind": "Service", "metadata": {**meta, "annotations": {"text": text}}}}
    return msgspec.json.encode(tree) + b"\n"


class Following:
    """A server that sends these pieces as chunks and then does something."""

    def __init__(self, pieces: list[bytes], then: Callable[[Line], Awaitable[None]]) -> None:
        self._pieces = pieces
        self._then = then

    async def __call__(self, _: Asked, line: Line) -> None:
        await line.begin()
        for piece in self._pieces:
            await line.chunk(piece)
        await self._then(line)


async def all_events(transport: HttpTransport) -> list[WatchEvent[Service]]:
    watch = await Api(transport).watch(SERVICES, version="1")
    found: list[WatchEvent[Service]] = []
    try:
        while events := await watch.read():
            found += events
    finally:
        await watch.close()
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 10_000])
def test_events_are_whole_wherever_the_stream_is_cut(tmp_path: Path, size: int) -> None:
    sent = b"".join(event("ADDED", f"s{number}") for number in range(20))
    pieces = [sent[start : start + size] for start in range(0, len(sent), size)]

    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        found = await all_events(transport)
        assert [each.object.metadata.name for each in found] == [f"s{number}" for number in range(20)]
        assert {each.object.metadata.annotations["text"] for each in found} == {ODD}

    play(tmp_path, Following(pieces, Line.end), scene)


@pytest.mark.parametrize("size", [64 * 1024 + 1, 1024 * 1024 + 1, 3 * 1024 * 1024])
def test_large_events_are_whole(tmp_path: Path, size: int) -> None:
    sent = event("ADDED", "large", text="é" * (size // 2)) + event("ADDED", "small")
    pieces = [sent[start : start + 40_001] for start in range(0, len(sent), 40_001)]

    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        large, small = await all_events(transport)
        assert large.object.metadata.annotations["text"] == "é" * (size // 2)
        assert small.object.metadata.name == "small"

    play(tmp_path, Following(pieces, Line.end), scene)


@pytest.mark.parametrize("then", [Line.reset, Line.hang_up])
@pytest.mark.parametrize("rest", [b"", event("ADDED", "b")[:40]])
def test_a_stream_that_breaks_is_told(tmp_path: Path, then: Callable[[Line], Awaitable[None]], rest: bytes) -> None:
    async def wait_and_break(line: Line) -> None:
        await first.wait()
        await then(line)

    first = asyncio.Event()

    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        watch = await Api(transport).watch(SERVICES, version="1")
        [added] = await watch.read()
        assert added.object.name == Name("shop", "a")
        first.set()
        with pytest.raises(errors.Unreachable, match="watch services"):
            await watch.read()
        await watch.close()

    play(tmp_path, Following([event("ADDED", "a") + rest], wait_and_break), scene)


async def to_the_end(stream: Stream) -> None:
    while await stream.read():
        pass


def test_a_broken_stream_is_no_answer_to_who_reads_bytes(tmp_path: Path) -> None:
    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        stream = await transport.open(GET)
        with pytest.raises(NoAnswer, match=r"\w"):
            await to_the_end(stream)
        await stream.close()

    play(tmp_path, Following([b"a" * 1000], Line.reset), scene)


def test_a_stream_that_ends_well_within_an_event_was_cut(tmp_path: Path) -> None:
    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        with pytest.raises(errors.Unreachable, match="in the middle of an event"):
            await all_events(transport)

    play(tmp_path, Following([event("ADDED", "a"), event("ADDED", "b")[:-1]], Line.end), scene)


@pytest.mark.parametrize("garbage", [b"\xff\n", b'{"type": "ADDED", "metadata": 7, "object": {"metadata": "\xff"}}\n'])
def test_bytes_that_are_no_text_are_a_bad_answer(tmp_path: Path, garbage: bytes) -> None:
    async def scene(_: TinyServer, transport: HttpTransport) -> None:
        with pytest.raises(errors.BadAnswer):
            await all_events(transport)
        with pytest.raises(errors.BadAnswer):
            await Api(transport).get(SERVICES, Name("shop", "web"))

    play(tmp_path, Following([garbage], Line.end), scene)
