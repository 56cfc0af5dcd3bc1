"""Leases, events, endpoint slices and namespaces."""

from tests.contract.kube.bodies import endpoint_slice, event, lease
from tests.contract.kube.world import Tree, World

MOMENT = "2026-01-01T00:00:00.123456Z"


async def a_lease_is_kept_as_it_is(at: World) -> None:
    spec: Tree = {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 0,
        "renewTime": MOMENT,
        "acquireTime": MOMENT,
    }
    answer = await at.made(at.leases, lease(**spec))
    assert answer.body["spec"] == spec
    assert "generation" not in answer.meta
    assert (await at.made(at.leases, lease("b", holderIdentity=""))).body["spec"] == {"holderIdentity": ""}


async def a_lease_is_renewed(at: World) -> None:
    before = await at.made(at.leases, lease(holderIdentity="a", renewTime=MOMENT))
    later = MOMENT.replace(":00.", ":02.")
    change = {"metadata": {"resourceVersion": before.version}, "spec": {"renewTime": later}}
    after = await at.patch(f"{at.leases}/a", change)
    assert after.body["spec"] == {"holderIdentity": "a", "renewTime": later}
    assert (await at.patch(f"{at.leases}/a", change)).status == 409


async def moments_have_six_digits(at: World) -> None:
    for moment in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "nonsense", "2026-13-01T00:00:00.000000Z"):
        assert (await at.post(at.leases, lease(renewTime=moment))).status == 400
    await at.made(at.leases, lease(renewTime=MOMENT))
    assert (await at.patch(f"{at.leases}/a", {"spec": {"renewTime": "2026-01-01T00:00:00Z"}})).status == 422


async def moments_are_told_in_utc(at: World) -> None:
    before = await at.made(at.leases, lease(renewTime=MOMENT))
    answer = await at.patch(f"{at.leases}/a", {"spec": {"renewTime": "2026-01-01T02:00:00.123456+02:00"}})
    assert (answer.version, answer.body["spec"]["renewTime"]) == (before.version, MOMENT)


async def numbers_of_a_lease_have_bounds(at: World) -> None:
    for field, value in (("leaseDurationSeconds", 0), ("leaseTransitions", -1)):
        answer = await at.post(at.leases, {"metadata": {"name": "a"}, "spec": {field: value}})
        assert (answer.status, answer.fields) == (422, {f"spec.{field}"})


async def an_event_is_kept_as_it_is(at: World) -> None:
    body = event(at.namespace)
    answer = await at.made(at.events, body)
    assert {name: answer.body[name] for name in body if name != "metadata"} == {
        name: body[name] for name in body if name != "metadata"
    }


async def an_event_says_who_did_what_and_when(at: World) -> None:
    for field in ("eventTime", "reportingInstance", "action", "reason", "reportingController"):
        answer = await at.post(at.events, event(at.namespace, **{field: None}))
        assert (answer.status, answer.fields) == (422, {field})
    assert (await at.post(at.events, event(at.namespace, type="Nonsense"))).fields == {"type"}
    assert (await at.post(at.events, event(at.namespace, type=None))).fields == {"type"}
    assert (await at.post(at.events, event(at.namespace, reportingController="a b"))).status == 422
    assert (await at.post(at.events, event(at.namespace, eventTime="2026-01-01T00:00:00Z"))).status == 400


