"""Lists: order, pages, versions, selectors."""

import base64

import msgspec

from tests.contract.kube.bodies import balanced, labelled, lease, port, service
from tests.contract.kube.world import World


async def _five(at: World) -> None:
    for number in range(5):
        body = labelled(lease(f"a{number}"), number=str(number), half="low" if number < 2 else "high")
        await at.made(at.leases, body)
    await at.made(at.leases, lease("z"))


async def _selected(at: World, **selectors: str) -> str:
    """The names that are selected, without what they have in common."""
    query = "&".join(f"{name}={_quoted(text)}" for name, text in selectors.items())
    answer = await at.get(f"{at.leases}?{query}")
    assert answer.status == 200, answer.body
    return "".join(name.removeprefix("a") for name in answer.names)


def _quoted(text: str) -> str:
    return text.replace("%", "%25").replace("=", "%3D").replace("&", "%26").replace("+", "%2B")


async def a_list_is_in_order_and_has_a_version(at: World) -> None:
    for name in ("b", "a", "c"):
        last = await at.made(at.leases, lease(name))
    answer = await at.get(at.leases)
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    assert answer.names == ["a", "b", "c"]
    assert int(answer.version) >= int(last.version)
    assert not {"kind", "apiVersion"} & set(answer.body["items"][0])


async def an_empty_list_is_a_list(at: World) -> None:
    for path in (at.leases, at.leases.replace(at.namespace, "no-such-namespace")):
        answer = await at.get(path)
        assert (answer.status, answer.body["items"]) == (200, [])


async def a_list_over_all_namespaces_has_those_of_each(at: World) -> None:
    await at.made(at.services, service(at.unique("a")))
    answer = await at.get("/api/v1/services")
    assert at.unique("a") in answer.names
    assert "kubernetes" in answer.names
    keys = [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in answer.body["items"]]
    assert keys == sorted(keys)


async def pages_are_of_one_version(at: World) -> None:
    await _five(at)
    first = await at.get(f"{at.leases}?limit=2")
    assert first.names == ["a0", "a1"]
    assert first.meta["remainingItemCount"] == 4
    await at.delete(f"{at.leases}/a3")
    await at.made(at.leases, lease("a11"))
    second = await at.get(f"{at.leases}?limit=2&continue={first.meta['continue']}")
    assert second.names == ["a2", "a3"]
    third = await at.get(f"{at.leases}?limit=2&continue={second.meta['continue']}")
    assert third.names == ["a4", "z"]
    assert not third.meta.get("continue")
    assert {first.version} == {second.version, third.version}


async def a_page_counts_what_is_selected(at: World) -> None:
    await _five(at)
    first = await at.get(f"{at.leases}?limit=2&labelSelector=half=high")
    assert first.names == ["a2", "a3"]
    assert "remainingItemCount" not in first.meta
    second = await at.get(f"{at.leases}?limit=2&labelSelector=half=high&continue={first.meta['continue']}")
    assert second.names == ["a4"]


async def pages_of_cluster_scoped_objects(at: World) -> None:
    names = [at.unique(letter) for letter in "abc"]
    for name in names:
        await at.made(at.ports, labelled(port(name), of=at.namespace))
    where = f"{at.ports}?limit=2&labelSelector=of={at.namespace}"
    first = await at.get(where)
    second = await at.get(f"{where}&continue={first.meta['continue']}")
    assert first.names + second.names == names
    for name in names:
        await at.delete(f"{at.ports}/{name}")


async def a_wrong_place_to_go_on_is_a_bad_request(at: World) -> None:
    assert (await at.get(f"{at.leases}?limit=2&continue=abc")).status == 400
    assert (await at.get(f"{at.leases}?limit=abc")).status == 400
    await _five(at)
    first = await at.get(f"{at.leases}?limit=2")
    both = await at.get(f"{at.leases}?limit=2&resourceVersion=5&continue={first.meta['continue']}")
    assert both.status == 400


async def a_page_that_comes_too_late_is_expired(at: World) -> None:
    await _five(at)
    await at.host.compact()
    token = {"v": "meta.k8s.io/v1", "rv": 1, "start": "a0\0"}
    text = base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")
    answer = await at.get(f"{at.leases}?limit=2&continue={text}")
    assert (answer.status, answer.reason) == (410, "Expired")


