"""Patches and replacements, and what they may not touch."""

from typing import Any

from tests.contract.kube.bodies import labelled, lease, port, service
from tests.contract.kube.world import LIST_PATCH, Answer, World


async def _made(at: World, **annotations: str) -> Answer:
    return await at.made(at.leases, {"metadata": {"name": "a", "annotations": annotations}, "spec": {}})


async def _changed(at: World, **meta: Any) -> Answer:  # noqa: ANN401 - fields of metadata
    return await at.patch(f"{at.leases}/a", {"metadata": meta})


async def a_merge_patch_sets_and_takes_away(at: World) -> None:
    before = await _made(at, keep="1", drop="2", change="3")
    after = await _changed(at, annotations={"drop": None, "change": "4", "add": "5"})
    assert after.status == 200
    assert after.meta["annotations"] == {"keep": "1", "change": "4", "add": "5"}
    assert int(after.version) > int(before.version)
    assert (await at.get(f"{at.leases}/a")).body == after.body


async def what_becomes_empty_is_absent(at: World) -> None:
    await _made(at, drop="2")
    assert "annotations" not in (await _changed(at, annotations={"drop": None})).meta


async def a_patch_that_changes_nothing_keeps_the_version(at: World) -> None:
    before = await _made(at, keep="1")
    change: dict[str, Any]
    for change in ({}, {"metadata": {"annotations": {"keep": "1"}}}, {"metadata": {"labels": {}}}, {"nonsense": 1}):
        assert (await at.patch(f"{at.leases}/a", change)).version == before.version


async def a_patch_with_the_version_that_is_current_passes(at: World) -> None:
    before = await _made(at)
    after = await _changed(at, resourceVersion=before.version, annotations={"a": "b"})
    assert after.status == 200


async def a_patch_with_an_older_version_conflicts(at: World) -> None:
    before = await _made(at)
    await _changed(at, annotations={"a": "b"})
    more: dict[str, Any]
    for more in ({"annotations": {"a": "c"}}, {}):
        answer = await _changed(at, resourceVersion=before.version, **more)
        assert (answer.status, answer.reason) == (409, "Conflict")
        assert answer.body["details"]["name"] == "a"


async def an_empty_version_asks_for_nothing_where_it_is_allowed(at: World) -> None:
    await at.made(at.services, service())
    await _made(at)
    for number, version in enumerate(("", "0", None)):
        change = {"metadata": {"resourceVersion": version, "annotations": {"a": str(number)}}}
        assert (await at.patch(f"{at.services}/a", change)).status == 200
        answer = await at.patch(f"{at.leases}/a", change)
        assert (answer.status, answer.fields) == (422, {"metadata.resourceVersion"})


async def a_version_that_is_no_number_is_a_fault(at: World) -> None:
    await _made(at)
    assert (await _changed(at, resourceVersion="abc", annotations={"a": "b"})).status == 500


async def a_conflict_is_told_before_anything_that_is_invalid(at: World) -> None:
    await at.made(at.services, service())
    change = {"metadata": {"resourceVersion": "1"}, "spec": {"type": "Nonsense"}}
    assert (await at.patch(f"{at.services}/a", change)).status == 409


async def names_cannot_change(at: World) -> None:
    await _made(at)
    for meta in ({"name": "b"}, {"name": None}, {"namespace": "default"}):
        answer = await _changed(at, **meta)
        assert (answer.status, answer.reason) == (400, "BadRequest"), meta


async def the_uid_cannot_change(at: World) -> None:
    before = await _made(at)
    answer = await _changed(at, uid="11111111-1111-1111-1111-111111111111")
    assert (answer.status, answer.fields) == (422, {"metadata.uid"})
    assert (await _changed(at, uid=None)).version == before.version


async def deletion_is_not_a_patch(at: World) -> None:
    await _made(at)
    answer = await _changed(at, deletionTimestamp="2026-01-01T00:00:00Z")
    assert (answer.status, answer.fields) == (422, {"metadata.deletionTimestamp"})


async def times_and_generation_are_kept_without_a_word(at: World) -> None:
    before = await _made(at)
    meta: dict[str, Any]
    for meta in ({"creationTimestamp": "2001-01-01T00:00:00Z"}, {"creationTimestamp": None}, {"generation": 7}):
        assert (await _changed(at, **meta)).body == before.body


async def a_patch_that_breaks_the_types_is_invalid(at: World) -> None:
    await _made(at)
    for change in ({"metadata": {"annotations": {"a": 1}}}, {"spec": {"holderIdentity": 1}}, {"kind": "Pod"}):
        answer = await at.patch(f"{at.leases}/a", change)
        assert (answer.status, answer.reason, answer.fields) == (422, "Invalid", {"patch"}), change


async def a_patch_that_is_no_patch_is_a_bad_request(at: World) -> None:
    await _made(at)
    for body in (b"[]", b'"a"', b"{"):
        answer = await at.patch(f"{at.leases}/a", body)
        assert (answer.status, answer.reason) == (400, "BadRequest")


