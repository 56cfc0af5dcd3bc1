"""The Kubernetes adapter against the real API server, which is compacted, killed, stopped, cut off and slowed down."""

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mooring.kube import errors
from mooring.kube.api import PAGE, Api
from mooring.kube.kinds import EVENTS, LEASES, SERVICES
from mooring.kube.recorder import Recorder, Told
from mooring.kube.twin.server import Whole
from mooring.lab.lab import Lab
from mooring.model.kubernetes import Event, Meta, Name, ObjectReference, Service, ServicePort, ServiceSpec
from mooring.model.names import EPOCH
from mooring.wire.http import Request, Response, Stream, Transport
from tests.lab import api_server, following
from tests.lab.account import Account, until_refused
from tests.lab.candidates import assert_epochs_grow, candidate, never_both
from tests.lab.following import Ways, change, make, remove, ways
from tests.patience import until

MANY = 10_000
CHANGED = 1_000
WRITERS = 32


@pytest.fixture
def namespace(lab: Lab) -> Iterator[str]:
    name = f"k-{uuid.uuid4().hex[:8]}"
    lab.kubectl("create", "namespace", name)
    yield name
    lab.kubectl("delete", "namespace", name, "--wait=false")


async def make_event(api: Api, namespace: str, name: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    about = ObjectReference("v1", "Service", namespace, "web", "uid")
    event = Event(
        metadata=Meta(name=name, namespace=namespace),
        event_time=now,
        reporting_controller="openstack.org/mooring",
        reporting_instance="test",
        action="Try",
        reason="Test",
        regarding=about,
        type="Normal",
    )
    await api.create(EVENTS, event)


async def remove_event(api: Api, namespace: str, name: str) -> None:
    event = await api.get(EVENTS, Name(namespace, name))
    await api.delete(EVENTS, event.name, uid=event.metadata.uid)


def test_deletions_that_happened_before_a_compaction_are_told(lab: Lab, namespace: str) -> None:
    """Events are not kept in the API server's memory, so a compaction of the store makes it answer 410 at once."""

    async def scene() -> None:
        async with ways(lab) as at:
            for name in ("a", "b", "c"):
                await make_event(at.direct, namespace, name)
            async with following.following(at.proxied, EVENTS, namespace) as it:
                it.told.clear()
                at.proxy.stall()
                await remove_event(at.direct, namespace, "b")
                await make_event(at.direct, namespace, "d")
                now = await at.direct.list(EVENTS, namespace=namespace)
                await asyncio.to_thread(api_server.compact, lab, now.version)
                at.proxy.cut()
                at.proxy.go_on()
                await it.equals(at.direct)
                assert sorted(it.told) == [("added", "d"), ("deleted", "b")]
                assert [type(error) for error in it.trouble] == [errors.Unreachable, errors.Gone]
                await make_event(at.direct, namespace, "e")
                await it.equals(at.direct)

    asyncio.run(scene())


def test_a_deletion_whose_past_was_compacted_is_told(lab: Lab, namespace: str) -> None:
    """The watch can be resumed, but the server no longer knows what was deleted and answers 500, for ever."""

    async def scene() -> None:
        async with ways(lab) as at:
            for name in ("a", "b"):
                await make_event(at.direct, namespace, name)
            async with following.following(at.proxied, EVENTS, namespace) as it:
                it.told.clear()
                begin = await at.direct.list(EVENTS, namespace=namespace)
                at.proxy.stall()
                await remove_event(at.direct, namespace, "a")
                watch = await at.direct.watch(EVENTS, version=begin.version, namespace=namespace)
                [deleted] = await watch.read()
                await watch.close()
                await asyncio.to_thread(api_server.compact, lab, deleted.object.metadata.resource_version)
                at.proxy.cut()
                at.proxy.go_on()
                await it.equals(at.direct)
                assert it.told == [("deleted", "a")]
                assert it.saw("PrevKv=nil")

    asyncio.run(scene())


def test_a_list_whose_version_is_compacted_between_its_pages_begins_again(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with ways(lab) as at:
            await side_by_side(PAGE + 100, lambda number: make_event(at.direct, namespace, f"e-{number}"))
            older = WithoutWatchList(at.http)

            async def forget() -> None:
                await remove_event(at.direct, namespace, "e-7")
                await make_event(at.direct, namespace, "later")
                now = await at.direct.list(EVENTS, namespace=namespace)
                await asyncio.to_thread(api_server.compact, lab, now.version)

            older.after_first_page = forget
            async with following.following(Api(older), EVENTS, namespace) as it:
                await it.equals(at.direct)
                assert len(it.store) == PAGE + 100
                assert [type(error) for error in it.trouble] == [errors.Invalid, errors.Gone]
                assert older.lists == 4

    asyncio.run(scene())


def test_deletions_that_happened_before_a_restart_are_told(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with ways(lab) as at:
            for name in ("a", "b", "c", "d"):
                await make(at.direct, namespace, name)
            async with following.following(at.proxied, LEASES, namespace) as it:
                it.told.clear()
                at.proxy.stall()
                await remove(at.direct, namespace, "b")
                await remove(at.direct, namespace, "c")
                await make(at.direct, namespace, "c")
                await change(at.direct, namespace, "d", "x")
                now = await at.direct.list(LEASES, namespace=namespace)
                await api_server.restart(lab)
                await asyncio.to_thread(api_server.compact, lab, now.version)
                at.proxy.cut()
                at.proxy.go_on()
                await it.equals(at.direct)
                wanted = [("added", "c"), ("changed", "d"), ("deleted", "b"), ("deleted", "c")]
                assert sorted(it.told) == wanted

    asyncio.run(scene())


def test_a_restart_while_everything_changes_is_survived(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with ways(lab) as at, following.following(at.direct, LEASES, namespace) as it:
            async with (
                following.busy(at.direct, namespace),
                candidate(at.direct, namespace, "first") as first,
                candidate(at.direct, namespace, "second") as second,
            ):
                await until(lambda: first.leads or second.leads, what="a leader")
                await api_server.restart(lab)
                before = len(it.told)
                await until(lambda: first.leads or second.leads, seconds=30, what="a leader after the restart")
                await until(lambda: len(it.told) > before + 20, seconds=30, what="news after the restart")
                assert_epochs_grow(first, second)
            assert it.trouble
            await it.equals(at.direct)

    asyncio.run(scene())


def test_a_server_that_stands_still_is_noticed_and_followed_again(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with (
            ways(lab) as at,
            following.following(at.direct, LEASES, namespace, silence=3.0) as it,
        ):
            async with following.busy(at.direct, namespace):
                await until(lambda: len(it.told) > 10, what="news")
                assert it.trouble == []
                async with api_server.frozen(lab):
                    await until(lambda: it.saw("silent for 3 s"), what="the silence to be noticed")
                    assert len(it.store) > 0
                before = len(it.told)
                await until(lambda: len(it.told) > before + 10, seconds=30, what="news afterwards")
            await it.equals(at.direct)

    asyncio.run(scene())


def test_a_way_that_stands_still_is_noticed_and_another_one_taken(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with (
            ways(lab) as at,
            following.following(at.proxied, LEASES, namespace, silence=3.0) as it,
        ):
            async with following.busy(at.direct, namespace):
                await until(lambda: len(it.told) > 10, what="news")
                assert it.trouble == []
                at.proxy.stall()
                await until(lambda: it.saw("silent for 3 s"), what="the silence to be noticed")
                await until(lambda: at.proxy.connections == 2, what="another connection")
                await until(lambda: at.proxy.open == 1, seconds=3, what="the old connection to be left")
                before = len(it.told)
                at.proxy.go_on()
                await until(lambda: len(it.told) > before + 10, seconds=30, what="news afterwards")
            await it.equals(at.direct)

    asyncio.run(scene())


def test_events_that_are_cut_in_the_middle_come_whole_and_once(lab: Lab, namespace: str) -> None:
    """A large one arrives in many records of TLS: what came before the cut has been read by us already."""

    async def scene() -> None:
        async with ways(lab) as at, following.following(at.proxied, LEASES, namespace) as it:
            cuts = (0, 100, 5_000, 20_000, 60_000, 150_000, 199_000)
            for number, count in enumerate(cuts):
                before = at.proxy.connections
                at.proxy.cut_after(count)
                await make(at.direct, namespace, f"large-{number}", text=f"{number}é€𝄞" * 20_000)
                await it.equals(at.direct)
                assert at.proxy.connections > before
            assert it.told == [("added", f"large-{number}") for number in range(len(cuts))]
            assert len(it.trouble) >= len(cuts)
            texts = {each.metadata.name: each.metadata.annotations["text"] for each in it.store.all()}
            assert texts == {f"large-{number}": f"{number}é€𝄞" * 20_000 for number in range(len(cuts))}

    asyncio.run(scene())


def test_a_slow_server_is_waited_for(lab: Lab, namespace: str) -> None:
    """20 KiB a second: the first objects take longer than the silence that would be too long, and nothing is silent."""

    async def scene() -> None:
        async with ways(lab) as at:
            for number in range(40):
                await make(at.direct, namespace, f"l-{number}", text="x" * 3_000)
            at.proxy.slow(1024, 0.05)
            begin = time.monotonic()
            async with following.following(at.proxied, LEASES, namespace, silence=3.0) as it:
                assert time.monotonic() - begin > 5.0
                assert len(it.store) == 40
                assert it.trouble == []
                assert len((await at.proxied.list(LEASES, namespace=namespace)).items) == 40
                await change(at.direct, namespace, "l-7", "x")
                await it.equals(at.direct)

    asyncio.run(scene())


def test_a_token_that_has_ended_is_read_again(lab: Lab, namespace: str, tmp_path: Path) -> None:
    account = Account(lab, namespace, tmp_path)
    first, second, third = (account.make(name) for name in ("first", "second", "third"))
    account.give(first)

    async def scene() -> None:
        async with (
            ways(lab) as admin,
            ways(lab, account.kubeconfig) as at,
            following.following(at.proxied, LEASES, namespace) as it,
        ):
            account.give(second)
            account.end("first")
            await until_refused(lab, first)
            await make(admin.direct, namespace, "a")
            assert len((await at.direct.list(LEASES, namespace=namespace)).items) == 1
            at.proxy.cut()
            await it.equals(admin.direct)
            assert not [error for error in it.trouble if isinstance(error, errors.Unauthorized)]

            account.give("garbage")
            account.end("second")
            await until_refused(lab, second)
            with pytest.raises(errors.Unauthorized):
                await at.direct.list(LEASES, namespace=namespace)
            at.proxy.cut()
            await until(lambda: it.saw("401"), what="the refusal to be told")
            await make(admin.direct, namespace, "b")
            account.give(third)
            await it.equals(admin.direct)
            assert len((await at.direct.list(LEASES, namespace=namespace)).items) == 2
            assert not it.saw(second)

    asyncio.run(scene())


class WithoutWatchList:
    """The way to a server as if it were an older one; something may happen after the first page of the first list."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.lists = 0
        self.after_first_page: Callable[[], Awaitable[None]] | None = None

    async def send(self, request: Request) -> Response:
        self.lists += request.what.startswith("list ")
        response = await self._transport.send(request)
        if self.lists == 1 and self.after_first_page is not None:
            await self.after_first_page()
        return response

    async def open(self, request: Request) -> Stream:
        if ("sendInitialEvents", "true") in request.query:
            return Whole(Response(422))
        return await self._transport.open(request)


async def side_by_side(count: int, work: following.Work) -> None:
    """Do something for each number below a count, some at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(WRITERS)))


def test_ten_thousand_objects(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with ways(lab) as at, following.following(at.direct, LEASES, namespace, name="early") as early:
            begin = time.monotonic()
            await side_by_side(MANY, lambda number: make(at.direct, namespace, f"l-{number}"))
            created = time.monotonic() - begin
            older = WithoutWatchList(at.http)
            async with (
                following.following(at.direct, LEASES, namespace, name="late") as late,
                following.following(Api(older), LEASES, namespace, name="paged") as paged,
            ):
                everybody = (early, late, paged)
                for it in everybody:
                    await it.equals(at.direct)
                    assert it.counts() == {"added": MANY}
                assert older.lists == MANY / PAGE
                await side_by_side(CHANGED, lambda number: change(at.direct, namespace, f"l-{number * 7}", "x"))
                for it in everybody:
                    await it.equals(at.direct)
                    assert it.counts() == {"added": MANY, "changed": CHANGED}
                await at.http.send(Request("test", "DELETE", LEASES.path(namespace), seconds=120.0))
                for it in everybody:
                    await until(lambda it=it: not it.store, seconds=60, what="all deletions")  # type: ignore[misc]
                    assert it.counts() == {"added": MANY, "changed": CHANGED, "deleted": MANY}
                print(f"{MANY} objects: created in {created:.1f} s, all done after {time.monotonic() - begin:.1f} s")  # noqa: T201

    asyncio.run(scene())


def test_events_are_what_kubectl_shows(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with ways(lab) as at:
            wanted = Service(Meta("web", namespace), ServiceSpec(ports=(ServicePort(80),)))
            web = await at.direct.create(SERVICES, wanted)
            about = ObjectReference("v1", "Service", namespace, "web", web.metadata.uid)
            told = Told(about, "Warning", "NoGateway", "Publish", "no gateway is ready: ü€𝄞")
            chance = random.Random()  # noqa: S311 - nobody guards anything with it
            recorder = Recorder(at.direct, "openstack.org/mooring", "mooring-0", lambda: datetime.now(UTC), chance)
            task = asyncio.create_task(recorder.run())
            recorder.tell(told)
            await shown(at, namespace, 1)
            recorder.tell(told)
            await shown(at, namespace, 2)
            await following.end(task)
            assert recorder.dropped == 0

    asyncio.run(scene())
    described = lab.kubectl("describe", "service", "web", f"--namespace={namespace}")
    [line] = [line for line in described.splitlines() if "no gateway is ready: ü€𝄞" in line]
    assert line.split()[:2] == ["Warning", "NoGateway"]
    assert "(x2 over" in line
    assert "openstack.org/mooring" in line
    assert "service/web" in lab.kubectl("get", "events", f"--namespace={namespace}")


async def shown(at: Ways, namespace: str, count: int) -> None:
    """Wait until there is one event, told so often."""
    async with asyncio.timeout(10):
        while True:
            found = (await at.direct.list(EVENTS, namespace=namespace)).items
            assert len(found) < 2
            if [event.series.count if event.series else 1 for event in found] == [count]:
                return
            await asyncio.sleep(0.05)


def test_who_stops_hands_over_at_once(lab: Lab, namespace: str) -> None:
    async def scene() -> None:
        async with ways(lab) as at, candidate(at.direct, namespace, "first") as first:
            await until(lambda: first.leads, what="the first one to lead")
            async with candidate(at.proxied, namespace, "second") as second:
                await until(lambda: at.proxy.connections > 0, what="the second one to look")
                begin = time.monotonic()
                await following.end(first.task)
                await until(lambda: second.leads, what="the second one to lead")
                assert time.monotonic() - begin < 3.0
                assert (first.epochs, second.epochs) == ([1], [2])
                lease = await at.direct.get(LEASES, Name(namespace, "leader"))
                assert lease.spec.holder_identity == "second"
                assert lease.metadata.annotations[EPOCH] == "2"

    asyncio.run(scene())


@pytest.mark.parametrize("how", ["shut", "stall"])
def test_who_is_cut_off_gives_up_and_is_followed(lab: Lab, namespace: str, how: str) -> None:
    async def scene() -> None:
        async with (
            ways(lab) as at,
            candidate(at.proxied, namespace, "first") as first,
        ):
            await until(lambda: first.leads, what="the first one to lead")
            async with candidate(at.direct, namespace, "second") as second:
                await until(lambda: first.leads, what="the first one to lead on")
                at.proxy.shut() if how == "shut" else at.proxy.stall()
                await never_both(first, second, second, 20.0)
                assert first.term is None
                at.proxy.reopen() if how == "shut" else at.proxy.go_on()
                held = len(second.epochs)
                await following.end(second.task)
                await never_both(first, second, first, 30.0)
                assert held == 1
                assert first.epochs[0] < second.epochs[0] < first.epochs[-1]
                assert_epochs_grow(first, second)

    asyncio.run(scene())
