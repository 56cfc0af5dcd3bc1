"""Names that we write into objects of others: annotations, finalizers, tags, classes. Each stands here once."""

MANAGED = "openstack.org/mooring-managed"
PORT = "openstack.org/mooring-port"
ADDRESSES = "openstack.org/mooring-addresses"
SUBNET = "openstack.org/mooring-subnet"
FLOATING_NETWORK = "openstack.org/mooring-floating-network"
SHARING_KEY = "openstack.org/mooring-sharing-key"
KEEP = "openstack.org/mooring-keep-address"
BACKEND = "openstack.org/mooring-backend"
ALIKE = {
    ADDRESSES: ("metallb.io/loadBalancerIPs", "metallb.universe.tf/loadBalancerIPs", "purelb.io/addresses"),
    SHARING_KEY: ("metallb.io/allow-shared-ip", "metallb.universe.tf/allow-shared-ip", "purelb.io/allow-shared-ip"),
    KEEP: ("loadbalancer.openstack.org/keep-floatingip",),
    SUBNET: ("loadbalancer.openstack.org/subnet-id",),
    FLOATING_NETWORK: ("loadbalancer.openstack.org/floating-network-id",),
}
"""Annotations that people wrote for other load balancers, and that say the same. Ours win."""
INTERNAL = "service.beta.kubernetes.io/openstack-internal-load-balancer"
"""Of the OpenStack cloud provider: "true" says that it is to have no floating IP."""
MANAGED_BY_CAH = "cah-loadbalancer.k8s.cloudandheat.com/managed"
"""Of ch-k8s-lbaas: "true" is its mark on what it serves; an owner's "false" opts out."""
NOT_DONE = frozenset(
    f"{prefix}/{name}"
    for prefix, every in {
        "loadbalancer.openstack.org": (
            *("class", "network-id", "port-id", "member-subnet-id", "node-selector", "hostname"),
            *("floating-subnet", "floating-subnet-id", "floating-subnet-tags", "flavor-id", "availability-zone"),
            *("connection-limit", "proxy-protocol", "x-forwarded-for", "lb-method", "default-tls-container-ref"),
            *("timeout-client-data", "timeout-member-connect", "timeout-member-data", "timeout-tcp-inspect"),
            *("enable-health-monitor", "health-monitor-delay", "health-monitor-timeout"),
            *("health-monitor-max-retries", "health-monitor-max-retries-down"),
        ),
        "metallb.io": ("address-pool",),
        "metallb.universe.tf": ("address-pool",),
        "purelb.io": ("service-group", "allow-local", "multi-pool", "node-affinity", "re-evaluate"),
    }.items()
    for name in every
)
"""Annotations by which owners ask other load balancers for what Mooring does not do. What those write is not here."""

EPOCH = "openstack.org/mooring-epoch"
LAYER = "openstack.org/mooring-layer"
GATEWAYS = "openstack.org/mooring-gateways"
DRAINED = "openstack.org/mooring-drained"

FINALIZER = "openstack.org/mooring"
CLEANUP_FINALIZER = "service.kubernetes.io/load-balancer-cleanup"

GATEWAY_CLASS = "openstack.org/gateway"
GATEWAY_BACKEND = "gateway"

TAG = "mooring"
DELETING_TAG = "mooring-deleting"
KEEP_TAG = "mooring-keep"
FOUND_TAG = "mooring-found"
"""On floating IPs that were there before a Service asked for them."""
NAMESPACE_TAG = "mooring-namespace:"
"""Begins the tag on a floating IP that is kept: for whom."""
INTERNAL_OWNER = "mooring:internal"
"""The device_owner, from the call that makes them, of ports that are to have no floating IP where others have one."""

SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
"""Kubernetes' own, from before there was spec.loadBalancerSourceRanges."""
SERVICE_NAME = "kubernetes.io/service-name"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"

CONDITIONS = ("openstack.org/Accepted", "openstack.org/Allocated", "openstack.org/Programmed")
ACCEPTED, ALLOCATED, PROGRAMMED = CONDITIONS
SHARED = "openstack.org/Shared"
"""Of a Service with a sharing key that has its address. Its message is that key."""
