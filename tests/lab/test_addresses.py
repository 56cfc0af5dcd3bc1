"""Which addresses Services get: of both families, those that they ask for, those that stay."""

import json
from typing import Any

import pytest

from mooring.lab import callers, topology, waiting
from mooring.model import names
from tests.lab import moored, probe
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

pytestmark = pytest.mark.usefixtures("nothing_is_left")

FAMILIES = ["IPv4", "IPv6"]


def both(tenant: Tenant, name: str) -> list[str]:
    waiting.until(lambda: len(moored.addresses(tenant, name)) == 2, seconds=60, what=f"two addresses for {name}")
    return moored.addresses(tenant, name)


def test_a_service_of_two_families_answers_at_two_addresses(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    moored.expose(tenant, "web", ipFamilyPolicy="RequireDualStack", ipFamilies=FAMILIES)
    four, six = both(tenant, "web")
    assert (four.startswith("203.0.113."), six.startswith("2001:db8:20::")) == (True, True)
    for address in (four, f"[{six}]"):
        probe.first_answer(product.lab, "client", address, 80)
        assert len({probe.get(product.lab, "client", address, 80) for _ in range(20)}) == 2
    assert len(tenant.get("service", "web")["metadata"]["annotations"][names.PORT].split(",")) == 2
    tenant.kubectl(
        "patch", "service", "web", "--patch", '{"spec": {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]}}'
    )
    waiting.until(lambda: moored.addresses(tenant, "web") == [four], seconds=30, what="IPv6 to be gone, and IPv4 kept")
    assert probe.get(product.lab, "client", four, 80)
    moored.expose(tenant, "six", app="web", ipFamilies=["IPv6"])
    probe.first_answer(product.lab, "client", f"[{moored.address(tenant, 'six')}]", 80)


def test_an_address_that_is_asked_for_is_given_or_refused(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    moored.expose(tenant, "beside", port=8080, app="web", loadBalancerIP=given)
    assert moored.address(tenant, "beside") == given
    moored.expose(tenant, "rival", app="web", annotations={names.ADDRESSES: given})
    said(tenant, "rival", "WishRefused")
    moored.expose(tenant, "nowhere", app="web", loadBalancerIP="203.0.113.250")
    said(tenant, "nowhere", "CloudForbids")  # who is no administrator cannot choose
    assert moored.addresses(tenant, "rival") == moored.addresses(tenant, "nowhere") == []
    tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
    waiting.until(lambda: moored.addresses(tenant, "rival") == [given], seconds=30, what="what was freed to be given")
    assert probe.first_answer(product.lab, "client", given, 80) is not None


def test_who_is_replaced_is_served_all_the_while_whatever_it_asks_for(product: Moored, tenant: Tenant) -> None:
    """By a file that has nothing of ours, and an address in it that OpenStack refuses; then it gets more endpoints.

    All pods are there before: a new one has a link of its own on a host of OVN, which may lose packets then.
    """
    tenant.deploy("web", replicas=3)
    first, *_ = tenant.kubectl("get", "pods", "--output=name").split()
    tenant.kubectl("label", first, "serves=yes")
    moored.expose(tenant, "web", selector={"serves": "yes"})
    given = moored.address(tenant, "web")
    probe.first_answer(product.lab, "client", given)
    port = tenant.get("service", "web")["metadata"]["annotations"][names.PORT]
    with callers.Caller(product.lab, "client", given, patience=callers.PATIENT) as caller:
        replace(tenant, "web", loadBalancerIP="203.0.113.250")
        said(tenant, "web", "CloudForbids")
        meta = tenant.get("service", "web")["metadata"]
        assert (meta["annotations"][names.PORT], names.FINALIZER in meta["finalizers"]) == (port, True)
        tenant.kubectl("label", "pods", "--all", "--overwrite", "serves=yes")
        waiting.until(
            lambda: len({probe.get(product.lab, "client", given) for _ in range(20)}) == 3,
            seconds=30,
            what="three pods to answer",
        )
        went = caller.end()
    assert (went.failed, moored.addresses(tenant, "web")) == (0, [given]), went
    code, told = product.mooring("who", given, "--output=json")
    assert code == 3, "what it asks for is refused"
    assert [each["service"] for each in json.loads(told)["address"]["carries"]] == [f"{tenant.name}/web"]


def replace(tenant: Tenant, name: str, **spec: object) -> None:
    """With `kubectl replace`: what its owner wrote, something more, and nothing that anybody else did."""
    there = tenant.get("service", name)
    own = {key: there["spec"][key] for key in ("type", "loadBalancerClass", "selector", "ports")}
    plain = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {**own, **spec}}
    tenant.kubectl("replace", "--filename=-", stdin=json.dumps(plain))


def test_a_floating_ip_that_was_there_is_used_and_given_back(product: Moored, tenant: Tenant) -> None:
    network = project(product)
    own = network.create_ip(floating_network_id=topology.load(product.lab).networks["public"])
    try:
        tenant.deploy("web", replicas=1)
        moored.expose(tenant, "web", loadBalancerIP=own.floating_ip_address)
        assert moored.address(tenant, "web") == own.floating_ip_address
        probe.first_answer(product.lab, "client", own.floating_ip_address, 80)
        tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
        waiting.until(
            lambda: network.get_ip(own.id).port_id is None, seconds=240, what="it to be given back", interval=2
        )
        assert network.get_ip(own.id).description == ""
    finally:
        network.delete_ip(own.id)


def test_services_whose_port_is_deleted_by_hand_are_reached_where_they_were(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    for name, port in (("web", 80), ("beside", 8080)):
        moored.expose(tenant, name, port=port, app="web")
    given = moored.address(tenant, "web")
    assert moored.address(tenant, "beside") == given

    def has() -> set[str]:
        return {tenant.get("service", each)["metadata"]["annotations"][names.PORT] for each in ("web", "beside")}

    [lost] = has()
    project(product).delete_port(lost)
    waiting.until(lambda: len(has()) == 1 and lost not in has(), seconds=150, what="a new port for both", interval=2)
    assert moored.addresses(tenant, "web") == moored.addresses(tenant, "beside") == [given]
    for port in (80, 8080):
        probe.first_answer(product.lab, "client", given, port)


def test_floating_ips_that_people_move_or_describe_are_left_to_them(product: Moored, tenant: Tenant) -> None:
    """Who moved one to a machine has it there; who wrote into a description of one does no harm to its Service."""
    network = project(product)
    tenant.deploy("web", replicas=1)
    for name in ("moved", "described"):
        moored.expose(tenant, name, app="web")
    given = {name: moored.address(tenant, name) for name in ("moved", "described")}
    found = {name: next(network.ips(floating_ip_address=address)) for name, address in given.items()}
    machine = network.create_port(network_id=network.get_port(found["moved"].port_id).network_id, name="machine")
    try:
        network.update_ip(found["moved"].id, port_id=machine.id)
        network.update_ip(found["described"].id, description="of team a")
        waiting.until(
            lambda: moored.addresses(tenant, "moved") not in ([], [given["moved"]]), seconds=150, what="another address"
        )
        probe.first_answer(product.lab, "client", moored.address(tenant, "moved"))
        said(tenant, "described", "AddressUnmarked")
        waiting.until(
            lambda: network.get_ip(found["moved"].id).description == "", seconds=240, what="it to be let go", interval=2
        )
        assert network.get_ip(found["moved"].id).port_id == machine.id
        assert moored.addresses(tenant, "described") == [given["described"]]
        probe.first_answer(product.lab, "client", given["described"])
        assert network.get_ip(found["described"].id).description == "of team a"
    finally:
        network.delete_port(machine.id)
        for each in found.values():
            network.delete_ip(each.id)


def test_an_address_that_stays_is_for_who_asks_for_it(product: Moored, tenant: Tenant) -> None:
    """It is on its port for a while after its Service is gone; who comes then gets another one."""
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web", annotations={names.KEEP: "true"})
    kept = moored.address(tenant, "web")
    tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
    moored.expose(tenant, "next", app="web", annotations={names.KEEP: "false"})
    assert moored.address(tenant, "next") != kept
    moored.expose(tenant, "again", app="web", loadBalancerIP=kept)
    try:
        waiting.until(lambda: moored.addresses(tenant, "again") == [kept], seconds=150, what="it to be had again")
        probe.first_answer(product.lab, "client", kept)
    finally:
        tenant.kubectl("annotate", "service", "again", f"{names.KEEP}=false")


@pytest.fixture
def fast(product: Moored) -> str:
    """Another subnet of the network that addresses come from, behind the same router; it stays for the next time."""
    there, network = topology.load(product.lab), project(product)
    if network.find_subnet("fast") is None:
        made = network.create_subnet(name="fast", network_id=there.networks["lb"], ip_version=4, cidr="10.29.0.0/24")
        network.add_interface_to_router(there.router, subnet_id=made.id)
    return "fast"


def test_a_service_chooses_the_subnet_of_its_address(product: Moored, tenant: Tenant, fast: str) -> None:
    tenant.deploy("web", replicas=1)
    with product.configured({"[addresses]\n": f'[addresses]\nsubnets_allowed = ["{fast}"]\n'}):
        moored.expose(tenant, "web")
        usual = moored.address(tenant, "web")
        moored.expose(tenant, "quick", port=8080, app="web", annotations={names.SUBNET: fast})
        chosen = moored.address(tenant, "quick")
        assert chosen != usual, "who chose does not share with who did not"
        probe.first_answer(product.lab, "client", chosen, 8080)
        behind = project(product).get_port(tenant.get("service", "quick")["metadata"]["annotations"][names.PORT])
        assert behind.fixed_ips[0]["ip_address"].startswith("10.29.0.")
        moored.expose(tenant, "strange", port=8081, app="web", annotations={names.SUBNET: "lb6-of-others"})
        said(tenant, "strange", "WishRefused")
        tenant.kubectl("annotate", "service", "web", f"{names.SUBNET}={fast}")
        waiting.until(lambda: moored.addresses(tenant, "web") == [chosen], seconds=60, what="it to move")
        probe.first_answer(product.lab, "client", chosen, 80)
        assert f"It moves from {usual} to {chosen}." in moored.notes(tenant, "web")


def test_a_service_that_wants_no_floating_ip_has_none_until_it_names_a_network(product: Moored, tenant: Tenant) -> None:
    network = project(product)
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web", annotations={names.INTERNAL: "true"})
    inner = moored.address(tenant, "web")
    behind = network.get_port(tenant.get("service", "web")["metadata"]["annotations"][names.PORT])
    assert behind.fixed_ips[0]["ip_address"] == inner
    assert not list(network.ips(port_id=behind.id))
    moored.expose(tenant, "open", port=8080, app="web")
    assert moored.address(tenant, "open") != inner, "who is reached from outside does not share with who is not"
    moored.expose(tenant, "unclear", port=8081, app="web", annotations={names.INTERNAL: "yes please"})
    said(tenant, "unclear", "BadAnnotation")
    assert moored.addresses(tenant, "unclear") == []
    tenant.kubectl("annotate", "service", "web", f"{names.FLOATING_NETWORK}=public")
    waiting.until(lambda: moored.addresses(tenant, "web") not in ([], [inner]), seconds=60, what="it to move")
    probe.first_answer(product.lab, "client", moored.address(tenant, "web"))


def project(product: Moored) -> Any:  # noqa: ANN401 - openstacksdk has no types
    """What the controllers' own account sees of the network."""
    return topology.connect(product.lab, username="mooring", project_name="mooring").network


def said(tenant: Tenant, name: str, reason: str) -> None:
    waiting.until(
        lambda: moored.reasons(tenant, name).get("Allocated") == reason, seconds=60, what=f"{name} to say {reason}"
    )
