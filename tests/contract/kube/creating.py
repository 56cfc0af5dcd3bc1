"""What happens to an object that is sent for the first time."""

from tests.contract.kube.bodies import endpoint_slice, labelled, lease, port, service
from tests.contract.kube.world import World

PAST = "2000-01-01T00:00:00Z"


async def a_created_object_gets_what_only_the_server_gives(at: World) -> None:
    answer = await at.made(at.leases, lease())
    assert answer.body["kind"] == "Lease"
    assert answer.body["apiVersion"] == "coordination.k8s.io/v1"
    assert answer.meta["namespace"] == at.namespace
    assert len(answer.meta["uid"]) == 36
    assert answer.meta["creationTimestamp"].endswith("Z")
    assert int(answer.version) > 0
    assert (await at.get(f"{at.leases}/a")).body == answer.body


async def uid_and_times_of_the_sender_are_not_taken(at: World) -> None:
    meta = {"name": "a", "uid": "1", "creationTimestamp": PAST, "deletionTimestamp": PAST}
    answer = await at.made(at.leases, {"metadata": meta})
    assert answer.meta["uid"] != "1"
    assert answer.meta["creationTimestamp"] > PAST
    assert "deletionTimestamp" not in answer.meta


async def a_second_of_the_same_name_is_refused(at: World) -> None:
    await at.made(at.leases, lease())
    answer = await at.post(at.leases, lease())
    assert (answer.status, answer.reason) == (409, "AlreadyExists")


async def a_version_must_not_be_sent(at: World) -> None:
    answer = await at.post(at.leases, {"metadata": {"name": "a", "resourceVersion": "5"}})
    assert answer.status == 500


async def versions_grow_over_all_kinds(at: World) -> None:
    versions = [
        int((await at.made(at.leases, lease("a"))).version),
        int((await at.made(at.services, service("a"))).version),
        int((await at.made(at.leases, lease("b"))).version),
        int(await at.version_of(at.services)),
    ]
    assert versions == sorted(versions)
    assert len(set(versions[:3])) == 3


async def a_name_is_made_from_its_beginning(at: World) -> None:
    first = await at.made(at.leases, {"metadata": {"generateName": "gen-"}})
    second = await at.made(at.leases, {"metadata": {"generateName": "gen-"}})
    assert first.meta["generateName"] == "gen-"
    assert first.meta["name"].startswith("gen-")
    assert len(first.meta["name"]) == len("gen-") + 5
    assert first.meta["name"] != second.meta["name"]


async def a_name_is_needed(at: World) -> None:
    for meta in ({}, {"labels": {"a": "b"}}):
        answer = await at.post(at.leases, {"metadata": meta})
        assert (answer.status, answer.fields) == (422, {"metadata.name"})


async def names_have_rules(at: World) -> None:
    for path, body in ((at.leases, lease("A_b")), (at.services, service("a.b")), (at.ports, port("A_b"))):
        answer = await at.post(path, body)
        assert (answer.status, answer.reason, answer.fields) == (422, "Invalid", {"metadata.name"})
    assert (await at.post(at.leases, lease("a.b"))).status == 201


async def labels_have_rules(at: World) -> None:
    for labels in ({"a": "b c"}, {"a b": "c"}, {"x/y/z": "c"}, {"a": "x" * 64}):
        answer = await at.post(at.leases, labelled(lease(), **labels))
        assert (answer.status, answer.fields) == (422, {"metadata.labels"})
    await at.made(at.leases, labelled(lease(), **{"a.b/c": "d", "e": ""}))


async def keys_of_annotations_have_rules(at: World) -> None:
    answer = await at.post(at.leases, {"metadata": {"name": "a", "annotations": {"a b": "c"}}})
    assert (answer.status, answer.fields) == (422, {"metadata.annotations"})
    await at.made(at.leases, {"metadata": {"name": "a", "annotations": {"A.b/C": "any text: {}"}}})


