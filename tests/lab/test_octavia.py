"""Octavia with the stock OVN provider: a floating IP of a load balancer is reached from outside, and leaves nothing."""

from mooring.lab import ovn, topology, waiting
from mooring.lab.lab import Lab
from tests.lab import probe
from tests.lab.tenant import Tenant


def test_a_load_balancer_with_a_floating_ip_reaches_pods_on_both_nodes(lab: Lab, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=4)
    node_port = tenant.expose("web", port=80, target=8080)["spec"]["ports"][0]["nodePort"]
    made = topology.load(lab)
    cloud = topology.connect(lab, "mooring")
    nodes = [made.ports[node].addresses[0].partition("/")[0] for node in lab.spec.node_names]
    balancer = cloud.load_balancer.create_load_balancer(
        name=tenant.name,
        provider="ovn",
        vip_subnet_id=made.subnets["lb4"],
        listeners=[
            {
                "name": tenant.name,
                "protocol": "TCP",
                "protocol_port": 80,
                "default_pool": {
                    "name": tenant.name,
                    "protocol": "TCP",
                    "lb_algorithm": "SOURCE_IP_PORT",
                    "members": [
                        {"address": node, "protocol_port": node_port, "subnet_id": made.subnets["nodes4"]}
                        for node in nodes
                    ],
                },
            }
        ],
    )
    cloud.load_balancer.wait_for_load_balancer(balancer.id, interval=0.2, wait=60)
    floating = cloud.network.create_ip(floating_network_id=made.networks["public"], port_id=balancer.vip_port_id)
    address = floating.floating_ip_address
    probe.first_answer(lab, "client", address)
    answers = [probe.get(lab, "client", address) for _ in range(40)]
    assert len(set(answers)) == 4
    assert "" not in answers

    cloud.network.delete_ip(floating)
    cloud.load_balancer.delete_load_balancer(balancer, cascade=True)
    waiting.until(lambda: balancer.id not in rows(lab), seconds=30, what="OVN's row to be deleted")


def rows(lab: Lab) -> set[str]:
    """Names of the load balancers in OVN."""
    return set(ovn.nbctl(lab, "--bare", "--columns=name", "list", "Load_Balancer").split())