async def a_list_can_be_of_an_exact_version(at: World) -> None:
    await _five(at)
    version = await at.version_of(at.leases)
    await at.delete(f"{at.leases}/z")
    exact = await at.get(f"{at.leases}?resourceVersion={version}&resourceVersionMatch=Exact")
    assert exact.version == version
    assert "z" in exact.names
    for query in ("resourceVersionMatch=NotOlderThan", "", "limit=0"):
        newer = await at.get(f"{at.leases}?resourceVersion={version}&{query}")
        assert int(newer.version) > int(version)
        assert "z" not in newer.names


async def a_list_of_version_zero_has_no_pages(at: World) -> None:
    await _five(at)
    answer = await at.get(f"{at.leases}?resourceVersion=0&limit=2")
    assert len(answer.names) == 6
    assert not answer.meta.get("continue")


async def a_list_of_a_forgotten_version_is_expired(at: World) -> None:
    await at.host.compact()
    answer = await at.get(f"{at.leases}?resourceVersion=1&resourceVersionMatch=Exact")
    assert (answer.status, answer.reason) == (410, "Expired")


async def the_match_of_a_version_needs_one(at: World) -> None:
    for query in ("resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact"):
        answer = await at.get(f"{at.leases}?{query}")
        assert (answer.status, answer.fields) == (422, {"resourceVersionMatch"})
    assert (await at.get(f"{at.leases}?resourceVersion=5&resourceVersionMatch=Nonsense")).status == 422
    assert (await at.get(f"{at.leases}?resourceVersion=abc")).status == 400


async def labels_select(at: World) -> None:
    await _five(at)
    selected = {
        "half=low": "01",
        "half==low": "01",
        "half!=low": "234z",
        "half in (low)": "01",
        "half in (low, high)": "01234",
        "half notin (low)": "234z",
        "half": "01234",
        "!half": "z",
        "half=high,number!=3": "24",
        "half=low,half=high": "",
        "half=": "",
        "number>2": "34",
        "number<1": "0",
        " half = low ": "01",
        "": "01234z",
    }
    assert {text: await _selected(at, labelSelector=text) for text in selected} == selected


async def a_label_selector_has_a_form(at: World) -> None:
    for text in ("half in (a", "%3Da", "a b", "half=x y", "half=low,", "half>a", "half=a/b", "x/y/z=1", "("):
        answer = await at.get(f"{at.leases}?labelSelector={text}")
        assert (answer.status, answer.reason) == (400, "BadRequest"), text


async def fields_select(at: World) -> None:
    await _five(at)
    selected = {
        "metadata.name=a1": "1",
        "metadata.name==a1": "1",
        "metadata.name!=a1": "0234z",
        f"metadata.namespace={at.namespace}": "01234z",
        "metadata.namespace=other": "",
        f"metadata.name=a1,metadata.namespace={at.namespace}": "1",
        "metadata.name=": "",
    }
    assert {text: await _selected(at, fieldSelector=text) for text in selected} == selected
    assert await _selected(at, fieldSelector="metadata.name!=a1", labelSelector="half=low") == "0"


async def only_some_fields_select(at: World) -> None:
    wrong = (
        (at.leases, "metadata.uid=a"),
        (at.leases, "spec.holderIdentity=a"),
        (at.services, "status.phase=a"),
        (at.ports, "spec.node=a"),
        (at.events, "involvedObject.name=a"),
        (at.leases, "nonsense"),
    )
    for path, text in wrong:
        answer = await at.get(f"{path}?fieldSelector={_quoted(text)}")
        assert (answer.status, answer.reason) == (400, "BadRequest"), text


async def kinds_have_fields_of_their_own_to_select_by(at: World) -> None:
    await at.made(at.services, service("plain"))
    await at.made(at.services, balanced("balanced"))
    await at.made(at.services, service("headless", clusterIP="None"))
    assert (await at.get(f"{at.services}?fieldSelector=spec.type%3DLoadBalancer")).names == ["balanced"]
    assert (await at.get(f"{at.services}?fieldSelector=spec.clusterIP%3DNone")).names == ["headless"]
    for text in ("reason=a", "type=Normal", "regarding.name=a", "regarding.uid=a"):
        assert (await at.get(f"{at.events}?fieldSelector={_quoted(text)}")).status == 200
    active = await at.get("/api/v1/namespaces?fieldSelector=status.phase%3DActive")
    assert at.namespace in active.names


async def a_get_can_say_a_version(at: World) -> None:
    created = await at.made(at.leases, lease())
    for version in ("0", "5", created.version):
        assert (await at.get(f"{at.leases}/a?resourceVersion={version}")).body == created.body
    assert (await at.get(f"{at.leases}/a?resourceVersion=abc")).status == 500
