"""What the twin offers beyond the API: a window of history, bookmarks, looking back, speed to the letter."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from mooring.kube.twin.server import KubeTwin
from mooring.kube.twin.watching import Subscription
from mooring.wire.http import Request
from tests.contract.kube import bodies
from tests.contract.kube.world import Tree, request

PLACE = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def _twin(window: int = 1000) -> KubeTwin:
    return KubeTwin(lambda: datetime(2026, 1, 1, 12, tzinfo=UTC), window=window)


def _make(twin: KubeTwin, *names: str) -> None:
    for name in names:
        assert twin.handle(request("POST", PLACE, bodies.lease(name))).status == 201


def _watch(twin: KubeTwin, query: str = "") -> Subscription:
    answer = twin.watch(request("GET", f"{PLACE}?watch=1&{query}", None))
    assert isinstance(answer, Subscription)
    return answer


def _events(subscription: Subscription) -> list[Tree]:
    return [msgspec.json.decode(line) for line in subscription.take().splitlines()]


def test_a_new_cluster_has_what_every_cluster_has() -> None:
    body = msgspec.json.decode(_twin().handle(Request("list", "GET", "/api/v1/services")).body)
    assert [item["metadata"]["name"] for item in body["items"]] == ["kubernetes"]
    body = msgspec.json.decode(_twin().handle(Request("list", "GET", "/api/v1/namespaces")).body)
    names = [item["metadata"]["name"] for item in body["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


def test_what_leaves_the_window_is_expired() -> None:
    twin = _twin(window=3)
    begin = twin.version
    _make(twin, *(f"a{number}" for number in range(8)))
    assert [event["type"] for event in _events(_watch(twin, f"resourceVersion={begin}"))] == ["ERROR"]
    recent = _events(_watch(twin, f"resourceVersion={twin.version - 3}"))
    assert [event["type"] for event in recent] == ["ADDED"] * 3


def test_compaction_expires_what_came_before_it_and_nothing_else() -> None:
    twin = _twin()
    _make(twin, "a", "b")
    middle = twin.version
    _make(twin, "c")
    twin.compact(middle)
    assert [event["type"] for event in _events(_watch(twin, f"resourceVersion={middle}"))] == ["ADDED"]
    (error,) = _events(_watch(twin, f"resourceVersion={middle - 1}"))
    assert error["object"]["code"] == 410


def test_open_watches_survive_compaction() -> None:
    twin = _twin()
    watch = _watch(twin, f"resourceVersion={twin.version}")
    _make(twin, "a")
    twin.compact()
    _make(twin, "b")
    assert [event["object"]["metadata"]["name"] for event in _events(watch)] == ["a", "b"]


def test_bookmarks_come_to_those_who_asked() -> None:
    twin = _twin()
    asked, other = (
        _watch(twin, query) for query in ("allowWatchBookmarks=true&resourceVersion=1", "resourceVersion=1")
    )
    twin.bookmark()
    (bookmark,) = _events(asked)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"] == {"resourceVersion": str(twin.version)}
    assert _events(other) == []


def test_a_reader_waits_until_something_comes_or_the_watch_ends() -> None:
    async def story() -> list[bytes]:
        twin = _twin()
        watch = _watch(twin)
        reading = asyncio.create_task(watch.read())
        await asyncio.sleep(0)
        assert not reading.done()
        _make(twin, "a")
        first = await reading
        reading = asyncio.create_task(watch.read())
        await asyncio.sleep(0)
        twin.end_watches()
        return [first, await reading, await watch.read()]

    first, *rest = asyncio.run(story())
    assert msgspec.json.decode(first)["type"] == "ADDED"
    assert rest == [b"", b""]


def test_a_closed_watch_is_forgotten() -> None:
    twin = _twin()
    watch = _watch(twin)
    asyncio.run(watch.close())
    _make(twin, "a")
    assert watch.ended
    assert watch.take() == b""


def test_looking_back_is_for_readers_only() -> None:
    twin = _twin()
    _make(twin, "a")
    with pytest.raises(ValueError, match="reads"):
        twin.handle_at(request("POST", PLACE, bodies.lease("b")), 1)
    assert twin.handle_at(request("GET", f"{PLACE}/a", None), 1).status == 404
    assert twin.handle_at(request("GET", f"{PLACE}/a", None), 0).status == 200


def test_looking_back_stops_where_memory_ends() -> None:
    twin = _twin()
    _make(twin, "a")
    twin.compact()
    _make(twin, "b")
    listing = msgspec.json.decode(twin.handle_at(request("GET", PLACE, None), 100).body)
    assert [item["metadata"]["name"] for item in listing["items"]] == ["a"]


def test_what_is_answered_is_not_what_is_stored() -> None:
    """A tree that was sent can be changed by its sender afterwards; a tree that is stored cannot."""
    twin = _twin()
    body = bodies.labelled(bodies.lease("a"), colour="red")
    twin.handle(request("POST", PLACE, body))
    before = twin.handle(request("GET", f"{PLACE}/a", None)).body
    body["metadata"]["labels"]["colour"] = "blue"
    assert twin.handle(request("GET", f"{PLACE}/a", None)).body == before


def test_a_definition_that_goes_takes_its_objects_along() -> None:
    twin = _twin()
    definition = bodies.CONTRACT_KINDS[0]
    assert twin.handle(request("POST", bodies.DEFINITIONS, definition)).status == 201
    place = "/apis/contract.mooring.test/v1/contractports"
    twin.handle(request("POST", place, bodies.held(bodies.port("held"))))
    twin.handle(request("POST", place, bodies.port("free")))
    path = f"{bodies.DEFINITIONS}/{definition['metadata']['name']}"
    assert twin.handle(request("DELETE", path, None)).status == 200
    assert twin.handle(request("GET", f"{place}/free", None)).status == 404
    assert twin.handle(request("GET", f"{place}/held", None)).status == 200
    let_go = {"metadata": {"finalizers": None}}
    merge = "application/merge-patch+json"
    assert twin.handle(request("PATCH", f"{place}/held", let_go, content=merge)).status == 200
    assert twin.handle(request("GET", place, None)).status == 404
    assert twin.handle(request("GET", path, None)).status == 404


def test_a_changed_definition_counts_at_once() -> None:
    twin = _twin()
    definition = bodies.CONTRACT_KINDS[0]
    twin.handle(request("POST", bodies.DEFINITIONS, definition))
    path = f"{bodies.DEFINITIONS}/{definition['metadata']['name']}"
    here = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more"
    operations = [{"op": "add", "path": here, "value": {"type": "string"}}]
    answer = twin.handle(request("PATCH", path, operations, content="application/json-patch+json"))
    assert answer.status == 200, answer.body
    place = "/apis/contract.mooring.test/v1/contractports"
    made = msgspec.json.decode(twin.handle(request("POST", place, bodies.port("a", more="kept"))).body)
    assert made["spec"]["more"] == "kept"


def test_what_the_twin_does_not_know_is_said_aloud() -> None:
    twin = _twin()
    assert twin.handle(request("POST", f"{PLACE}?dryRun=All", bodies.lease())).status == 501
    definition: Tree = msgspec.json.decode(msgspec.json.encode(bodies.CONTRACT_KINDS[0]))
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = []
    assert twin.handle(request("POST", bodies.DEFINITIONS, definition)).status == 501
    assert twin.handle(request("GET", f"{bodies.DEFINITIONS}/contractports.contract.mooring.test", None)).status == 404
