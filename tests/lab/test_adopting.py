"""The way from ch-k8s-lbaas, as the guide has it: a Service that it served comes to us with its address."""

import json

import pytest

from mooring.lab import topology
from mooring.model import names
from tests.lab import moored, probe
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

pytestmark = pytest.mark.usefixtures("nothing_is_left")

THEIRS = "cah-loadbalancer.k8s.cloudandheat.com/"


def test_an_address_of_ch_k8s_lbaas_is_brought_along(product: Moored, tenant: Tenant) -> None:
    network = topology.connect(product.lab, username="mooring", project_name="mooring").network
    gateway = network.get_port(topology.load(product.lab).ports[product.lab.spec.gateway_names[0]].id)
    port = network.create_port(network_id=gateway.network_id, description="managed-by=ch-k8s-lbaas")
    public = topology.load(product.lab).networks["public"]
    taken = network.create_ip(floating_network_id=public, port_id=port.id, description="managed-by=ch-k8s-lbaas")
    address = taken.floating_ip_address
    try:
        tenant.deploy("web", replicas=1)
        service(tenant, {f"{THEIRS}managed": "true", f"{THEIRS}inbound-port": port.id})
        status(tenant, {"ingress": [{"ip": address}]})
        # as the guide says
        network.update_ip(taken.id, description="", port_id=port.id)
        theirs = (f"{THEIRS}managed-", f"{THEIRS}inbound-port-")
        tenant.kubectl("annotate", "service", "web", f"{names.ADDRESSES}={address}", *theirs)
        network.update_ip(taken.id, port_id=None)
        patch(tenant, {"type": "ClusterIP"})
        status(tenant, None)
        patch(tenant, {"type": "LoadBalancer", "loadBalancerClass": names.GATEWAY_CLASS})
        assert moored.address(tenant, "web") == address
        assert probe.first_answer(product.lab, "client", address)
        tenant.kubectl("delete", "service", "web", "--wait=true", "--timeout=60s")
        network.delete_port(port.id)
        assert network.get_ip(taken.id).floating_ip_address == address, "it was there before us"
    finally:
        network.delete_port(port.id, ignore_missing=True)
        network.delete_ip(taken.id, ignore_missing=True)


def service(tenant: Tenant, annotations: dict[str, str]) -> None:
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    meta = {"name": "web", "annotations": annotations}
    whole = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec | {"ipFamilies": ["IPv4"]}}
    tenant.kubectl("apply", "--filename=-", stdin=json.dumps(whole))


def patch(tenant: Tenant, spec: dict[str, str]) -> None:
    tenant.kubectl("patch", "service", "web", "--patch", json.dumps({"spec": spec}))


def status(tenant: Tenant, balancer: object) -> None:
    told = json.dumps({"status": {"loadBalancer": balancer}})
    tenant.kubectl("patch", "service", "web", "--subresource=status", "--type=merge", "--patch", told)
