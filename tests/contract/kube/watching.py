"""Watches: what they tell, in which order, and how they end."""

from tests.contract.kube.bodies import FINALIZER, held, labelled, lease, port, service
from tests.contract.kube.world import World

WATCH_LIST = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"


async def a_watch_tells_what_happened_since(at: World) -> None:
    version = await at.version_of(at.leases)
    created = await at.made(at.leases, lease())
    changed = await at.patch(f"{at.leases}/a", {"spec": {"holderIdentity": "x"}})
    await at.delete(f"{at.leases}/a")
    watch = await at.watch(f"{at.leases}?resourceVersion={version}")
    assert await watch.next() == {"type": "ADDED", "object": created.body}
    assert await watch.next() == {"type": "MODIFIED", "object": changed.body}
    last = await watch.next()
    assert last["type"] == "DELETED"
    assert last["object"]["spec"] == {"holderIdentity": "x"}
    assert int(last["object"]["metadata"]["resourceVersion"]) > int(changed.version)
    await watch.close()


async def a_watch_tells_what_happens(at: World) -> None:
    watch = await at.watch(f"{at.leases}?resourceVersion={await at.version_of(at.leases)}")
    await at.made(at.leases, lease("a"))
    await at.made(at.leases, lease("b"))
    await at.delete(f"{at.leases}/a")
    assert await watch.several(3) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    await watch.close()


async def a_watch_without_a_version_begins_with_what_there_is(at: World) -> None:
    await at.made(at.leases, lease("b"))
    await at.made(at.leases, lease("a"))
    for query in ("", "resourceVersion=0"):
        watch = await at.watch(f"{at.leases}?{query}")
        assert sorted(await watch.several(2)) == [("ADDED", "a"), ("ADDED", "b")]
        await watch.close()


async def what_changes_nothing_is_no_event(at: World) -> None:
    await at.made(at.leases, lease())
    watch = await at.watch(f"{at.leases}?resourceVersion={await at.version_of(at.leases)}")
    await at.patch(f"{at.leases}/a", {"metadata": {"labels": {}}})
    await at.made(at.leases, lease("b"))
    assert await watch.several(1) == [("ADDED", "b")]
    await watch.close()


async def every_watch_gets_every_event(at: World) -> None:
    version = await at.version_of(at.leases)
    watches = [await at.watch(f"{at.leases}?resourceVersion={version}") for _ in range(3)]
    await at.made(at.leases, lease())
    events = [await watch.next() for watch in watches]
    assert events[0] == events[1] == events[2]
    for watch in watches:
        await watch.close()


async def a_watch_goes_on_from_any_version_that_it_saw(at: World) -> None:
    version = await at.version_of(at.leases)
    for name in ("a", "b", "c"):
        await at.made(at.leases, lease(name))
    watch = await at.watch(f"{at.leases}?resourceVersion={version}")
    first = await watch.next()
    await watch.close()
    again = await at.watch(f"{at.leases}?resourceVersion={first['object']['metadata']['resourceVersion']}")
    assert await again.several(2) == [("ADDED", "b"), ("ADDED", "c")]
    await again.close()


