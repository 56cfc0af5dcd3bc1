"""Services: defaults, addresses and ports that are given to them, and what is refused."""

from tests.contract.kube.bodies import balanced, service
from tests.contract.kube.world import Tree, World, without


async def _spec(at: World, body: Tree) -> Tree:
    spec: Tree = (await at.made(at.services, body)).body["spec"]
    return spec


async def _change(at: World, **spec: object) -> Tree:
    answer = await at.patch(f"{at.services}/a", {"spec": spec})
    assert answer.status == 200, answer.body
    changed: Tree = answer.body["spec"]
    return changed


def _ports(spec: Tree) -> list[int]:
    return [port["nodePort"] for port in spec["ports"]]


async def a_plain_service_is_completed(at: World) -> None:
    answer = await at.made(at.services, service())
    spec = answer.body["spec"]
    address = spec["clusterIP"]
    assert spec == {
        "type": "ClusterIP",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "clusterIP": address,
        "clusterIPs": [address],
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }
    assert "generation" not in answer.meta


async def a_balanced_service_is_completed(at: World) -> None:
    spec = await _spec(at, balanced(loadBalancerClass="openstack.org/gateway"))
    assert without(spec, "clusterIP", "clusterIPs", "ports") == {
        "type": "LoadBalancer",
        "loadBalancerClass": "openstack.org/gateway",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "externalTrafficPolicy": "Cluster",
        "allocateLoadBalancerNodePorts": True,
    }
    assert 30000 <= _ports(spec)[0] <= 32767


async def a_service_has_no_generation(at: World) -> None:
    await at.made(at.services, service())
    answer = await at.patch(f"{at.services}/a", {"spec": {"type": "LoadBalancer"}})
    assert "generation" not in answer.meta


async def a_port_keeps_what_it_says(at: World) -> None:
    ports = [
        {"name": "a", "port": 80, "targetPort": "web", "protocol": "TCP"},
        {"name": "b", "port": 53, "targetPort": 5353, "protocol": "UDP"},
    ]
    assert (await _spec(at, service(ports=ports)))["ports"] == ports


async def every_service_has_an_address_and_ports_of_its_own(at: World) -> None:
    first, second = await _spec(at, balanced("a")), await _spec(at, balanced("b"))
    assert first["clusterIP"] != second["clusterIP"]
    assert _ports(first) != _ports(second)


async def a_headless_service_has_no_address(at: World) -> None:
    spec = await _spec(at, service(clusterIP="None"))
    assert spec["clusterIPs"] == ["None"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")
    spec = await _spec(at, service("b", clusterIP="None", selector={"app": "b"}))
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")


async def an_external_name_needs_no_port(at: World) -> None:
    spec = await _spec(at, {"metadata": {"name": "a"}, "spec": {"type": "ExternalName", "externalName": "a.example"}})
    assert spec == {"type": "ExternalName", "externalName": "a.example", "sessionAffinity": "None"}


async def two_families_give_two_addresses(at: World) -> None:
    spec = await _spec(at, service(ipFamilyPolicy="RequireDualStack"))
    assert spec["ipFamilies"] == ["IPv4", "IPv6"]
    assert [":" in address for address in spec["clusterIPs"]] == [False, True]
    spec = await _spec(at, service("b", ipFamilies=["IPv6"]))
    assert ":" in spec["clusterIP"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv6"], "SingleStack")


async def a_second_family_comes_and_goes(at: World) -> None:
    before = await _spec(at, service())
    both = await _change(at, ipFamilyPolicy="PreferDualStack")
    assert both["clusterIPs"][0] == before["clusterIP"]
    assert len(both["clusterIPs"]) == 2
    assert await _change(at, ipFamilyPolicy="SingleStack") == before


async def session_affinity_has_a_time(at: World) -> None:
    spec = await _spec(at, service(sessionAffinity="ClientIP"))
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    assert "sessionAffinityConfig" not in await _change(at, sessionAffinity="None")


async def node_ports_can_be_done_without(at: World) -> None:
    spec = await _spec(at, balanced(allocateLoadBalancerNodePorts=False))
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert spec["allocateLoadBalancerNodePorts"] is False


async def local_traffic_has_a_port_for_its_health(at: World) -> None:
    spec = await _spec(at, balanced(externalTrafficPolicy="Local"))
    assert 30000 <= spec["healthCheckNodePort"] <= 32767
    assert "healthCheckNodePort" not in await _change(at, externalTrafficPolicy="Cluster")


async def one_port_number_for_two_protocols_is_one_node_port(at: World) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}]
    first, second = _ports(await _spec(at, balanced(ports=ports)))
    assert first == second


