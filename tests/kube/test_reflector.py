"""The reflector against the twin, on virtual time: whatever happens, the store ends equal to the server."""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.kinds import SERVICES
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.kube.twin.server import KubeTwin, Whole
from mooring.model.kubernetes import Meta, Service
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Stream, Transport
from tests.simulation.loop import run_virtually

PATH = "/api/v1/namespaces/default/services"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


class Wire:
    """The way to a twin, which a test can break: `before` each request, and the streams that are open."""

    def __init__(self, twin: KubeTwin) -> None:
        self._inner: Transport = twin.transport()
        self.before: Callable[[Request], Response | None] = lambda _: None
        self.asked: list[Request] = []
        self.streams: list[Breakable] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        return self.before(request) or await self._inner.send(request)

    async def open(self, request: Request) -> Stream:
        self.asked.append(request)
        refused = self.before(request)
        if refused is not None:
            return Whole(refused)
        stream = Breakable(await self._inner.open(request))
        self.streams.append(stream)
        return stream

    @property
    def last(self) -> Mapping[str, str]:
        return dict(self.asked[-1].query)


class Breakable:
    """A stream that a test can cut, garble or silence."""

    def __init__(self, inner: Stream) -> None:
        self.status, self.headers = inner.status, inner.headers
        self._inner = inner
        self._cut = asyncio.Event()
        self.silent = False
        self.change: Callable[[bytes], bytes] = lambda piece: piece

    def cut(self) -> None:
        self._cut.set()

    async def read(self) -> bytes:
        reading = asyncio.ensure_future(self._inner.read())
        cutting = asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait((reading, cutting), return_when=asyncio.FIRST_COMPLETED)
            if self._cut.is_set():
                raise NoAnswer("cut")
            if self.silent:
                await asyncio.Event().wait()
            return self.change(reading.result())
        finally:
            reading.cancel()
            cutting.cancel()

    async def close(self) -> None:
        await self._inner.close()


