"""Events against the twin, on virtual time."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from mooring.kube.api import Api
from mooring.kube.recorder import MOST, MOST_PENDING, Recorder, Told
from mooring.kube.twin.server import KubeTwin
from mooring.model.kubernetes import Event, ObjectReference
from mooring.wire.http import NotSent, Request, Response, Stream
from tests.simulation.loop import run_virtually

PATH = "/apis/events.k8s.io/v1/namespaces/default/events"
WEB = ObjectReference("v1", "Service", "default", "web", "uid-1")


class Wire:
    def __init__(self, twin: KubeTwin) -> None:
        self._inner = twin.transport()
        self.down = False
        self.writes = 0
        self.tried: list[float] = []
        self.refusal: Response | None = None

    async def send(self, request: Request) -> Response:
        self.tried.append(asyncio.get_running_loop().time())
        if self.down:
            raise NotSent("down")
        if self.refusal is not None:
            return self.refusal
        self.writes += 1
        return await self._inner.send(request)

    async def open(self, request: Request) -> Stream:
        return await self._inner.open(request)


class Scene:
    def __init__(self) -> None:
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        clock = lambda: begin + timedelta(seconds=asyncio.get_running_loop().time())  # noqa: E731 - the loop's time
        self.twin = KubeTwin(lambda: begin)
        self.wire = Wire(self.twin)
        chance = random.Random(1)  # noqa: S311 - it has to be repeatable
        self.refused: list[tuple[str, str]] = []
        self.recorder = Recorder(
            Api(self.wire),
            "openstack.org/mooring",
            "mooring-0",
            clock,
            chance,
            refused=lambda told, why: self.refused.append((told.note, type(why).__name__)),
        )
        self.task = asyncio.create_task(self.recorder.run())

    def tell(self, note: str = "no gateway", about: ObjectReference = WEB) -> None:
        self.recorder.tell(Told(about, "Warning", "NoGateway", "Publish", note))

    def events(self) -> list[Event]:
        found: dict[str, Any] = msgspec.json.decode(self.twin.handle(Request("list", "GET", PATH)).body)
        return msgspec.convert(found["items"], list[Event])


def test_the_first_telling_makes_an_event_that_says_everything() -> None:
    async def scene() -> None:
        it = Scene()
        it.tell()
        await asyncio.sleep(0.1)
        [event] = it.events()
        assert (event.type, event.reason, event.action, event.note) == (
            "Warning",
            "NoGateway",
            "Publish",
            "no gateway",
        )
        assert event.regarding == WEB
        assert event.reporting_controller == "openstack.org/mooring"
        assert event.series is None

    run_virtually(scene())


def test_repetitions_are_counted_in_one_event_with_few_writes() -> None:
    async def scene() -> None:
        it = Scene()
        for _ in range(500):
            it.tell()
            await asyncio.sleep(1.0)
        await asyncio.sleep(120.0)
        [event] = it.events()
        assert event.series is not None
        assert event.series.count == 500
        assert it.wire.writes <= 12

    run_virtually(scene())


def test_another_note_is_another_event() -> None:
    async def scene() -> None:
        it = Scene()
        it.tell("first")
        it.tell("second")
        await asyncio.sleep(1.0)
        assert sorted(event.note for event in it.events()) == ["first", "second"]

    run_virtually(scene())


def test_one_object_cannot_flood() -> None:
    async def scene() -> None:
        it = Scene()
        for number in range(100):
            it.tell(f"note {number}")
        it.tell("of another", ObjectReference("v1", "Service", "default", "other", "uid-2"))
        await asyncio.sleep(1.0)
        assert len(it.events()) == 26
        assert it.recorder.dropped == 75
        await asyncio.sleep(600.0)
        it.tell("later")
        await asyncio.sleep(1.0)
        assert len(it.events()) == 27

    run_virtually(scene())


def test_a_long_note_is_cut() -> None:
    async def scene() -> None:
        it = Scene()
        it.tell("x" * 5000)
        await asyncio.sleep(1.0)
        assert len(it.events()[0].note) == 1024

    run_virtually(scene())


def test_a_long_note_is_cut_where_a_character_ends() -> None:
    """The API server counts bytes, and would refuse all of it."""

    async def scene() -> None:
        it = Scene()
        it.tell("x" + "€" * 5000)
        await asyncio.sleep(1.0)
        assert it.events()[0].note == "x" + "€" * 341
        assert (it.recorder.dropped, it.refused) == (0, [])

    run_virtually(scene())


def test_what_the_server_will_never_take_is_told_and_not_tried_again() -> None:
    async def scene() -> None:
        it = Scene()
        it.wire.refusal = Response(422, {}, b'{"kind": "Status", "reason": "Invalid", "message": "too long"}')
        it.tell("first")
        await asyncio.sleep(300.0)
        assert it.refused == [("first", "Invalid")]
        assert (it.recorder.dropped, it.wire.tried) == (1, [0.0])

    run_virtually(scene())


def test_an_event_that_has_expired_begins_again() -> None:
    async def scene() -> None:
        it = Scene()
        it.tell()
        await asyncio.sleep(1.0)
        name = it.events()[0].metadata.name
        it.twin.handle(Request("delete", "DELETE", f"{PATH}/{name}"))
        it.tell()
        await asyncio.sleep(61.0)
        it.tell()
        await asyncio.sleep(61.0)
        assert len(it.events()) == 1

    run_virtually(scene())


def test_a_server_that_is_away_costs_a_few_tries_and_no_more() -> None:
    async def scene() -> None:
        it = Scene()
        it.wire.down = True
        it.tell()
        await asyncio.sleep(300.0)
        assert it.recorder.dropped == 1
        it.wire.down = False
        it.tell()
        await asyncio.sleep(1.0)
        assert len(it.events()) == 1

    run_virtually(scene())


def test_a_short_failure_costs_no_event_however_many_are_told_meanwhile() -> None:
    async def scene() -> None:
        it = Scene()
        it.wire.down = True
        for number in range(10):
            it.tell(f"note {number}")
            await asyncio.sleep(0.1)
        it.wire.down = False
        await asyncio.sleep(70.0)
        assert len(it.events()) == 10
        assert it.recorder.dropped == 0

    run_virtually(scene())


def test_tries_of_one_series_are_a_minute_apart() -> None:
    async def scene() -> None:
        it = Scene()
        it.wire.down = True
        for _ in range(100):
            it.tell()
            await asyncio.sleep(1.0)
        assert it.wire.tried == [0.0, 60.0]

    run_virtually(scene())


def test_a_server_that_asks_for_a_longer_pause_gets_it() -> None:
    async def scene() -> None:
        it = Scene()
        it.wire.refusal = Response(429, {"retry-after": "100"})
        it.tell()
        await asyncio.sleep(150.0)
        assert it.wire.tried == [0.0, 100.0]

    run_virtually(scene())


def test_what_waits_while_the_server_is_away_is_bounded_and_the_newest_is_kept() -> None:
    async def scene() -> None:
        it = Scene()
        it.wire.down = True
        for number in range(10_000):
            it.tell(f"note {number}", ObjectReference("v1", "Service", "default", "web", f"uid-{number}"))
        assert len(it.recorder._pending) == MOST_PENDING  # noqa: SLF001 - what it costs cannot be seen from outside
        assert len(it.recorder._budgets) <= MOST  # noqa: SLF001 - as above
        assert it.recorder.dropped == 10_000 - MOST_PENDING
        it.wire.down = False
        await asyncio.sleep(70.0)
        assert len(it.events()) == MOST_PENDING
        assert "note 9999" in {event.note for event in it.events()}

    run_virtually(scene())


def test_an_old_series_is_forgotten_and_a_new_one_begins() -> None:
    async def scene() -> None:
        it = Scene()
        it.tell()
        await asyncio.sleep(700.0)
        it.tell()
        await asyncio.sleep(1.0)
        assert len(it.events()) == 2
        assert all(event.series is None for event in it.events())

    run_virtually(scene())
