"""Nodes and network policies, as far as we read them."""

from mooring.core import nodes
from mooring.kube import kinds
from mooring.model.kubernetes import LabelSelector, Name, NetworkPolicySpec, Requirement
from tests.contract.kube.world import Tree, World

NODES = "/api/v1/nodes"
ADDRESSES = [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "contract"}]


def _node(name: str, ready: str = "True") -> Tree:
    status = {"conditions": [{"type": "Ready", "status": ready}], "addresses": ADDRESSES}
    return {"metadata": {"name": name, "labels": {"a": "b"}}, "status": status}


async def a_node_is_made_with_its_status(at: World) -> None:
    name = at.unique("a")
    answer = await at.made(NODES, _node(name))
    assert answer.body["status"]["addresses"] == ADDRESSES
    assert "namespace" not in answer.meta
    found = await at.api.get(kinds.NODES, Name("", name))
    assert nodes.usable(found) == nodes.Usable(name, ("192.0.2.1",))
    assert (await at.delete(f"{NODES}/{name}")).status == 200


async def the_status_of_a_node_has_a_path_of_its_own(at: World) -> None:
    name = at.unique("a")
    await at.made(NODES, _node(name))
    change = {"metadata": {"labels": {"c": "d"}}, "status": {"addresses": None}}
    answer = await at.patch(f"{NODES}/{name}", change)
    assert (answer.meta["labels"]["c"], answer.body["status"]["addresses"]) == ("d", ADDRESSES)
    conditions = [{"type": "Ready", "status": "False"}]
    await at.patch(f"{NODES}/{name}/status", {"status": {"conditions": conditions}})
    found = await at.api.get(kinds.NODES, Name("", name))
    assert [each.status for each in found.status.conditions if each.type == "Ready"] == ["False"]
    assert nodes.usable(found) is None
    await at.delete(f"{NODES}/{name}")


async def a_policy_is_completed(at: World) -> None:
    answer = await at.made(at.policies, {"metadata": {"name": "a"}, "spec": {"podSelector": {}}})
    assert answer.body["spec"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    assert answer.meta["generation"] == 1
    both = await at.made(at.policies, {"metadata": {"name": "b"}, "spec": {"podSelector": {}, "egress": [{}]}})
    assert both.body["spec"]["policyTypes"] == ["Ingress", "Egress"]
    asked = [{"key": "tier", "operator": "In", "values": ["front"]}]
    change = {"spec": {"podSelector": {"matchLabels": {"app": "web"}, "matchExpressions": asked}}}
    assert (await at.patch(f"{at.policies}/a", change)).meta["generation"] == 2
    found = await at.api.get(kinds.NETWORK_POLICIES, Name(at.namespace, "a"))
    selector = LabelSelector({"app": "web"}, (Requirement("tier", "In", ("front",)),))
    assert found.spec == NetworkPolicySpec(selector, ("Ingress",))


async def policies_have_rules(at: World) -> None:
    asked = "spec.podSelector.matchExpressions[0]"
    wrong: tuple[tuple[Tree, set[str]], ...] = (
        ({"podSelector": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}, {f"{asked}.operator"}),
        ({"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, {f"{asked}.values"}),
        ({"podSelector": {}, "policyTypes": ["Nonsense"]}, {"spec.policyTypes[0]"}),
    )
    for spec, blamed in wrong:
        answer = await at.post(at.policies, {"metadata": {"name": "a"}, "spec": spec})
        assert (answer.status, answer.fields) == (422, blamed)
