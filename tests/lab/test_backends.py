"""Where packets enter the cluster: at pods, nodes or the cluster IP, seen from outside and in the gateways' rules."""

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mooring.lab import faults, lifecycle, waiting
from mooring.lab.errors import CommandError
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import SERVICES_V4
from mooring.model import names
from tests.lab import moored, probe
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

SENT = re.compile(r": (\d+\.\d+\.\d+\.\d+) \. (\d+)")
_ANSWER = r"#!/bin/sh\necho Content-type: text/plain; echo; echo $REMOTE_ADDR\n"
_SERVE = (
    f"/bin/busybox mkdir -p /www/cgi-bin; /bin/busybox printf '{_ANSWER}' >/www/cgi-bin/who; "
    "/bin/busybox chmod +x /www/cgi-bin/who; exec httpd -f -p 8080 -h /www"
)
WHO = ("/bin/sh", "-c", _SERVE)
"""A web server that tells whom it sees."""
SOON = 15.0
FORGOTTEN = 120.0
"""Longer than until Kubernetes says of a node whose kubelet is dead that it is not ready."""


@pytest.fixture(autouse=True)
def all_is_left_as_it_was(product: Moored, tenant: Tenant) -> Iterator[None]:
    """Nodes are everybody's: what a test did to them is undone."""
    yield
    for node in product.lab.spec.node_names:
        product.lab.kubectl("uncordon", node)
        product.lab.kubectl("label", "node", node, f"{names.EXCLUDED}-")
    tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=60s")
    waiting.until(lambda: sent_to(product) == set(), seconds=SOON, what="the rules to go")


def expose(tenant: Tenant, name: str, *, layer: str = "", app: str = "", port: int = 80, **spec: object) -> None:
    """A Service of our class in front of a Deployment, if there is one of that name."""
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": {names.LAYER: layer} if layer else {}},
        "spec": {
            "type": "LoadBalancer",
            "loadBalancerClass": names.GATEWAY_CLASS,
            "ports": [{"port": port, "targetPort": 8080}],
            "selector": {"app": app or name},
            **spec,
        },
    }
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(service))


def sent_to(product: Moored) -> set[tuple[str, int]]:
    """Where the gateways send packets, by the rules in their kernels, on which all have to agree."""
    found = set()
    for gateway in product.lab.spec.gateway_names:
        rules = product.lab.hosts.run(gateway, ["nft", "list", "ruleset"])
        found.add(frozenset((address, int(port)) for address, port in SENT.findall(rules)))
    return set(found.pop()) if len(found) == 1 else {("they do not agree", 0)}


def goes_to(product: Moored, *wanted: tuple[str, int], seconds: float = SOON) -> None:
    waiting.until(lambda: sent_to(product) == set(wanted), seconds=seconds, what=f"packets to go to {wanted}")


def answers(product: Moored, address: str, *, port: int = 80, count: int = 30) -> Counter[str]:
    probe.first_answer(product.lab, "client", address, port)
    return Counter(probe.get(product.lab, "client", address, port) for _ in range(count))


def node_port(tenant: Tenant, name: str) -> int:
    return int(tenant.get("service", name)["spec"]["ports"][0]["nodePort"])


def at(product: Moored, node: str) -> str:
    """The InternalIP of a node."""
    return product.lab.spec.management(node)


def pods(tenant: Tenant, app: str) -> dict[str, str]:
    """The pods of a Deployment, and the nodes on which they are."""
    found = tenant.get("pods", f"--selector=app={app}", "--field-selector=status.phase=Running")["items"]
    return {each["metadata"]["name"]: each["spec"]["nodeName"] for each in found}


def says(tenant: Tenant, name: str, reason: str) -> None:
    waiting.until(lambda: reason in moored.reasons(tenant, name).values(), seconds=SOON, what=f"{name} to say {reason}")