async def finalizers_show_in_the_order_of_events(at: World) -> None:
    version = await at.version_of(at.leases)
    await at.made(at.leases, held(lease()))
    await at.delete(f"{at.leases}/a")
    await at.patch(f"{at.leases}/a", {"metadata": {"finalizers": None}, "spec": {"holderIdentity": "late"}})
    watch = await at.watch(f"{at.leases}?resourceVersion={version}")
    events = [await watch.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    last = events[-1]["object"]
    assert last["metadata"]["finalizers"] == [FINALIZER], "the end shows the object as it was before it"
    assert last["spec"] == {}
    await watch.close()


async def labels_select_events(at: World) -> None:
    version = await at.version_of(at.leases)
    await at.made(at.leases, labelled(lease(), colour="red"))
    await at.patch(f"{at.leases}/a", {"spec": {"holderIdentity": "x"}})
    left = await at.patch(f"{at.leases}/a", {"metadata": {"labels": {"colour": "blue"}}})
    await at.patch(f"{at.leases}/a", {"spec": {"holderIdentity": "y"}})
    await at.patch(f"{at.leases}/a", {"metadata": {"labels": {"colour": "red"}}})
    await at.delete(f"{at.leases}/a")
    watch = await at.watch(f"{at.leases}?resourceVersion={version}&labelSelector=colour=red")
    events = [await watch.next() for _ in range(5)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    out_of_sight = events[2]["object"]
    assert out_of_sight["metadata"]["labels"] == {"colour": "red"}, "shown as it was when it was last seen"
    assert out_of_sight["metadata"]["resourceVersion"] == left.version
    await watch.close()


async def fields_select_events(at: World) -> None:
    watch = await at.watch(
        f"{at.leases}?resourceVersion={await at.version_of(at.leases)}&fieldSelector=metadata.name=b"
    )
    await at.made(at.leases, lease("a"))
    await at.made(at.leases, lease("b"))
    assert await watch.several(1) == [("ADDED", "b")]
    await watch.close()


async def a_watch_over_all_namespaces(at: World) -> None:
    version = await at.version_of("/api/v1/services")
    await at.made(at.services, service(at.unique("a")))
    watch = await at.watch(
        f"/api/v1/services?resourceVersion={version}&fieldSelector=metadata.namespace={at.namespace}"
    )
    assert await watch.several(1) == [("ADDED", at.unique("a"))]
    await watch.close()


async def a_watch_of_cluster_scoped_objects(at: World) -> None:
    version = await at.version_of(at.ports)
    name = at.unique("a")
    await at.made(at.ports, labelled(port(name), of=at.namespace))
    await at.patch(f"{at.ports}/{name}/status", {"status": {"phase": "x"}})
    await at.delete(f"{at.ports}/{name}")
    watch = await at.watch(f"{at.ports}?resourceVersion={version}&labelSelector=of={at.namespace}")
    assert await watch.several(3) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]
    await watch.close()


async def a_watch_list_says_when_it_has_told_all(at: World) -> None:
    await at.made(at.leases, lease("b"))
    await at.made(at.leases, lease("a"))
    watch = await at.watch(f"{at.leases}?{WATCH_LIST}")
    assert sorted(await watch.several(2)) == [("ADDED", "a"), ("ADDED", "b")]
    end = await watch.next()
    assert (end["type"], end["object"]["kind"]) == ("BOOKMARK", "Lease")
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    version = end["object"]["metadata"]["resourceVersion"]
    created = await at.made(at.leases, lease("c"))
    assert int(created.version) > int(version)
    assert await watch.several(1) == [("ADDED", "c")]
    await watch.close()
    again = await at.watch(f"{at.leases}?resourceVersion={version}")
    assert await again.several(1) == [("ADDED", "c")]
    await again.close()


async def a_watch_list_of_nothing_is_only_its_end(at: World) -> None:
    for path in (at.leases, at.services, at.events, at.slices, f"{at.ports}"):
        watch = await at.watch(f"{path}?{WATCH_LIST}&labelSelector=nobody=here")
        event = await watch.next()
        assert event["type"] == "BOOKMARK"
        await watch.close()


async def a_watch_list_has_its_parameters(at: World) -> None:
    for query in (
        "sendInitialEvents=true&allowWatchBookmarks=true",
        "resourceVersionMatch=NotOlderThan&resourceVersion=1",
    ):
        watch = await at.watch(f"{at.leases}?{query}")
        assert watch.stream.status == 422
        await watch.close()


async def a_version_that_is_too_old_is_an_error_on_the_stream(at: World) -> None:
    """A server remembers no version of a kind that is older than the kind."""
    watch = await at.watch(f"{at.ports}?resourceVersion=1")
    assert watch.stream.status == 200
    events = await watch.rest()
    assert [event["type"] for event in events] == ["ERROR"]
    status = events[0]["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    await watch.close()


async def a_version_that_is_still_to_come_is_waited_for(at: World) -> None:
    version = int(await at.version_of(at.leases)) + 1_000_000
    watch = await at.watch(f"{at.leases}?resourceVersion={version}")
    await at.made(at.leases, lease())
    assert await watch.is_silent()
    await watch.close()


async def a_version_that_is_no_number_is_refused(at: World) -> None:
    watch = await at.watch(f"{at.leases}?resourceVersion=abc")
    assert watch.stream.status == 500
    await watch.close()


async def a_wrong_selector_is_refused(at: World) -> None:
    for query in ("labelSelector=(", "fieldSelector=spec.nonsense=1"):
        watch = await at.watch(f"{at.leases}?{query}")
        assert watch.stream.status == 400
        await watch.close()


async def nobodys_namespace_can_be_watched(at: World) -> None:
    watch = await at.watch(at.leases.replace(at.namespace, "no-such-namespace"))
    assert watch.stream.status == 200
    await watch.close()
