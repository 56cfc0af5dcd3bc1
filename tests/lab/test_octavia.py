"""Octavia with the stock OVN provider: a floating IP of a load balancer is reached from outside, and leaves nothing."""

from mooring.lab.lab import Lab
from tests.lab import probe
from tests.lab.octavia import balanced
from tests.lab.tenant import Tenant


def test_a_load_balancer_with_a_floating_ip_reaches_pods_on_both_nodes(lab: Lab, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=4)
    node_port = tenant.expose("web", port=80, target=8080)["spec"]["ports"][0]["nodePort"]
    with balanced(tenant, node_port) as address:
        probe.first_answer(lab, "client", address)
        answers = [probe.get(lab, "client", address) for _ in range(40)]
    assert len(set(answers)) == 4
    assert "" not in answers