def test_by_way_of_the_nodes(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    expose(tenant, "web", layer="node")
    address, port = moored.address(tenant, "web"), node_port(tenant, "web")
    one, two = ((at(product, node), port) for node in product.lab.spec.node_names)
    goes_to(product, one, two)
    assert set(answers(product, address)) == set(pods(tenant, "web"))
    says(tenant, "web", "Programmed")
    # where nothing new may be scheduled, what is there still serves
    product.lab.kubectl("cordon", product.lab.spec.node_names[0])
    product.settled()
    goes_to(product, one, two)
    assert set(answers(product, address)) == set(pods(tenant, "web"))
    # who is excluded is left, and its pods are reached by way of the other
    product.lab.kubectl("label", "node", product.lab.spec.node_names[0], f"{names.EXCLUDED}=")
    goes_to(product, two)
    assert set(answers(product, address)) == set(pods(tenant, "web"))
    product.lab.kubectl("label", "node", product.lab.spec.node_names[0], f"{names.EXCLUDED}-")
    goes_to(product, one, two)


def test_a_node_that_says_nothing_any_more_is_left(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    expose(tenant, "web", layer="node")
    moored.address(tenant, "web")
    port = node_port(tenant, "web")
    one, two = ((at(product, node), port) for node in product.lab.spec.node_names)
    goes_to(product, one, two)
    faults.kill(product.lab, f"kubelet-{product.lab.spec.node_names[1]}", signal.SIGKILL)
    try:
        goes_to(product, one, seconds=FORGOTTEN)
    finally:
        lifecycle.up(product.lab.spec, PlainProgress())
    goes_to(product, one, two, seconds=FORGOTTEN)


def test_a_node_that_does_not_answer_is_left_before_kubernetes_says_so(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    with product.configured({"[addresses]": "[backends]\nprobe_port = 10256\n\n[addresses]"}):
        expose(tenant, "web", layer="node")
        moored.address(tenant, "web")
        port = node_port(tenant, "web")
        one, two = ((at(product, node), port) for node in product.lab.spec.node_names)
        goes_to(product, one, two)
        part = f"kube-proxy-{product.lab.spec.node_names[1]}"
        faults.kill(product.lab, part, signal.SIGKILL)
        try:
            goes_to(product, one)
            ready = product.lab.kubectl("get", "nodes")
            assert ready.count(" Ready ") == len(product.lab.spec.node_names)
        finally:
            lifecycle.restart(product.lab, part, PlainProgress())
        goes_to(product, one, two)


def test_local_goes_to_nodes_that_have_a_pod(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    expose(tenant, "web", layer="node", externalTrafficPolicy="Local")
    address, port = moored.address(tenant, "web"), node_port(tenant, "web")
    [(pod, node)] = pods(tenant, "web").items()
    goes_to(product, (at(product, node), port))
    assert set(answers(product, address, count=10)) == {pod}
    says(tenant, "web", "ClientAddressNotKept")  # the gateways of this lab put the Service's address in its place
    assert "forwarding.snat" in product.mooring("why", f"{tenant.name}/web")[1]
    tenant.deploy("web", replicas=2)
    goes_to(product, *((at(product, each), port) for each in product.lab.spec.node_names))
    assert set(answers(product, address)) == set(pods(tenant, "web"))


def test_local_and_not_on_one_address(product: Moored, tenant: Tenant) -> None:
    for name in ("web", "shop"):
        tenant.deploy(name, replicas=2)
    expose(tenant, "web", externalTrafficPolicy="Local")
    expose(tenant, "shop", port=81)
    address = moored.address(tenant, "web")
    assert moored.address(tenant, "shop") == address
    assert set(answers(product, address)) == set(pods(tenant, "web"))
    assert set(answers(product, address, port=81)) == set(pods(tenant, "shop"))
    says(tenant, "web", "ClientAddressNotKept")
    says(tenant, "shop", "Programmed")


@contextmanager
def keeping_clients(product: Moored) -> Iterator[None]:
    """Agents that leave the source of packets as it is; nodes answer by way of them anyhow."""
    lab = product.lab
    files = [lab.place.etc / f"agent-{gateway}.toml" for gateway in lab.spec.gateway_names]
    before = [file.read_text() for file in files]
    for file, text in zip(files, before, strict=True):
        file.write_text(f'{text}\n[forwarding]\nsnat = "never"\n')
    for gateway in lab.spec.gateway_names:
        lifecycle.restart(lab, f"agent-{gateway}", PlainProgress())
    try:
        yield
    finally:
        for file, text in zip(files, before, strict=True):
            file.write_text(text)
        for gateway in lab.spec.gateway_names:
            lifecycle.restart(lab, f"agent-{gateway}", PlainProgress())


def callers_seen(product: Moored, address: str, port: int) -> str:
    """Whom a pod saw when the client called it."""
    told: list[str] = []

    def answered() -> bool:
        try:
            url = f"http://{address}:{port}/cgi-bin/who"
            answer = product.lab.hosts.run("client", ["curl", "--silent", "--fail", "--max-time", "4", url]).strip()
            told.append(answer.removeprefix("[::ffff:").removesuffix("]"))  # it listens for both families
        except CommandError:
            return False
        return True

    waiting.until(answered, seconds=30, what=f"{address} to tell who called")
    return told[-1]


def test_local_keeps_the_client_where_the_gateways_do(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("who", image="shell", replicas=2, command=WHO)
    address_of_client = product.lab.hosts.run("client", ["hostname", "-I"]).split()
    with keeping_clients(product):
        expose(tenant, "straight", app="who", port=80, externalTrafficPolicy="Local")
        expose(tenant, "near", app="who", port=81, layer="node", externalTrafficPolicy="Local")
        expose(tenant, "far", app="who", port=82, layer="node")
        address = moored.address(tenant, "straight")
        for name in ("near", "far"):
            assert moored.address(tenant, name) == address
        assert callers_seen(product, address, 80) in address_of_client
        assert callers_seen(product, address, 81) in address_of_client
        assert callers_seen(product, address, 82) not in address_of_client
        for name in ("straight", "near", "far"):
            says(tenant, name, "Programmed")
            assert "ClientAddressNotKept" not in moored.reasons(tenant, name).values()
        tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=60s")


@contextmanager
def way_to_cluster_ips(product: Moored) -> Iterator[None]:
    """Gateways that are no nodes reach cluster IPs by way of one."""
    by = at(product, product.lab.spec.node_names[0])
    for gateway in product.lab.spec.gateway_names:
        product.lab.hosts.run(gateway, ["ip", "route", "add", SERVICES_V4, "via", by])
    try:
        yield
    finally:
        for gateway in product.lab.spec.gateway_names:
            product.lab.hosts.run(gateway, ["ip", "route", "del", SERVICES_V4, "via", by])


def test_by_way_of_the_cluster_ip(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    with way_to_cluster_ips(product):
        expose(tenant, "web", layer="cluster")
        address = moored.address(tenant, "web")
        goes_to(product, (tenant.get("service", "web")["spec"]["clusterIP"], 80))
        assert set(answers(product, address)) == set(pods(tenant, "web"))
        # the same Service straight to its pods, and back
        tenant.kubectl("annotate", "--overwrite", "service", "web", f"{names.LAYER}=pod")
        goes_to(product, *((each, 8080) for each in tenant.pod_addresses("web", version=4)))
        assert set(answers(product, address)) == set(pods(tenant, "web"))


def test_pods_need_no_node_ports(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    expose(tenant, "web", allocateLoadBalancerNodePorts=False)
    address = moored.address(tenant, "web")
    assert "nodePort" not in tenant.get("service", "web")["spec"]["ports"][0]
    assert set(answers(product, address)) == set(pods(tenant, "web"))
    tenant.kubectl("annotate", "service", "web", f"{names.LAYER}=node")
    says(tenant, "web", "NoNodePort")
    goes_to(product)


def test_a_service_whose_endpoints_somebody_writes(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    expose(tenant, "web", selector=None)
    chosen = tenant.pod_addresses("web", version=4)[0]
    by_hand = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "by-hand", "labels": {names.SERVICE_NAME: "web"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [chosen]}],
        "ports": [{"name": "", "port": 8080, "protocol": "TCP"}],
    }
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(by_hand))
    address = moored.address(tenant, "web")
    goes_to(product, (chosen, 8080))
    assert len(answers(product, address, count=10)) == 1


def test_what_may_be_in_the_way_is_told(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    expose(tenant, "web", layer="nodes")
    says(tenant, "web", "BadAnnotation")
    assert moored.addresses(tenant, "web") == []
    tenant.kubectl("annotate", "service", "web", f"{names.LAYER}-")
    address = moored.address(tenant, "web")
    says(tenant, "web", "Programmed")
    tenant.kubectl("annotate", "service", "web", f"{names.LAYER}=nodes")
    says(tenant, "web", "BadAnnotation")
    assert moored.addresses(tenant, "web") == [address]  # a slip of the pen takes no address away
    assert len(answers(product, address, count=3)) == 1
    tenant.kubectl("annotate", "service", "web", f"{names.LAYER}-")
    says(tenant, "web", "Allocated")
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "deny"},
        "spec": {"podSelector": {"matchLabels": {"app": "web"}}},
    }
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(policy))
    says(tenant, "web", "NetworkPolicyApplies")
    code, told = product.mooring("why", f"{tenant.name}/web")
    assert (code, "NetworkPolicy deny selects its pods" in told) == (0, True), told
    tenant.kubectl("delete", "networkpolicy", "deny")
    says(tenant, "web", "Programmed")


def test_nodes_that_live_cost_nothing(product: Moored, tenant: Tenant) -> None:
    """What a node says of itself every few seconds is no work for anybody."""
    tenant.deploy("web", replicas=1)
    expose(tenant, "web", layer="node")
    moored.address(tenant, "web")
    product.settled_on(addresses=1)
    before = product.calls()
    [node, *_] = product.lab.spec.node_names
    version = product.lab.kubectl("get", "node", node, "--output=jsonpath={.metadata.resourceVersion}")
    for beat in range(3):
        product.lab.kubectl("annotate", "--overwrite", "node", node, f"mooring.test/beat={beat}")
    assert product.lab.kubectl("get", "node", node, "--output=jsonpath={.metadata.resourceVersion}") != version
    product.settled()
    work = {what for what in product.calls() - before if not what.partition(" ")[2].startswith(moored.PULSE)}
    product.lab.kubectl("annotate", "node", node, "mooring.test/beat-")
    assert {what for what in work if "document" in what} == set()
