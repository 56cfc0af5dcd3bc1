"""The same API through our own typed verbs, and rights."""

import pytest

from mooring.kube import errors, kinds
from mooring.kube.api import WatchEvent
from mooring.kube.kinds import Kind
from mooring.model.kubernetes import Lease, LeaseSpec, Meta, Name, Resource, Service, ServicePort, ServiceSpec
from tests.contract.kube.world import GROUP, World, eventually, request

PORTS = Kind(Resource, group=GROUP, version="v1", kind="ContractPort", plural="contractports", namespaced=False)


def _service(at: World, name: str) -> Service:
    return Service(Meta(name=name, namespace=at.namespace), ServiceSpec("LoadBalancer", (ServicePort(80),)))


async def verbs_go_round(at: World) -> None:
    made = await at.api.create(kinds.SERVICES, _service(at, "a"))
    assert made.spec.cluster_ips
    assert await at.api.get(kinds.SERVICES, made.name) == made
    change = {"metadata": {"annotations": {"a": "b"}}}
    changed = await at.api.patch(kinds.SERVICES, made.name, change, version=made.metadata.resource_version)
    assert changed.metadata.annotations == {"a": "b"}
    listing = await at.api.list(kinds.SERVICES, namespace=at.namespace)
    assert listing.items == (changed,)
    await at.api.delete(kinds.SERVICES, made.name, uid=made.metadata.uid)
    with pytest.raises(errors.NotFound):
        await at.api.get(kinds.SERVICES, made.name)


async def refusals_become_errors(at: World) -> None:
    lease = Lease(Meta(name="a", namespace=at.namespace), LeaseSpec(holder_identity="x"))
    made = await at.api.create(kinds.LEASES, lease)
    with pytest.raises(errors.AlreadyExists):
        await at.api.create(kinds.LEASES, lease)
    with pytest.raises(errors.Conflict):
        await at.api.patch(kinds.LEASES, made.name, {"spec": {"holderIdentity": "y"}}, version="1")
    with pytest.raises(errors.Conflict):
        await at.api.delete(kinds.LEASES, made.name, uid="11111111-1111-1111-1111-111111111111")
    with pytest.raises(errors.Invalid):
        await at.api.patch(kinds.LEASES, made.name, {"spec": {"leaseDurationSeconds": 0}}, version=None)
    with pytest.raises(errors.NotFound):
        await at.api.get(kinds.LEASES, Name(at.namespace, "nobody"))


async def a_typed_watch_begins_with_what_there_is(at: World) -> None:
    made = await at.api.create(kinds.SERVICES, _service(at, "a"))
    watch = await at.api.watch(kinds.SERVICES, version=None, namespace=at.namespace)
    events: list[WatchEvent[Service]] = []
    while not events or not events[-1].ends_initial_events:
        events += await watch.read()
    assert [event.type for event in events] == ["ADDED", "BOOKMARK"]
    assert events[0].object == made
    await watch.close()


async def a_typed_watch_is_told_that_its_version_is_gone(at: World) -> None:
    watch = await at.api.watch(PORTS, version="1")
    with pytest.raises(errors.Gone):
        await watch.read()
    await watch.close()


async def a_user_may_do_what_is_allowed(at: World) -> None:
    user = await at.host.as_user(frozenset({("get", "/services"), ("patch", "/services/status")}))
    await at.api.create(kinds.SERVICES, _service(at, "a"))

    async def allowed() -> bool:
        return (await user.send(request("GET", f"{at.services}/a", None))).status == 200

    await eventually(allowed)
    forbidden = (
        ("GET", at.services),
        ("DELETE", f"{at.services}/a"),
        ("GET", at.leases),
        ("GET", f"{at.services}/a/status"),
    )
    for method, path in forbidden:
        assert (await user.send(request(method, path, None))).status == 403, (method, path)
    content = "application/merge-patch+json"
    assert (await user.send(request("PATCH", f"{at.services}/a", {}, content=content))).status == 403
    assert (await user.send(request("PATCH", f"{at.services}/a/status", {}, content=content))).status == 200
