"""From `kubectl apply` to packets, through our own controllers and agents, and all the way back."""

import json
import signal
from collections import Counter

import pytest

from mooring.lab import callers, faults, lifecycle, waiting
from mooring.lab.lab import open_lab
from mooring.lab.progress import PlainProgress
from tests.lab import moored, probe
from tests.lab.gateway_path import ECHO
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

pytestmark = pytest.mark.usefixtures("nothing_is_left")

NEW_ADDRESS = {
    "kubernetes create events": 1,
    "kubernetes patch services": 2,
    "kubernetes patch services/status": 1,
    "neutron create floatingips": 1,
    "neutron create ports": 1,
    "neutron update ports": 2,
}
"""A Service on a new address: managed and port, status, one event; two POST and a PUT for each gateway."""

KNOWN_ADDRESS = {
    "kubernetes create events": 1,
    "kubernetes patch services": 2,
    "kubernetes patch services/status": 1,
}
"""A Service on an address that is there."""

ASKED = 5
LEASE = 15
"""Seconds."""
LABELS = {"neutron tag floatingips", "neutron tag ports"}


def answers(product: Moored, address: str, *, port: int = 80, count: int = 40) -> Counter[str]:
    probe.first_answer(product.lab, "client", address, port)
    return Counter(probe.get(product.lab, "client", address, port) for _ in range(count))


def test_a_service_gets_an_address_and_every_pod_answers(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=4)
    product.settled_on(addresses=0)
    before = product.calls()
    moored.expose_with_endpoints(tenant, "web")
    given = moored.address(tenant, "web")
    assert len(answers(product, given)) == 4
    waiting.until(lambda: moored.events(tenant, "web") == ["Published"], seconds=10, what="the event")
    # Neutron counts up a port's revision by itself now and then: what is refused for that is read, and written again.
    again = (product.calls() - before)["neutron get ports"]
    expected = NEW_ADDRESS | {"neutron update ports": NEW_ADDRESS["neutron update ports"] + again}
    assert {what: n for what, n in product.writes(before).items() if what not in LABELS} == expected
    assert moored.reasons(tenant, "web") == {
        "Accepted": "Accepted",
        "Allocated": "Allocated",
        "Programmed": "Programmed",
    }
    meta = tenant.get("service", "web")["metadata"]
    assert product.virtual_parent(meta["annotations"]["openstack.org/mooring-port"]) == product.holder()
    assert {"openstack.org/mooring", "service.kubernetes.io/load-balancer-cleanup"} <= set(meta["finalizers"])


def test_services_share_an_address_until_they_want_the_same_port(product: Moored, tenant: Tenant) -> None:
    for name in ("web", "shop"):
        tenant.deploy(name, replicas=1)
    moored.expose(tenant, "web", port=80)
    first = moored.address(tenant, "web")
    product.settled_on(addresses=1)
    before = product.calls()
    moored.expose_with_endpoints(tenant, "shop", port=8080)
    assert moored.address(tenant, "shop") == first
    waiting.until(lambda: moored.events(tenant, "shop") == ["Published"], seconds=10, what="the event")
    assert product.writes(before) == KNOWN_ADDRESS
    assert set(answers(product, first, count=ASKED)) == set(pods(tenant, "web"))
    assert set(answers(product, first, port=8080, count=ASKED)) == set(pods(tenant, "shop"))
    counted = {
        each["service"]: each["connections"]
        for each in json.loads(product.mooring("who", first, "-o", "json")[1])["services"]
    }
    assert counted.keys() == {f"{tenant.name}/shop", f"{tenant.name}/web"}
    assert all(number >= ASKED for number in counted.values()), counted
    moored.expose(tenant, "rival", port=80, app="shop")
    second = moored.address(tenant, "rival")
    assert second != first
    assert set(answers(product, second, count=ASKED)) == set(pods(tenant, "shop"))
    tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
    assert refused(product, first)
    assert set(answers(product, first, port=8080, count=ASKED)) == set(pods(tenant, "shop"))


