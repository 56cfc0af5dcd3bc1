"""Deletion, and what finalizers hold back."""

from tests.contract.kube.bodies import FINALIZER, OTHER_FINALIZER, held, labelled, lease, port, service
from tests.contract.kube.world import World, eventually


async def _let_go(at: World) -> None:
    await at.patch(f"{at.leases}/a", {"metadata": {"finalizers": None}})


async def _is_gone(at: World, path: str) -> None:
    async def gone() -> bool:
        return (await at.get(path)).status == 404

    await eventually(gone)


async def a_deleted_object_is_gone(at: World) -> None:
    created = await at.made(at.leases, lease())
    answer = await at.delete(f"{at.leases}/a")
    assert (answer.status, answer.body["status"]) == (200, "Success")
    uid = created.meta["uid"]
    assert answer.body["details"] == {"name": "a", "group": "coordination.k8s.io", "kind": "leases", "uid": uid}
    assert (await at.get(f"{at.leases}/a")).status == 404
    assert (await at.delete(f"{at.leases}/a")).status == 404


async def a_deleted_service_is_answered_as_it_was(at: World) -> None:
    created = await at.made(at.services, service())
    answer = await at.delete(f"{at.services}/a")
    assert answer.body["kind"] == "Service"
    assert answer.body["spec"] == created.body["spec"]
    assert int(answer.version) > int(created.version)


async def a_deletion_means_one_object(at: World) -> None:
    created = await at.made(at.leases, lease())
    wrong = ({"uid": "11111111-1111-1111-1111-111111111111"}, {"uid": created.meta["uid"], "resourceVersion": "5"})
    for preconditions in wrong:
        answer = await at.delete(f"{at.leases}/a", preconditions=preconditions)
        assert (answer.status, answer.reason) == (409, "Conflict")
    right = {"uid": created.meta["uid"], "resourceVersion": created.version}
    assert (await at.delete(f"{at.leases}/a", preconditions=right)).status == 200


async def deletion_has_options_of_its_own_kind(at: World) -> None:
    await at.made(at.leases, lease())
    assert (await at.delete(f"{at.leases}/a", kind="Nonsense", apiVersion="v1")).status == 400
    assert (await at.call("DELETE", f"{at.leases}/a", b"{")).status == 400


async def a_finalizer_turns_deletion_into_a_mark(at: World) -> None:
    created = await at.made(at.leases, held(lease()))
    answer = await at.delete(f"{at.leases}/a")
    assert answer.status == 200
    assert answer.meta["deletionGracePeriodSeconds"] == 0
    assert answer.meta["deletionTimestamp"].endswith("Z")
    assert int(answer.version) > int(created.version)
    assert (await at.get(f"{at.leases}/a")).body == answer.body
    await _let_go(at)


async def a_second_deletion_changes_nothing(at: World) -> None:
    await at.made(at.leases, held(lease()))
    first = await at.delete(f"{at.leases}/a")
    assert (await at.delete(f"{at.leases}/a")).body == first.body
    await _let_go(at)


async def the_last_finalizer_lets_go(at: World) -> None:
    await at.made(at.leases, held(lease(), FINALIZER, OTHER_FINALIZER))
    marked = await at.delete(f"{at.leases}/a")
    one_left = await at.patch(f"{at.leases}/a", {"metadata": {"finalizers": [FINALIZER]}})
    assert int(one_left.version) > int(marked.version)
    none_left = await at.patch(f"{at.leases}/a", {"metadata": {"finalizers": [], "labels": {"a": "b"}}})
    assert none_left.status == 200
    assert none_left.version == one_left.version
    assert "finalizers" not in none_left.meta
    assert none_left.meta["labels"] == {"a": "b"}
    assert (await at.get(f"{at.leases}/a")).status == 404


async def the_status_path_of_a_service_can_let_go_too(at: World) -> None:
    await at.made(at.services, held(service()))
    await at.delete(f"{at.services}/a")
    assert (await at.patch(f"{at.services}/a/status", {"metadata": {"finalizers": None}})).status == 200
    assert (await at.get(f"{at.services}/a")).status == 404


