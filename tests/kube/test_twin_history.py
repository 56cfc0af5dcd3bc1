"""What the twin tells over time is what it is: watches, cut and resumed anywhere, end in the state of a list."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.twin.server import KubeTwin
from mooring.kube.twin.watching import Subscription
from mooring.wire.http import Request, Response

PLACE = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
MERGE = {"content-type": "application/merge-patch+json"}
NAMES = st.sampled_from(["a", "b", "c"])
COLOURS = st.sampled_from(["red", "blue", ""])

Tree = dict[str, Any]
Query = Mapping[str, str]
NO_QUERY: Query = {}
Step = tuple[str, str, str]

steps = st.one_of(
    st.tuples(st.just("create"), NAMES, COLOURS),
    st.tuples(st.just("hold"), NAMES, COLOURS),
    st.tuples(st.just("colour"), NAMES, COLOURS),
    st.tuples(st.just("let go"), NAMES, COLOURS),
    st.tuples(st.just("delete"), NAMES, COLOURS),
)


def _twin(window: int = 1000) -> KubeTwin:
    return KubeTwin(lambda: datetime(2026, 1, 1, 12, tzinfo=UTC), window=window)


def _call(twin: KubeTwin, method: str, path: str, body: Tree | None = None, query: Query = NO_QUERY) -> Response:
    sent = b"" if body is None else msgspec.json.encode(body)
    headers = MERGE if method == "PATCH" else {"content-type": "application/json"}
    return twin.handle(Request(method, method, path, tuple(query.items()), headers, sent))


def _step(twin: KubeTwin, step: Step) -> None:
    """One thing that a user may do. What cannot be done now is refused, and that is a step as well."""
    verb, name, colour = step
    labels = {"colour": colour} if colour else {}
    match verb:
        case "create" | "hold":
            meta: Tree = {"name": name, "labels": labels}
            if verb == "hold":
                meta["finalizers"] = ["a.b/c"]
            _call(twin, "POST", PLACE, {"metadata": meta})
        case "colour":
            _call(twin, "PATCH", f"{PLACE}/{name}", {"metadata": {"labels": {"colour": colour or None}}})
        case "let go":
            _call(twin, "PATCH", f"{PLACE}/{name}", {"metadata": {"finalizers": None}})
        case _:
            _call(twin, "DELETE", f"{PLACE}/{name}")


def _listed(twin: KubeTwin, **query: str) -> dict[str, Tree]:
    items = msgspec.json.decode(_call(twin, "GET", PLACE, query=query).body)["items"]
    return {item["metadata"]["name"]: item for item in items}


def _watch(twin: KubeTwin, **query: str) -> Subscription:
    answer = twin.watch(Request("watch", "GET", PLACE, (("watch", "1"), *query.items())))
    assert isinstance(answer, Subscription)
    return answer


class Follower:
    """Keeps a copy by watching, and remembers the version that it has seen."""

    def __init__(self, twin: KubeTwin, **query: str) -> None:
        self.objects: dict[str, Tree] = {}
        self._query = query
        self._version = "1"
        self._watch = _watch(twin, resourceVersion=self._version, **query)

    def read(self) -> None:
        for line in self._watch.take().splitlines():
            event = msgspec.json.decode(line)
            self._version = event["object"]["metadata"]["resourceVersion"]
            item = {key: value for key, value in event["object"].items() if key not in {"kind", "apiVersion"}}
            name = item.get("metadata", {}).get("name", "")
            match event["type"]:
                case "ADDED":
                    assert name not in self.objects
                    self.objects[name] = item
                case "MODIFIED":
                    assert name in self.objects
                    self.objects[name] = item
                case "DELETED":
                    del self.objects[name]
                case other:
                    assert other == "BOOKMARK"

    def cut(self, twin: KubeTwin) -> None:
        """Lose the stream, with whatever it held unread, and go on from the last version."""
        self._watch.end()
        self._watch = _watch(twin, resourceVersion=self._version, **self._query)


@given(st.lists(st.tuples(steps, st.sampled_from(["", "read", "cut", "bookmark"])), max_size=40))
def test_a_watch_cut_and_resumed_anywhere_ends_in_the_state_of_a_list(
    story: list[tuple[Step, str]],
) -> None:
    twin = _twin()
    queries: list[dict[str, str]] = [{}, {"labelSelector": "colour=red"}, {"labelSelector": "!colour"}]
    queries.append({"fieldSelector": "metadata.name!=a", "labelSelector": "colour in (red,blue)"})
    followers = [(query, Follower(twin, allowWatchBookmarks="true", **query)) for query in queries]
    for step, then in story:
        _step(twin, step)
        if then == "bookmark":
            twin.bookmark()
        for _, follower in followers:
            if then == "cut":
                follower.cut(twin)
            if then:
                follower.read()
    for query, follower in followers:
        follower.read()
        assert follower.objects == _listed(twin, **query)


@given(st.lists(steps, max_size=30), st.data())
def test_the_past_is_what_it_was(story: list[Step], data: st.DataObject) -> None:
    twin = _twin()
    seen = {twin.version: _listed(twin)}
    for step in story:
        _step(twin, step)
        seen[twin.version] = _listed(twin)
    version = data.draw(st.sampled_from(sorted(seen)))
    request = Request("list", "GET", PLACE)
    back = twin.handle_at(request, twin.version - version)
    listing = msgspec.json.decode(back.body)
    assert listing["metadata"]["resourceVersion"] == str(version)
    assert {item["metadata"]["name"]: item for item in listing["items"]} == seen[version]
    exact = _listed(twin, resourceVersion=str(version), resourceVersionMatch="Exact")
    assert exact == seen[version]
    for name in "abc":
        answer = twin.handle_at(Request("get", "GET", f"{PLACE}/{name}"), twin.version - version)
        assert answer.status == (200 if name in seen[version] else 404)


@given(st.lists(steps, max_size=30), st.integers(1, 3))
def test_pages_put_together_are_the_list_of_their_version(story: list[Step], limit: int) -> None:
    twin = _twin()
    for step in story:
        _step(twin, step)
    whole, names = _listed(twin), []
    token = ""
    while True:
        page = msgspec.json.decode(_call(twin, "GET", PLACE, query={"limit": str(limit), "continue": token}).body)
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
        _step(twin, ("create", "c", "red"))
        _step(twin, ("delete", names[-1], ""))
    assert names == sorted(whole)


@given(st.lists(steps, max_size=30))
def test_the_same_story_gives_the_same_bytes(story: list[Step]) -> None:
    answers = []
    for _ in range(2):
        twin = _twin()
        for step in story:
            _step(twin, step)
        answers.append((_call(twin, "GET", PLACE).body, _watch(twin, resourceVersion="1").take()))
    assert answers[0] == answers[1]


@given(st.lists(steps, max_size=20), st.lists(steps, max_size=20))
def test_a_backup_that_is_put_back_is_what_was_and_goes_on_from_there(before: list[Step], since: list[Step]) -> None:
    twin = _twin()
    for step in before:
        _step(twin, step)
    listed = _call(twin, "GET", PLACE).body
    backup = twin.backup()
    watch = twin.watch(Request("watch", "GET", PLACE, (("watch", "1"),)))
    for step in since:
        _step(twin, step)
    twin.restore(backup)
    assert isinstance(watch, Subscription)
    assert watch.ended
    assert _call(twin, "GET", PLACE).body == listed
    _step(twin, ("create", "d", ""))
    assert twin.version == backup.version + 1


def test_what_a_backup_does_not_know_is_free_again() -> None:
    """And what it knows is taken: addresses and ports of Services are of the limited stock."""
    twin = _twin()
    path = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}}
    other = body | {"metadata": {"name": "b"}}
    empty = twin.backup()
    assert _call(twin, "POST", path, body).status == 201
    full = twin.backup()
    twin.restore(empty)
    assert _call(twin, "POST", path, other).status == 201
    twin.restore(full)
    assert _call(twin, "POST", path, other).status == 422
