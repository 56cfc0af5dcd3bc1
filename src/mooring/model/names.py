"""Names that we write into objects of others: annotations, finalizers, tags, classes. Each stands here once."""

MANAGED = "openstack.org/mooring-managed"
PORT = "openstack.org/mooring-port"
ADDRESSES = "openstack.org/mooring-addresses"
SUBNET = "openstack.org/mooring-subnet"
FLOATING_NETWORK = "openstack.org/mooring-floating-network"
SHARING_KEY = "openstack.org/mooring-sharing-key"
KEEP = "openstack.org/mooring-keep-address"
BACKEND = "openstack.org/mooring-backend"
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

SERVICE_NAME = "kubernetes.io/service-name"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"

CONDITIONS = ("openstack.org/Accepted", "openstack.org/Allocated", "openstack.org/Programmed")
ACCEPTED, ALLOCATED, PROGRAMMED = CONDITIONS