async def values_of_annotations_are_texts(at: World) -> None:
    answer = await at.post(at.leases, {"metadata": {"name": "a", "annotations": {"a": 1}}})
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def finalizers_of_some_kinds_have_a_domain(at: World) -> None:
    meta = {"name": at.unique("a"), "finalizers": ["hold"]}
    for path, body in ((at.services, service()), (at.slices, endpoint_slice())):
        answer = await at.post(path, body | {"metadata": meta})
        assert (answer.status, answer.fields) == (422, {"metadata.finalizers[0]"})
    for path, body in ((at.leases, lease()), (at.ports, port("a"))):
        await at.made(path, body | {"metadata": meta})
        await at.patch(f"{path}/{at.unique('a')}", {"metadata": {"finalizers": None}})
    await at.delete(f"{at.ports}/{at.unique('a')}")


async def all_that_is_wrong_is_told_at_once(at: World) -> None:
    wrong = labelled(service("A_b", type="Nonsense"), a="b c")
    answer = await at.post(at.services, wrong)
    assert answer.fields == {"metadata.name", "metadata.labels", "spec.type"}
    answer = await at.post(at.ports, port("A_b", mode="nonsense"))
    assert answer.fields == {"metadata.name", "spec.mode"}


async def owners_are_told_whole(at: World) -> None:
    answer = await at.post(at.leases, {"metadata": {"name": "a", "ownerReferences": [{"kind": "Pod"}]}})
    assert answer.status == 422
    assert {f"metadata.ownerReferences.{each}" for each in ("apiVersion", "name", "uid")} <= answer.fields


async def the_namespace_must_exist(at: World) -> None:
    answer = await at.post(at.leases.replace(at.namespace, "no-such-namespace"), lease())
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.body["details"] == {"name": "no-such-namespace", "kind": "namespaces"}


async def the_namespace_of_the_object_is_that_of_the_path(at: World) -> None:
    answer = await at.post(at.leases, {"metadata": {"name": "a", "namespace": "default"}})
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def the_kind_of_the_object_is_that_of_the_path(at: World) -> None:
    for head in ({"kind": "Pod", "apiVersion": "v1"}, {"kind": "Service", "apiVersion": "v2"}):
        answer = await at.post(at.services, service() | head)
        assert (answer.status, answer.reason) == (400, "BadRequest")


async def nonsense_is_a_bad_request(at: World) -> None:
    for body in (b'{"metadata":', b"[]", b"nonsense"):
        answer = await at.post(at.leases, body)
        assert (answer.status, answer.reason) == (400, "BadRequest")


async def only_json_is_understood(at: World) -> None:
    answer = await at.call("POST", at.leases, lease(), content="text/plain")
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")


async def methods_belong_to_paths(at: World) -> None:
    await at.made(at.leases, lease())
    everywhere = "/apis/coordination.k8s.io/v1/leases"
    for method, path in (("POST", everywhere), ("PUT", at.leases), ("POST", f"{at.leases}/a"), ("PATCH", at.leases)):
        answer = await at.call(method, path, lease())
        assert (answer.status, answer.reason) == (405, "MethodNotAllowed"), (method, path)


async def what_is_not_served_is_not_found(at: World) -> None:
    await at.made(at.services, service())
    paths = (
        "/api/v1/namespaces/default/nonsenses",
        "/apis/no.such.group/v1/things",
        "/api/v1/services/a",
        f"{at.services}/a/nonsense",
        f"{at.leases}/a/status",
    )
    for path in paths:
        assert (await at.get(path)).status == 404, path


async def unknown_fields_are_dropped(at: World) -> None:
    answer = await at.made(at.leases, lease(nonsense=1) | {"more": 2})
    assert "more" not in answer.body
    assert answer.body["spec"] == {}


async def an_object_that_is_not_there_is_named_in_the_refusal(at: World) -> None:
    answer = await at.get(f"{at.leases}/nobody")
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.body["details"] == {"name": "nobody", "group": "coordination.k8s.io", "kind": "leases"}
    assert answer.body["message"] == 'leases.coordination.k8s.io "nobody" not found'