def test_packets_follow_the_pods(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    assert len(answers(product, given, count=10)) == 1
    tenant.deploy("web", replicas=3)
    waiting.until(lambda: len(answers(product, given, count=20)) == 3, seconds=30, what="three pods to answer")
    tenant.kubectl("scale", "deployment/web", "--replicas=0")
    waiting.until(lambda: refused(product, given), seconds=30, what="connections to be refused at once")
    waiting.until(
        lambda: moored.reasons(tenant, "web")["Programmed"] == "NoEndpoints", seconds=10, what="the condition"
    )
    tenant.deploy("web", replicas=1)
    waiting.until(lambda: moored.reasons(tenant, "web")["Programmed"] == "Programmed", seconds=10, what="the condition")
    assert len(answers(product, given, count=5)) == 1


def test_clients_come_back_to_their_pod_and_others_are_kept_out(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=3)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    waiting.until(lambda: len(answers(product, given, count=30)) == 3, seconds=30, what="three pods to answer")
    moored.change(tenant, "web", {"sessionAffinity": "ClientIP"})
    waiting.until(lambda: len(answers(product, given, count=10)) == 1, seconds=30, what="one pod to answer")
    moored.change(tenant, "web", {"loadBalancerSourceRanges": ["192.0.2.0/24"]})
    waiting.until(lambda: refused(product, given), seconds=30, what="the client to be kept out")
    moored.change(tenant, "web", {"loadBalancerSourceRanges": ["192.0.2.0/24", "0.0.0.0/0"]})
    assert len(answers(product, given, count=10)) == 1
    moored.change(tenant, "web", {"sessionAffinity": "None", "loadBalancerSourceRanges": None})
    waiting.until(lambda: len(answers(product, given, count=30)) == 3, seconds=30, what="three pods to answer again")


def test_a_restart_with_everything_in_place_writes_nothing_and_loses_nothing(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    probe.first_answer(product.lab, "client", given)  # OVN may lose the first packet to an address that is new to it
    product.settled_on(addresses=1)
    version = tenant.get("service", "web")["metadata"]["resourceVersion"]
    with callers.Caller(product.lab, "client", given, patience=callers.PATIENT) as caller:
        for part in ("controller-gw1", "controller-gw2", "agent-gw1", "agent-gw2"):
            lifecycle.restart(product.lab, part, PlainProgress())
        product.settled()
        went = caller.end()
    assert went.failed == 0, went
    assert product.writes(Counter()) == {}, "new processes have written something"
    assert tenant.get("service", "web")["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_another_controller_takes_over_and_makes_nothing_twice(product: Moored, tenant: Tenant, number: int) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    product.settled_on(addresses=1)
    leading, made = product.leader(), product.leftovers()
    faults.kill(product.lab, leading, number)
    try:
        waiting.until(lambda: product.leader() != leading, seconds=LEASE + 10, what="another one to lead")
        moored.expose(tenant, "beside", port=81, app="web")
        assert moored.address(tenant, "beside") == moored.address(tenant, "web") == given
        assert len(answers(product, given, port=81, count=3)) == 1
        assert product.leftovers()["ports"] == made["ports"]
        assert product.leftovers()["floating IPs"] == made["floating IPs"]
    finally:
        lifecycle.restart(product.lab, leading, PlainProgress())


def test_nobody_notices_that_the_active_gateway_dies(product: Moored, tenant: Tenant) -> None:
    """Its cables are pulled, as when its host loses power: calls go on, and established connections too."""
    tenant.deploy("web", replicas=2)
    tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
    moored.expose(tenant, "web", port=80)
    moored.expose(tenant, "echo", port=81)
    given = moored.address(tenant, "web")
    assert moored.address(tenant, "echo") == given
    probe.first_answer(product.lab, "client", given)
    first = product.holder()
    lab = product.lab
    with (
        callers.Connections(lab, "client", given, count=20, port=81) as connections,
        callers.Caller(lab, "client", given) as caller,
    ):
        assert connections.working(first=True) == 20
        for link in ("eth0", "eth1"):
            faults.cut(lab, first, link)
        waiting.until(
            lambda: product.virtual_parent(port_of(tenant, "web")) not in ("", first), seconds=10, what="a move"
        )
        assert connections.working() == 20
        went = caller.end()
    assert went.longest < 3, went
    print(f"longest silence {went.longest} s, {went.failed} of {went.answered + went.failed} calls failed")  # noqa: T201 - seen with -s
    faults.heal(lab)
    waiting.until(lambda: product.holder() != "", seconds=20, what="one holder again")
    assert "" not in answers(product, given, count=10)


@pytest.mark.usefixtures("product")
def test_what_somebody_writes_into_the_status_is_put_right(tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    edit = '{"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.1"}]}}}'
    tenant.kubectl("patch", "service", "web", "--subresource=status", "--type=merge", f"--patch={edit}")
    waiting.until(lambda: moored.addresses(tenant, "web") == [given], seconds=10, what="its own address again")
    waiting.until(lambda: "Restored" in moored.events(tenant, "web"), seconds=10, what="the event")


def test_a_service_whose_owner_opts_out_is_let_go(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    moored.address(tenant, "web")
    tenant.kubectl("annotate", "--overwrite", "service", "web", "openstack.org/mooring-managed=false")
    waiting.until(
        lambda: not tenant.get("service", "web")["metadata"].get("finalizers"), seconds=20, what="it to be free"
    )
    service = tenant.get("service", "web")
    assert service["status"] == {"loadBalancer": {}}
    ours = {key: text for key, text in service["metadata"]["annotations"].items() if key.startswith("openstack.org/")}
    assert ours == {"openstack.org/mooring-managed": "false"}
    assert product.holder()


def test_a_service_that_is_no_load_balancer_any_more_gives_everything_back(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    assert answers(product, given, count=2)
    port = port_of(tenant, "web")
    tenant.kubectl("patch", "service", "web", "--type=merge", '--patch={"spec":{"type":"ClusterIP"}}')
    waiting.until(
        lambda: not tenant.get("service", "web")["metadata"].get("finalizers"), seconds=20, what="it to be free"
    )
    assert tenant.get("service", "web")["status"] == {"loadBalancer": {}}
    assert not silent_about(product, given)
    waiting.until(
        lambda: port not in product.leftovers().get("ports", ()), seconds=300, what="its port to go", interval=2.0
    )


def test_people_are_told_what_is_the_matter(product: Moored, tenant: Tenant) -> None:
    """`status`, `why` and `plan`, while a controller runs and while none does."""
    moored.expose(tenant, "web")
    moored.address(tenant, "web")
    product.settled_on(addresses=1)
    code, told = product.mooring("why", f"{tenant.name}/web", "-o", "json")
    verdicts = json.loads(told)["verdicts"]
    assert (code, verdicts[-1]["reason"]) == (3, "NoEndpoints")
    tenant.deploy("web", replicas=1)
    product.settled()
    assert product.mooring("plan", "--exit-code")[0] == 0
    with product.without_controllers():
        moored.expose(tenant, "late", port=81, app="web")
        code, told = product.mooring("status", "--all")
        assert code == 3
        assert "nobody leads" in told.lower()
        assert f"{tenant.name}/late" in told
        code, told = product.mooring("why", f"{tenant.name}/late")
        assert code == 3
        assert "NoAddressYet" in told
        code, told = product.mooring("plan", "--exit-code")
        assert code == 4
        assert f"{tenant.name}/late" in told
    moored.address(tenant, "late")


def test_the_controller_may_do_what_it_does_and_no_more(product: Moored) -> None:
    """Its ServiceAccount is asked for what it has no business with."""
    for verb, what in (
        ("delete", "services"),
        ("create", "services"),
        ("get", "secrets"),
        ("list", "pods"),
        ("patch", "nodes"),
        ("delete", "namespaces"),
        ("create", "clusterrolebindings"),
    ):
        told = product.can(verb, what)
        assert told == "no", f"{verb} {what}"
    assert product.can("patch", "services") == "yes"


def test_deletion_leaves_nothing(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    assert answers(product, given, count=2)
    tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
    # what tests before this one left goes with it
    waiting.until(lambda: product.leftovers() == {}, seconds=300, what="nothing to be left", interval=2.0)


def test_controllers_in_pods_do_the_same_and_take_over_from_each_other(product: Moored, tenant: Tenant) -> None:
    lifecycle.deploy(open_lab(product.lab.spec.name), "pod", PlainProgress())
    try:
        tenant.deploy("web", replicas=1)
        moored.expose(tenant, "web")
        given = moored.address(tenant, "web")
        assert len(answers(product, given, count=3)) == 1
        leading = product.leader()
        pod = leading.removeprefix("controller-")
        product.lab.kubectl("--namespace=mooring-system", "delete", "pod", pod, "--wait=false")
        waiting.until(lambda: product.leader() != leading, seconds=LEASE + 30, what="the other pod to lead")
        moored.expose(tenant, "beside", port=81, app="web")
        assert moored.address(tenant, "beside") == given
        assert len(answers(product, given, port=81, count=3)) == 1
    finally:
        lifecycle.deploy(open_lab(product.lab.spec.name), "host", PlainProgress())


def pods(tenant: Tenant, app: str) -> list[str]:
    return [each["metadata"]["name"] for each in tenant.get("pods", f"--selector=app={app}")["items"]]


def port_of(tenant: Tenant, name: str) -> str:
    return str(tenant.get("service", name)["metadata"]["annotations"]["openstack.org/mooring-port"])


def silent_about(product: Moored, address: str) -> str:
    """What is said at an address at which nobody is any more: nothing."""
    command = f"curl --silent --max-time 2 http://{address}/ || true"
    return product.lab.hosts.run("client", ["/bin/sh", "-c", command]).strip()


def refused(product: Moored, address: str) -> bool:
    """Whether a connection is refused at once, which is what an address without pods should do."""
    command = ["curl", "--silent", "--max-time", "2", "--output", "/dev/null", "--write-out", "%{exitcode}"]
    told = product.lab.hosts.run("client", ["/bin/sh", "-c", f"{' '.join(command)} http://{address}/ || true"])
    return told.strip() == "7"