async def texts_of_an_event_have_a_length(at: World) -> None:
    for field, most, blamed in (("note", 1024, "message"), ("reason", 128, "reason"), ("action", 128, "action")):
        for text in ("x" * (most + 1), "ü" * (most // 2 + 1)):
            answer = await at.post(at.events, event(at.namespace, **{field: text}))
            assert (answer.status, answer.fields) == (422, {blamed}), "bytes are counted"
    longest = event(at.namespace, note="ü" * 512, reason="x" * 128, action="x" * 128, reportingInstance="x" * 128)
    await at.made(at.events, longest)


async def an_event_without_a_namespace_of_its_object_lives_in_default(at: World) -> None:
    regarding = {"kind": "Node", "name": "n1"}
    answer = await at.post(at.events, event(at.namespace, regarding=regarding))
    assert (answer.status, answer.fields) == (422, {"involvedObject.namespace"})
    body = event(at.namespace, regarding=regarding) | {"metadata": {"name": at.unique("a")}}
    place = at.events.replace(f"/{at.namespace}/", "/default/")
    await at.made(place, body)
    await at.delete(f"{place}/{at.unique('a')}")


async def only_the_series_of_an_event_changes(at: World) -> None:
    await at.made(at.events, event(at.namespace))
    series = {"count": 2, "lastObservedTime": MOMENT}
    assert (await at.patch(f"{at.events}/a", {"series": series})).body["series"] == series
    for change in ({"note": "other"}, {"reason": "Other"}, {"type": "Warning"}, {"regarding": {"name": "b"}}):
        answer = await at.patch(f"{at.events}/a", change)
        assert (answer.status, answer.reason) == (422, "Invalid"), change


async def a_series_begins_with_the_second(at: World) -> None:
    wrong = (
        ({"count": 1, "lastObservedTime": MOMENT}, {"series.count"}),
        ({"count": 2}, {"series.lastObservedTime"}),
    )
    for series, fields in wrong:
        answer = await at.post(at.events, event(at.namespace, series=series))
        assert (answer.status, answer.fields) == (422, fields)


async def a_slice_is_completed(at: World) -> None:
    answer = await at.made(at.slices, endpoint_slice())
    assert answer.body["endpoints"] == [{"addresses": ["10.0.0.1"], "conditions": {}}]
    assert answer.body["ports"] == [{"name": "http", "port": 80, "protocol": "TCP"}]
    assert answer.meta["generation"] == 1
    empty = await at.made(at.slices, endpoint_slice("b", endpoints=[], ports=[]))
    assert (empty.body["endpoints"], empty.body["ports"]) == (None, None)


async def the_generation_of_a_slice_counts_content_and_labels(at: World) -> None:
    await at.made(at.slices, endpoint_slice())
    counted = []
    for change in (
        {"endpoints": [{"addresses": ["10.0.0.2"], "conditions": {"ready": False}, "nodeName": "n1"}]},
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"labels": {"a": "b"}}},
        {"ports": [{"name": "http", "port": 80}]},
    ):
        answer = await at.patch(f"{at.slices}/a", change)
        counted.append(answer.meta["generation"])
    assert counted == [2, 2, 3, 3]


async def slices_have_rules(at: World) -> None:
    wrong: tuple[tuple[Tree, set[str]], ...] = (
        ({"addressType": None}, {"addressType"}),
        ({"addressType": "Nonsense"}, {"addressType"}),
        ({"endpoints": [{"addresses": []}]}, {"endpoints[0].addresses"}),
        ({"endpoints": [{"addresses": ["nonsense"]}]}, {"endpoints[0].addresses[0]"}),
        ({"endpoints": [{"addresses": ["127.0.0.1"]}]}, {"endpoints[0].addresses[0]"}),
        ({"endpoints": [{"addresses": ["2001:db8::1"]}]}, {"endpoints[0].addresses"}),
        ({"ports": [{"port": 80, "protocol": "ICMP"}]}, {"ports[0].protocol"}),
        ({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}, {"ports[1].name"}),
    )
    for fields, blamed in wrong:
        answer = await at.post(at.slices, endpoint_slice(**fields))
        assert (answer.status, answer.fields) == (422, blamed), fields
    await at.made(at.slices, endpoint_slice())
    answer = await at.patch(f"{at.slices}/a", {"addressType": "IPv6"})
    assert answer.status == 422
    assert "addressType" in answer.fields


async def a_namespace_is_labelled_with_its_name(at: World) -> None:
    path = f"/api/v1/namespaces/{at.namespace}"
    answer = await at.get(path)
    assert answer.meta["labels"]["kubernetes.io/metadata.name"] == at.namespace
    assert answer.body["status"] == {"phase": "Active"}
    again = await at.patch(path, {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}})
    assert again.body == answer.body


async def the_cluster_has_an_identity(at: World) -> None:
    answer = await at.get("/api/v1/namespaces/kube-system")
    assert len(answer.meta["uid"]) == 36
