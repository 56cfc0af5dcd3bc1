"""A load balancer of Octavia's stock OVN provider with a floating IP, in front of a NodePort of the lab's nodes."""

from collections.abc import Iterator
from contextlib import contextmanager

from mooring.lab import ovn, topology, waiting
from tests.lab.tenant import Tenant


@contextmanager
def balanced(tenant: Tenant, node_port: int) -> Iterator[str]:
    """The floating IP; afterwards neither OpenStack nor OVN have anything of it. It belongs to the nodes' project."""
    lab = tenant.lab
    made = topology.load(lab)
    cloud = topology.connect(lab, "mooring")
    nodes = [made.ports[node].addresses[0].partition("/")[0] for node in lab.spec.node_names]
    members = [{"address": node, "protocol_port": node_port, "subnet_id": made.subnets["nodes4"]} for node in nodes]
    pool = {"name": tenant.name, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", "members": members}
    listener = {"name": tenant.name, "protocol": "TCP", "protocol_port": 80, "default_pool": pool}
    balancer = cloud.load_balancer.create_load_balancer(
        name=tenant.name, provider="ovn", vip_subnet_id=made.subnets["lb4"], listeners=[listener]
    )
    floating = None
    try:
        cloud.load_balancer.wait_for_load_balancer(balancer.id, interval=0.2, wait=60)
        floating = cloud.network.create_ip(floating_network_id=made.networks["public"], port_id=balancer.vip_port_id)
        yield floating.floating_ip_address
    finally:
        if floating is not None:
            cloud.network.delete_ip(floating)
        cloud.load_balancer.delete_load_balancer(balancer, cascade=True)
        command = ("--bare", "--columns=name", "list", "Load_Balancer")
        waiting.until(lambda: balancer.id not in ovn.nbctl(lab, *command), seconds=30, what="OVN to forget it")