async def a_patch_says_what_kind_of_patch_it_is(at: World) -> None:
    await _made(at)
    answer = await at.call("PATCH", f"{at.leases}/a", {})
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")


async def nobody_can_be_patched(at: World) -> None:
    assert (await at.patch(f"{at.leases}/nobody", {})).status == 404


async def operations_are_done_in_turn(at: World) -> None:
    await _made(at, a="1", b="2")
    here = "/metadata/annotations"
    operations = [
        {"op": "test", "path": f"{here}/a", "value": "1"},
        {"op": "replace", "path": f"{here}/a", "value": "3"},
        {"op": "add", "path": f"{here}/x~1y", "value": "4"},
        {"op": "copy", "from": f"{here}/x~1y", "path": f"{here}/c"},
        {"op": "move", "from": f"{here}/b", "path": f"{here}/d"},
        {"op": "remove", "path": f"{here}/x~1y"},
    ]
    answer = await at.patch(f"{at.leases}/a", operations, content=LIST_PATCH)
    assert answer.meta["annotations"] == {"a": "3", "c": "4", "d": "2"}


async def operations_on_lists(at: World) -> None:
    await at.made(at.leases, {"metadata": {"name": "a", "finalizers": ["a.b/1", "a.b/2"]}})
    operations = [
        {"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/3"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]
    answer = await at.patch(f"{at.leases}/a", operations, content=LIST_PATCH)
    assert answer.meta["finalizers"] == ["a.b/2", "a.b/3"]
    await _changed(at, finalizers=None)


async def an_operation_that_cannot_be_done_undoes_all(at: World) -> None:
    before = await _made(at, a="1")
    here = "/metadata/annotations"
    impossible = (
        {"op": "test", "path": f"{here}/a", "value": "9"},
        {"op": "remove", "path": f"{here}/nobody"},
        {"op": "add", "path": "/metadata/nobody/a", "value": "9"},
        {"op": "nonsense", "path": f"{here}/a", "value": "9"},
    )
    for operation in impossible:
        operations = [{"op": "replace", "path": f"{here}/a", "value": "2"}, operation]
        answer = await at.patch(f"{at.leases}/a", operations, content=LIST_PATCH)
        assert (answer.status, answer.reason) == (422, "Invalid"), operation
    assert (await at.get(f"{at.leases}/a")).body == before.body


async def operations_come_in_a_list(at: World) -> None:
    await _made(at)
    answer = await at.patch(f"{at.leases}/a", {"op": "remove", "path": "/spec"}, content=LIST_PATCH)
    assert (answer.status, answer.reason) == (400, "BadRequest")


async def a_replacement_forgets_what_it_does_not_say(at: World) -> None:
    await at.made(at.services, labelled(service(), a="b"))
    answer = await at.put(f"{at.services}/a", service())
    assert answer.status == 200
    assert "labels" not in answer.meta


async def a_replacement_with_an_older_version_conflicts(at: World) -> None:
    before = await _made(at)
    await _changed(at, annotations={"a": "b"})
    answer = await at.put(f"{at.leases}/a", {"metadata": {"name": "a", "resourceVersion": before.version}})
    assert (answer.status, answer.reason) == (409, "Conflict")


async def a_replacement_of_another_object_conflicts(at: World) -> None:
    await at.made(at.services, service())
    meta = {"name": "a", "uid": "11111111-1111-1111-1111-111111111111"}
    answer = await at.put(f"{at.services}/a", service() | {"metadata": meta})
    assert (answer.status, answer.reason) == (409, "Conflict")


async def some_kinds_want_a_version_with_a_replacement(at: World) -> None:
    name = at.unique("a")
    await at.made(at.ports, port(name))
    await _made(at)
    for path, body in ((f"{at.ports}/{name}", port(name)), (f"{at.leases}/a", lease())):
        answer = await at.put(path, body)
        assert (answer.status, answer.fields) == (422, {"metadata.resourceVersion"})
    await at.delete(f"{at.ports}/{name}")


async def a_replacement_of_nothing_creates_some_kinds(at: World) -> None:
    name = at.unique("a")
    assert (await at.put(f"{at.leases}/a", lease())).status == 201
    assert (await at.put(f"{at.services}/a", service())).status == 201
    assert (await at.put(f"{at.ports}/{name}", port(name))).status == 404
    meta = {"name": "b", "resourceVersion": "5"}
    assert (await at.put(f"{at.services}/b", service() | {"metadata": meta})).status == 201
    assert (await at.put(f"{at.leases}/b", {"metadata": meta})).status == 201
    meta = {"name": "c", "uid": "11111111-1111-1111-1111-111111111111"}
    assert (await at.put(f"{at.leases}/c", {"metadata": meta})).status == 409


async def a_replacement_has_the_name_of_its_path(at: World) -> None:
    await _made(at)
    for meta in ({"name": "b"}, {}):
        answer = await at.put(f"{at.leases}/a", {"metadata": meta})
        assert (answer.status, answer.reason) == (400, "BadRequest")