async def no_finalizer_is_added_after_deletion(at: World) -> None:
    await at.made(at.leases, held(lease()))
    await at.delete(f"{at.leases}/a")
    for finalizers in ([FINALIZER, OTHER_FINALIZER], [OTHER_FINALIZER]):
        answer = await at.patch(f"{at.leases}/a", {"metadata": {"finalizers": finalizers}})
        assert (answer.status, answer.fields) == (422, {"metadata.finalizers"})
    await _let_go(at)


async def an_object_that_is_being_deleted_can_change_otherwise(at: World) -> None:
    await at.made(at.leases, held(lease()))
    await at.delete(f"{at.leases}/a")
    answer = await at.patch(f"{at.leases}/a", {"metadata": {"labels": {"a": "b"}}, "spec": {"holderIdentity": "x"}})
    assert answer.meta["labels"] == {"a": "b"}
    assert answer.body["spec"] == {"holderIdentity": "x"}
    await _let_go(at)


async def a_deletion_cannot_be_taken_back(at: World) -> None:
    await at.made(at.leases, held(lease()))
    marked = await at.delete(f"{at.leases}/a")
    answer = await at.patch(f"{at.leases}/a", {"metadata": {"deletionTimestamp": None}})
    assert answer.body == marked.body
    answer = await at.patch(f"{at.leases}/a", {"metadata": {"deletionGracePeriodSeconds": 5}})
    assert (answer.status, answer.fields) == (422, {"metadata.deletionGracePeriodSeconds"})
    await _let_go(at)


async def the_name_is_not_free_before_the_end(at: World) -> None:
    await at.made(at.leases, held(lease()))
    await at.delete(f"{at.leases}/a")
    answer = await at.post(at.leases, lease())
    assert (answer.status, answer.reason) == (409, "AlreadyExists")
    await _let_go(at)


async def the_next_object_of_the_name_is_another_one(at: World) -> None:
    first = await at.made(at.leases, lease())
    await at.delete(f"{at.leases}/a")
    second = await at.made(at.leases, lease())
    assert first.meta["uid"] != second.meta["uid"]
    answer = await at.delete(f"{at.leases}/a", preconditions={"uid": first.meta["uid"]})
    assert answer.status == 409


async def a_mark_counts_as_a_generation(at: World) -> None:
    name = at.unique("a")
    await at.made(at.ports, held(port(name)))
    assert (await at.delete(f"{at.ports}/{name}")).meta["generation"] == 2
    assert (await at.patch(f"{at.ports}/{name}", {"metadata": {"finalizers": None}})).meta["generation"] == 2
    assert (await at.get(f"{at.ports}/{name}")).status == 404


async def a_collection_is_deleted_by_label(at: World) -> None:
    for name in ("a", "b", "c"):
        await at.made(at.leases, labelled(lease(name), kept=str(name == "b")))
    answer = await at.delete(f"{at.leases}?labelSelector=kept%3DFalse")
    assert answer.status == 200
    assert answer.names == ["a", "c"]
    assert (await at.get(at.leases)).names == ["b"]


async def a_namespace_takes_what_is_in_it_along(at: World) -> None:
    path = f"/api/v1/namespaces/{at.unique('b')}"
    await at.made("/api/v1/namespaces", {"metadata": {"name": at.unique("b")}})
    await at.made(f"{path}/services", service())
    answer = await at.delete(path)
    assert answer.body["status"]["phase"] == "Terminating"
    assert "deletionTimestamp" in answer.meta
    await _is_gone(at, path)
    assert (await at.get(f"{path}/services/a")).status == 404


async def a_finalizer_holds_a_namespace(at: World) -> None:
    path = f"/api/v1/namespaces/{at.unique('c')}"
    await at.made("/api/v1/namespaces", {"metadata": {"name": at.unique("c")}})
    await at.made(f"{path}/services", held(service()))
    await at.delete(path)

    async def marked() -> bool:
        return "deletionTimestamp" in (await at.get(f"{path}/services/a")).meta

    await eventually(marked)
    answer = await at.post(f"{path}/services", service("b"))
    assert (answer.status, answer.reason) == (403, "Forbidden")
    await at.patch(f"{path}/services/a", {"metadata": {"finalizers": None}})
    await _is_gone(at, path)
