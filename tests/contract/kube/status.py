"""Status, which has a path of its own."""

from tests.contract.kube.bodies import FINALIZER, balanced, plain, port
from tests.contract.kube.world import Tree, World

ADDRESS: Tree = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Proxy"}]}}}
CONDITION = {
    "type": "openstack.org/Accepted",
    "status": "True",
    "reason": "Accepted",
    "message": "is ours",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


async def a_new_service_has_an_empty_status(at: World) -> None:
    answer = await at.made(at.services, balanced() | ADDRESS)
    assert answer.body["status"] == {"loadBalancer": {}}


async def the_main_path_does_not_write_status(at: World) -> None:
    before = await at.made(at.services, balanced())
    answer = await at.patch(f"{at.services}/a", ADDRESS)
    assert answer.version == before.version
    assert answer.body["status"] == {"loadBalancer": {}}


async def the_status_path_writes_status(at: World) -> None:
    before = await at.made(at.services, balanced())
    answer = await at.patch(f"{at.services}/a/status", ADDRESS)
    assert answer.status == 200
    assert int(answer.version) > int(before.version)
    assert answer.body["status"] == ADDRESS["status"]
    assert answer.body["spec"] == before.body["spec"]
    assert (await at.get(f"{at.services}/a/status")).body == answer.body


async def the_status_path_does_not_write_spec(at: World) -> None:
    before = await at.made(at.services, balanced())
    answer = await at.patch(f"{at.services}/a/status", {"spec": {"type": "ClusterIP"}})
    assert (answer.version, answer.body["spec"]) == (before.version, before.body["spec"])


async def the_status_path_of_a_service_writes_metadata_too(at: World) -> None:
    await at.made(at.services, balanced())
    meta = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": [FINALIZER]}
    answer = await at.patch(f"{at.services}/a/status", {"metadata": meta})
    assert {name: answer.meta[name] for name in meta} == meta
    await at.patch(f"{at.services}/a", {"metadata": {"finalizers": None}})


async def the_status_path_of_a_custom_kind_writes_status_alone(at: World) -> None:
    name = at.unique("a")
    before = await at.made(at.ports, port(name))
    meta = {"labels": {"a": "b"}, "finalizers": [FINALIZER]}
    change = {"metadata": meta, "spec": {"count": 2}, "status": {"phase": "x"}}
    answer = await at.patch(f"{at.ports}/{name}/status", change)
    assert answer.body["status"] == {"phase": "x"}
    assert answer.body["spec"] == before.body["spec"]
    assert not set(meta) & set(answer.meta)
    assert answer.meta["generation"] == 1
    await at.delete(f"{at.ports}/{name}")


async def the_status_path_of_a_custom_kind_does_not_even_look_at_the_rest(at: World) -> None:
    name = at.unique("a")
    await at.made(at.ports, port(name))
    meta = {"uid": "11111111-1111-1111-1111-111111111111", "labels": {"a": "b c"}}
    change = {"metadata": meta, "spec": {"mode": "nonsense"}, "status": {"phase": "x"}}
    assert (await at.patch(f"{at.ports}/{name}/status", change)).body["status"] == {"phase": "x"}
    await at.delete(f"{at.ports}/{name}")
    await at.made(at.services, balanced())
    answer = await at.patch(f"{at.services}/a/status", {"metadata": meta})
    assert (answer.status, answer.fields) == (422, {"metadata.uid", "metadata.labels"})


async def the_same_status_again_is_no_change(at: World) -> None:
    await at.made(at.services, balanced())
    first = await at.patch(f"{at.services}/a/status", ADDRESS)
    assert (await at.patch(f"{at.services}/a/status", ADDRESS)).version == first.version


async def the_status_path_minds_versions(at: World) -> None:
    before = await at.made(at.services, balanced())
    await at.patch(f"{at.services}/a", {"metadata": {"labels": {"a": "b"}}})
    answer = await at.patch(f"{at.services}/a/status", ADDRESS | {"metadata": {"resourceVersion": before.version}})
    assert (answer.status, answer.reason) == (409, "Conflict")


async def a_status_can_be_replaced(at: World) -> None:
    before = (await at.made(at.services, balanced())).body
    answer = await at.put(f"{at.services}/a/status", before | ADDRESS)
    assert answer.body["status"] == ADDRESS["status"]


async def an_address_without_a_mode_is_a_vip(at: World) -> None:
    await at.made(at.services, balanced())
    change = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "a.example"}]}}}
    answer = await at.patch(f"{at.services}/a/status", change)
    ingress = answer.body["status"]["loadBalancer"]["ingress"]
    assert ingress == [{"ip": "192.0.2.1", "ipMode": "VIP"}, {"hostname": "a.example"}]