async def what_was_given_is_kept_by_a_writer_who_leaves_it_out(at: World) -> None:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    before = await at.made(at.services, balanced(ports=ports))
    answer = await at.put(f"{at.services}/a", balanced(ports=ports))
    assert (answer.version, answer.body["spec"]) == (before.version, before.body["spec"])


async def a_node_port_follows_the_name_of_its_port(at: World) -> None:
    before = await _spec(at, balanced(ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}]))
    after = await _change(at, ports=[{"name": "b", "port": 8081}, {"name": "c", "port": 80}])
    assert _ports(after)[0] == _ports(before)[1]
    assert _ports(after)[1] not in _ports(before)


async def a_service_becomes_balanced(at: World) -> None:
    before = await _spec(at, service())
    after = await _change(at, type="LoadBalancer", loadBalancerClass="a/b")
    assert after["clusterIP"] == before["clusterIP"]
    assert after["externalTrafficPolicy"] == "Cluster"
    assert _ports(after)


async def a_service_that_is_no_longer_balanced_loses_what_belongs_to_it(at: World) -> None:
    before = await _spec(at, balanced(loadBalancerClass="a/b"))
    after = await _change(at, type="ClusterIP")
    gone = ("loadBalancerClass", "externalTrafficPolicy", "allocateLoadBalancerNodePorts")
    expected = without(before, *gone) | {"type": "ClusterIP", "ports": [without(before["ports"][0], "nodePort")]}
    assert after == expected


async def an_external_name_gives_its_address_back(at: World) -> None:
    before = await _spec(at, service())
    after = await _change(at, type="ExternalName", externalName="a.example")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"} & set(after)
    assert (await _spec(at, service("b", clusterIP=before["clusterIP"])))["clusterIP"] == before["clusterIP"]


async def the_class_cannot_change(at: World) -> None:
    await at.made(at.services, balanced(loadBalancerClass="a/b"))
    await at.made(at.services, balanced("none"))
    for name, new in (("a", "c/d"), ("a", None), ("none", "c/d")):
        answer = await at.patch(f"{at.services}/{name}", {"spec": {"loadBalancerClass": new}})
        assert (answer.status, answer.fields) == (422, {"spec.loadBalancerClass"})


async def the_address_cannot_change(at: World) -> None:
    await at.made(at.services, service())
    answer = await at.patch(f"{at.services}/a", {"spec": {"clusterIP": "10.1.1.1"}})
    assert (answer.status, answer.fields) == (422, {"spec.clusterIPs[0]"})


async def an_address_or_port_is_given_once(at: World) -> None:
    spec = await _spec(at, balanced())
    taken = await at.post(at.services, service("b", clusterIP=spec["clusterIP"]))
    assert (taken.status, taken.fields) == (422, {"spec.clusterIPs"})
    outside = await at.post(at.services, service("b", clusterIP="203.0.113.1"))
    assert (outside.status, outside.fields) == (422, {"spec.clusterIPs"})
    for number in (_ports(spec)[0], 80):
        answer = await at.post(at.services, balanced("b", ports=[{"port": 80, "nodePort": number}]))
        assert (answer.status, answer.fields) == (422, {"spec.ports[0].nodePort"})