class Scene:
    """A twin with Services, and a reflector that follows them."""

    def __init__(self, *, window: int = 1000) -> None:
        self.twin = KubeTwin(lambda: FIRST, window=window)
        self.wire = Wire(self.twin)
        self.store: Store[Service] = Store()
        self.told: list[tuple[str, str]] = []
        self.trouble: list[errors.KubeError] = []
        self.store.listen(self._heard)
        chance = random.Random(1)  # noqa: S311 - it has to be repeatable
        self.reflector = Reflector(
            Api(self.wire), SERVICES, self.store, chance, namespace="default", trouble=self.trouble.append
        )

    def _heard(self, before: Service | None, after: Service | None) -> None:
        kind = "deleted" if after is None else "added" if before is None else "changed"
        some = after or before
        assert some is not None
        self.told.append((kind, some.metadata.name))

    async def start(self) -> None:
        self.task = asyncio.create_task(self.reflector.run())
        await self.store.filled()

    async def settle(self, seconds: float = 30.0) -> None:
        await asyncio.sleep(seconds)
        names = {each["metadata"]["name"] for each in self._listed()}
        assert {each.metadata.name for each in self.store.all()} == names

    def make(self, name: str) -> None:
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
        self._do("POST", PATH, {"apiVersion": "v1", "kind": "Service", **body})

    def label(self, name: str, text: str) -> None:
        self._do("PATCH", f"{PATH}/{name}", {"metadata": {"labels": {"text": text}}})

    def delete(self, name: str) -> None:
        self._do("DELETE", f"{PATH}/{name}", {})

    def _do(self, method: str, path: str, body: dict[str, Any]) -> None:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request = Request("test", method, path, headers={"content-type": kind}, body=msgspec.json.encode(body))
        assert self.twin.handle(request).status < 300

    def _listed(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = msgspec.json.decode(self.twin.handle(Request("l", "GET", PATH)).body)["items"]
        return found


def test_a_watch_list_fills_the_store_and_goes_on() -> None:
    async def scene() -> None:
        it = Scene()
        it.make("a")
        await it.start()
        assert {each.metadata.name for each in it.store.all()} == {"a", "kubernetes"}
        it.make("b")
        it.label("a", "x")
        it.delete("b")
        await it.settle(1.0)
        assert it.told[2:] == [("added", "b"), ("changed", "a"), ("deleted", "b")]
        assert len(it.wire.asked) == 1

    run_virtually(scene())


def line(kind: str, name: str, version: int, *, ends: bool = False) -> bytes:
    meta: dict[str, Any] = {"resourceVersion": str(version)}
    if name:
        meta |= {"name": name, "namespace": "default", "uid": name}
    if ends:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    return msgspec.json.encode({"type": kind, "object": {"metadata": meta}}) + b"\n"


INITIAL = line("ADDED", "a", 5) + line("ADDED", "b", 6)


@pytest.mark.parametrize(
    ("meanwhile", "end", "held"),
    [
        (b"", 6, {"a": "5", "b": "6"}),
        (line("MODIFIED", "a", 8), 8, {"a": "8", "b": "6"}),
        (line("DELETED", "b", 8), 8, {"a": "5"}),
        (line("ADDED", "c", 8) + line("DELETED", "c", 9), 9, {"a": "5", "b": "6"}),
        (line("DELETED", "b", 8) + line("ADDED", "b", 9), 9, {"a": "5", "b": "9"}),
        (line("MODIFIED", "a", 8) + line("ADDED", "a", 5), 8, {"a": "8", "b": "6"}),
        (line("BOOKMARK", "", 7), 7, {"a": "5", "b": "6"}),
        (line("MODIFIED", "a", 8) + line("DELETED", "b", 9), 6, {"a": "8"}),
    ],
    ids=["nothing", "changed", "deleted", "came and went", "went and came", "old news", "bookmark", "early bookmark"],
)
def test_what_happens_before_the_initial_objects_end(meanwhile: bytes, end: int, held: dict[str, str]) -> None:
    async def scene() -> None:
        it = Scene()
        told = INITIAL + meanwhile + line("BOOKMARK", "", end, ends=True)
        it.wire.before = lambda _: Response(200, {}, told)
        await it.start()
        assert {each.metadata.name: each.metadata.resource_version for each in it.store.all()} == held

    run_virtually(scene())


def test_an_end_before_the_initial_objects_end_is_that_of_our_own_newer_object_too() -> None:
    async def scene() -> None:
        it = Scene()
        told = INITIAL + line("DELETED", "b", 9) + line("BOOKMARK", "", 6, ends=True)
        it.wire.before = lambda _: Response(200, {}, told)
        meta = Meta(name="b", namespace="default", uid="b", resource_version="8")
        it.store.put(Service(metadata=meta))  # the answer to a write
        await it.start()
        assert [each.metadata.name for each in it.store.all()] == ["a"]

    run_virtually(scene())


TOO_MANY = {"message": "later", "code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 45}}


@pytest.mark.parametrize(
    "refusal",
    [
        Response(429, {"retry-after": "45"}),
        Response(429, {}, msgspec.json.encode(TOO_MANY)),
        Response(200, {}, msgspec.json.encode({"type": "ERROR", "object": TOO_MANY}) + b"\n"),
    ],
)
def test_a_server_that_wants_to_be_left_alone_for_a_while_is(refusal: Response) -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        it.wire.before = lambda _: refusal
        it.wire.streams[-1].cut()
        begin = len(it.wire.asked)
        await asyncio.sleep(44.0)
        assert len(it.wire.asked) - begin == 1
        await asyncio.sleep(4.0)
        assert len(it.wire.asked) - begin == 2

    run_virtually(scene())


def test_ends_that_a_bookmark_has_passed_are_not_remembered() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        for number in range(5):
            it.make(f"s{number}")
            it.delete(f"s{number}")
        await asyncio.sleep(1.0)
        assert len(it.store._gone) == 5  # noqa: SLF001 - what it costs cannot be seen from outside
        it.twin.bookmark()
        await it.settle(1.0)
        assert len(it.store._gone) == 0  # noqa: SLF001 - as above

    run_virtually(scene())


def test_a_server_without_watch_lists_is_listed_in_pages() -> None:
    def refuse(request: Request) -> Response | None:
        return Response(422) if ("sendInitialEvents", "true") in request.query else None

    async def scene() -> None:
        it = Scene()
        it.wire.before = refuse
        for number in range(3):
            it.make(f"s{number}")
        await it.start()
        it.make("later")
        await it.settle()
        assert [request.what for request in it.wire.asked] == ["watch services", "list services", "watch services"]

    run_virtually(scene())


def test_a_cut_stream_is_resumed_where_it_was() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        it.make("a")
        await asyncio.sleep(1.0)
        it.wire.streams[-1].cut()
        it.make("b")
        it.delete("a")
        await it.settle()
        assert it.told[1:] == [("added", "a"), ("added", "b"), ("deleted", "a")]
        assert "sendInitialEvents" not in it.wire.last

    run_virtually(scene())


def test_an_event_that_was_cut_in_the_middle_is_read_again() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        stream = it.wire.streams[-1]
        stream.change = lambda piece: piece[: len(piece) // 2]
        it.make("a")
        await asyncio.sleep(0.1)
        stream.cut()
        await it.settle()
        assert it.told[1:] == [("added", "a")]

    run_virtually(scene())


def test_after_a_410_the_deletions_that_happened_meanwhile_are_told() -> None:
    async def scene() -> None:
        it = Scene()
        for name in ("a", "b", "c"):
            it.make(name)
        await it.start()
        it.told.clear()
        it.wire.streams[-1].cut()
        await asyncio.sleep(0)
        it.delete("b")
        it.make("d")
        it.label("c", "x")
        it.twin.compact()
        await it.settle()
        assert sorted(it.told) == [("added", "d"), ("changed", "c"), ("deleted", "b")]
        assert any(isinstance(each, errors.Gone) for each in it.trouble)

    run_virtually(scene())


def test_the_store_can_be_read_while_everything_is_listed_again() -> None:
    async def scene() -> None:
        it = Scene()
        it.make("a")
        await it.start()
        it.wire.before = lambda _: Response(500)
        it.wire.streams[-1].cut()
        await asyncio.sleep(60.0)
        assert len(it.store) == 2
        assert it.store.complete

    run_virtually(scene())


def test_a_silent_stream_is_left() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        it.wire.streams[-1].silent = True
        it.make("a")
        await asyncio.sleep(80.0)
        assert len(it.store) == 1
        await it.settle(30.0)
        assert any("silent" in str(each) for each in it.trouble)

    run_virtually(scene())


def test_a_refusal_that_does_not_end_keeps_nobody_waiting() -> None:
    class Endless(Breakable):
        def __init__(self) -> None:
            super().__init__(Whole(Response(503)))

        async def read(self) -> bytes:
            await asyncio.Event().wait()
            return b""

    class Refusing(Wire):
        async def open(self, _: Request) -> Stream:
            return Endless()

    async def scene() -> None:
        api = Api(Refusing(KubeTwin(lambda: FIRST)))
        with pytest.raises(errors.ServerFault):
            async with asyncio.timeout(60.0):
                await api.watch(SERVICES, version="1")

    run_virtually(scene())


def test_bookmarks_move_the_place_to_resume_from() -> None:
    async def scene() -> None:
        it = Scene(window=3)
        await it.start()
        for number in range(5):  # what another namespace does moves the version, and nobody tells us but a bookmark
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{number}"}}
            it.twin.handle(Request("test", "POST", "/api/v1/namespaces", body=msgspec.json.encode(body)))
        it.twin.bookmark()
        await asyncio.sleep(1.0)
        it.wire.streams[-1].cut()
        await it.settle()
        assert it.wire.last["resourceVersion"] == str(it.twin.version)

    run_virtually(scene())


def test_a_server_that_is_away_is_asked_with_growing_pauses() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()

        def away(_: Request) -> Response | None:
            raise NotSent("refused")

        it.wire.before = away
        it.wire.streams[-1].cut()
        begin = len(it.wire.asked)
        await asyncio.sleep(120.0)
        assert 10 < len(it.wire.asked) - begin < 40
        it.wire.before = lambda _: None
        it.make("a")
        await it.settle()

    run_virtually(scene())


def test_a_server_that_ends_every_stream_at_once_is_not_asked_without_pause() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        it.wire.before = lambda _: Response(200)
        it.wire.streams[-1].cut()
        begin = len(it.wire.asked)
        await asyncio.sleep(60.0)
        assert len(it.wire.asked) - begin < 40

    run_virtually(scene())


def test_nonsense_on_the_stream_is_trouble_and_no_end() -> None:
    async def scene() -> None:
        it = Scene()
        await it.start()
        it.wire.streams[-1].change = lambda _: b'{"type": 7}\n'
        it.make("a")
        await it.settle()
        assert any(isinstance(each, errors.BadAnswer) for each in it.trouble)

    run_virtually(scene())


def test_a_cluster_restored_from_a_backup_is_followed_back() -> None:
    async def scene() -> None:
        it = Scene()
        for name in ("a", "b"):
            it.make(name)
        await it.start()
        it.delete("b")
        it.make("b")
        restored = Scene()
        restored.make("a")
        for stream in it.wire.streams:
            stream.cut()
        it.twin = restored.twin
        it.wire._inner = restored.twin.transport()  # noqa: SLF001 - the same address, another history
        await asyncio.sleep(60.0)
        it.twin.bookmark()
        await it.settle()
        assert ("deleted", "b") in it.told

    run_virtually(scene())