async def addresses_in_status_have_rules(at: World) -> None:
    await at.made(at.services, balanced())
    here = "status.loadBalancer.ingress[0]"
    wrong = (
        ({"ip": "nonsense"}, f"{here}.ip"),
        ({"ip": "192.0.2.1", "ipMode": "Nonsense"}, f"{here}.ipMode"),
        ({"hostname": "a.example", "ipMode": "VIP"}, f"{here}.ipMode"),
    )
    for ingress, field in wrong:
        answer = await at.patch(f"{at.services}/a/status", {"status": {"loadBalancer": {"ingress": [ingress]}}})
        assert (answer.status, answer.fields) == (422, {field})


async def only_a_balanced_service_has_addresses_in_status(at: World) -> None:
    await at.made(at.services, balanced(type="ClusterIP"))
    answer = await at.patch(f"{at.services}/a/status", ADDRESS)
    assert (answer.status, answer.fields) == (422, {"status.loadBalancer.ingress"})


async def a_service_that_is_no_longer_balanced_loses_its_addresses(at: World) -> None:
    await at.made(at.services, balanced())
    await at.patch(f"{at.services}/a/status", {"status": {**ADDRESS["status"], "conditions": [CONDITION]}})
    answer = await at.patch(f"{at.services}/a", {"spec": {"type": "ClusterIP"}})
    assert answer.body["status"] == {"loadBalancer": {}, "conditions": [CONDITION]}


async def conditions_of_a_service_are_kept_as_they_come(at: World) -> None:
    await at.made(at.services, balanced())
    answer = await at.patch(f"{at.services}/a/status", {"status": {"conditions": [CONDITION]}})
    assert answer.body["status"] == {"loadBalancer": {}, "conditions": [CONDITION]}
    short = {"type": "openstack.org/Accepted", "status": "True"}
    answer = await at.patch(f"{at.services}/a/status", {"status": {"conditions": [short]}})
    empty = {"reason": "", "message": "", "lastTransitionTime": None}
    assert answer.body["status"]["conditions"] == [{**short, **empty}]


async def an_erased_status_of_a_service_is_empty(at: World) -> None:
    await at.made(at.services, balanced())
    await at.patch(f"{at.services}/a/status", ADDRESS)
    answer = await at.patch(f"{at.services}/a/status", {"status": None})
    assert answer.body["status"] == {"loadBalancer": {}}


async def the_status_of_a_custom_kind_keeps_its_schema(at: World) -> None:
    name = at.unique("a")
    created = await at.made(at.ports, port(name) | {"status": {"phase": "x"}})
    assert "status" not in created.body
    wrong = await at.patch(f"{at.ports}/{name}/status", {"status": {"phase": "z"}})
    assert (wrong.status, wrong.fields) == (422, {"status.phase"})
    right = await at.patch(f"{at.ports}/{name}/status", {"status": {"phase": "y", "nonsense": 1}})
    assert right.body["status"] == {"phase": "y"}
    erased = await at.patch(f"{at.ports}/{name}/status", {"status": None})
    assert "status" not in erased.body
    await at.delete(f"{at.ports}/{name}")


async def a_custom_kind_without_the_path_writes_status_with_the_rest(at: World) -> None:
    created = await at.made(at.plains, plain("a") | {"status": {"phase": "x"}})
    assert created.body["status"] == {"phase": "x"}
    changed = await at.patch(f"{at.plains}/a", {"status": {"phase": "y"}})
    assert (changed.body["status"], changed.meta["generation"]) == ({"phase": "y"}, 2)
    assert (await at.patch(f"{at.plains}/a/status", {"status": {"phase": "x"}})).status == 404


async def status_is_neither_created_nor_deleted(at: World) -> None:
    await at.made(at.services, balanced())
    for method in ("POST", "DELETE"):
        assert (await at.call(method, f"{at.services}/a/status", {})).status == 405
