"""The lab is what it says: real, whole, closed to those who may not."""

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from mooring.lab import cloud, gateways, kubernetes, ovn, processes, report, topology
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab
from tests.lab import probe
from tests.lab.tenant import Tenant

MEMORY = 3 * 2**30
ARP = Path(__file__).with_name("programs") / "arp.py"


def test_every_process_runs_and_the_lab_stays_small(lab: Lab) -> None:
    seen = report.observe(lab)
    assert [part.part for part in seen.parts if part.state != "running"] == []
    assert seen.memory <= MEMORY


@pytest.mark.parametrize("chassis", ["x1", "n2"])
def test_only_the_switch_answers_for_the_address_of_a_tunnel(lab: Lab, chassis: str) -> None:
    """Were another answer the last, packets to that chassis would vanish."""
    switch = json.loads(lab.hosts.run(chassis, ["ip", "-json", "link", "show", "br-phy"]))[0]["address"]
    addresses = [lab.spec.tunnel("n1"), lab.spec.tunnel(chassis)]
    assert lab.hosts.run("n1", ["/usr/bin/python3", ARP, "br-phy", *addresses, switch]).split() == [switch]


def test_kubernetes_is_the_version_that_we_name(lab: Lab) -> None:
    assert json.loads(lab.kubectl("version", "--output=json"))["serverVersion"]["gitVersion"] == "v1.36.4"


def test_pods_run_on_both_nodes_with_addresses_of_both_families(tenant: Tenant) -> None:
    tenant.deploy("web", replicas=4)
    pods = tenant.get("pods")["items"]
    assert {pod["spec"]["nodeName"] for pod in pods} == {"n1", "n2"}
    assert all(len(pod["status"]["podIPs"]) == 2 for pod in pods)


def test_a_service_answers_inside_of_the_cluster_by_name_and_in_both_families(lab: Lab, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    service = tenant.expose("web", port=80, target=8080)
    tenant.deploy("shell", image="shell", replicas=1)
    v4, v6 = service["spec"]["clusterIPs"]
    assert probe.first_answer(lab, "n1", v4).startswith("web-")
    assert probe.first_answer(lab, "n2", f"[{v6}]").startswith("web-")
    answers = {tenant.kubectl("exec", "deployment/shell", "--", "wget", "-q", "-O-", "http://web/") for _ in range(12)}
    assert len(answers) == 2


def test_logs_and_exec_go_through_the_kubelets(tenant: Tenant) -> None:
    tenant.deploy("talk", image="shell", replicas=1, command=("/bin/sh", "-c", "echo hello; exec sleep 1000"))
    assert tenant.kubectl("logs", "deployment/talk") == "hello\n"
    assert tenant.kubectl("exec", "deployment/talk", "--", "hostname").startswith("talk-")


@pytest.mark.parametrize("service", ["keystone", "neutron", "octavia"])
def test_openstack_speaks_only_tls_that_our_authority_signed(lab: Lab, service: str) -> None:
    secured, plain = cloud.url(lab, service), cloud.url(lab, service).replace("https", "http")
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(secured, timeout=5, context=ssl.create_default_context())
    with pytest.raises((urllib.error.URLError, OSError)):
        urllib.request.urlopen(plain, timeout=5)


def test_the_api_server_refuses_who_is_nobody_and_writes_down_who_was_refused(lab: Lab, tenant: Tenant) -> None:
    tenant.kubectl("create", "serviceaccount", "curious")
    account = f"system:serviceaccount:{tenant.name}:curious"
    with pytest.raises(CommandError, match="forbidden"):
        tenant.kubectl("get", "secrets", f"--as={account}")
    entries = [json.loads(line) for line in (lab.place.log / "audit.log").read_text().splitlines()]
    refused = [each for each in entries if each.get("impersonatedUser", {}).get("username") == account]
    assert [each["responseStatus"]["code"] for each in refused] == [403]


def test_mooring_s_own_account_may_do_nothing_that_was_not_granted(lab: Lab) -> None:
    kubectl = [str(lab.program("kubectl")), f"--kubeconfig={lab.place.etc / kubernetes.MOORING_KUBECONFIG}"]
    assert "system:serviceaccount:mooring-system:mooring" in processes.run([*kubectl, "auth", "whoami"])
    with pytest.raises(CommandError, match="forbidden"):
        processes.run([*kubectl, "get", "services"])


def test_mooring_s_openstack_user_is_an_ordinary_member(lab: Lab) -> None:
    network = topology.connect(lab, "mooring").network
    assert {"lb", "nodes", "public"} <= {each.name for each in network.networks()}
    with pytest.raises(Exception, match=r"[Pp]olicy|403"):
        network.create_network(name="mine", is_router_external=True)


def test_a_member_of_one_project_sees_nothing_of_another(tenant: Tenant) -> None:
    assert {each.name for each in tenant.cloud().network.networks()} == {"public"}


def test_chassis_speak_tls_with_the_southbound_database(lab: Lab) -> None:
    remote = lab.vsctl("n1", "get", "open", ".", "external_ids:ovn-remote").strip().strip('"')
    assert remote == f"ssl:{lab.control}:{ovn.SB_PORT}"
    names = set(ovn.sbctl(lab, "--bare", "--columns=name", "list", "chassis").split())
    assert names == {"x1", "n1", "n2"}


def test_exactly_one_gateway_holds_the_nodes_way_out(lab: Lab) -> None:
    assert len(gateways.holders(lab)) == 1