async def a_deleted_service_frees_its_address_and_ports(at: World) -> None:
    spec = await _spec(at, balanced())
    await at.delete(f"{at.services}/a")
    asked = balanced("b", clusterIP=spec["clusterIP"], ports=[{"port": 80, "nodePort": _ports(spec)[0]}])
    again = await _spec(at, asked)
    assert (again["clusterIP"], _ports(again)) == (spec["clusterIP"], _ports(spec))


async def ports_have_rules(at: World) -> None:
    here = "spec.ports[0]"
    wrong: tuple[tuple[list[Tree], set[str]], ...] = (
        ([], {"spec.ports"}),
        ([{"port": 0}], {f"{here}.port", f"{here}.targetPort"}),
        ([{"port": 65536, "targetPort": 1}], {f"{here}.port"}),
        ([{"port": 80, "targetPort": "NOT_A_NAME"}], {f"{here}.targetPort"}),
        ([{"port": 80, "targetPort": "80"}], {f"{here}.targetPort"}),
        ([{"port": 80, "protocol": "ICMP"}], {f"{here}.protocol"}),
        ([{"port": 80, "name": "NotAName"}], {f"{here}.name"}),
        ([{"port": 80}, {"port": 81}], {f"{here}.name", "spec.ports[1].name"}),
        ([{"port": 80, "name": "a"}, {"port": 81, "name": "a"}], {"spec.ports[1].name"}),
        ([{"port": 80, "name": "a"}, {"port": 80, "name": "b"}], {"spec.ports[1]"}),
    )
    for ports, fields in wrong:
        answer = await at.post(at.services, service(ports=ports))
        assert (answer.status, answer.reason, answer.fields) == (422, "Invalid", fields), ports


async def choices_are_closed(at: World) -> None:
    for field in ("type", "sessionAffinity", "internalTrafficPolicy"):
        answer = await at.post(at.services, service(**{field: "Nonsense"}))
        assert (answer.status, answer.fields) == (422, {f"spec.{field}"})
    answer = await at.post(at.services, balanced(externalTrafficPolicy="Nonsense"))
    assert (answer.status, answer.fields) == (422, {"spec.externalTrafficPolicy"})


async def what_belongs_to_balanced_services_is_refused_elsewhere(at: World) -> None:
    for field, value in (("loadBalancerClass", "a/b"), ("externalTrafficPolicy", "Local")):
        answer = await at.post(at.services, service(**{field: value}))
        assert (answer.status, answer.fields) == (422, {f"spec.{field}"})


async def source_ranges_are_ranges(at: World) -> None:
    answer = await at.post(at.services, balanced(loadBalancerSourceRanges=["nonsense"]))
    assert (answer.status, answer.fields) == (422, {"spec.LoadBalancerSourceRanges[0]"})
    spec = await _spec(at, balanced(loadBalancerSourceRanges=["192.0.2.0/24"]))
    assert spec["loadBalancerSourceRanges"] == ["192.0.2.0/24"]


async def wrong_types_are_a_bad_request_or_a_bad_patch(at: World) -> None:
    for spec in ({"ports": 1}, {"ports": [{"port": "80"}]}, {"selector": {"a": 1}}):
        answer = await at.post(at.services, {"metadata": {"name": "a"}, "spec": spec})
        assert (answer.status, answer.reason) == (400, "BadRequest")
    await at.made(at.services, service())
    answer = await at.patch(f"{at.services}/a", {"spec": {"ports": [{"port": "80"}]}})
    assert (answer.status, answer.fields) == (422, {"patch"})


async def a_spec_cannot_be_erased(at: World) -> None:
    await at.made(at.services, service())
    answer = await at.patch(f"{at.services}/a", {"spec": None})
    assert (answer.status, answer.fields) == (422, {"spec.ports"})


async def a_refused_service_takes_nothing(at: World) -> None:
    spec = await _spec(at, balanced())
    await at.delete(f"{at.services}/a")
    asked = {"clusterIP": spec["clusterIP"], "ports": [{"port": 80, "nodePort": _ports(spec)[0]}]}
    assert (await at.post(at.services, balanced("A", **asked))).status == 422
    await at.made(at.services, balanced("a", **asked))
