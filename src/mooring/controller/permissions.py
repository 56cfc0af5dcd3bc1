"""What the controller does to Kubernetes, as a closed table: it is given these rights and no others.

The table is read by whoever writes roles, and held against what the controller really asks for: in simulation, and in
the lab by the API server's audit log.
"""

from typing import Any

from msgspec import Struct

from mooring.controller.controller import LEASE
from mooring.kube.kinds import ENDPOINT_SLICES, EVENTS, LEASES, NAMESPACES, NETWORK_POLICIES, NODES, SERVICES, Kind


class Permission(Struct, frozen=True):
    """Verbs on a kind, or on a part of its objects.

    Without `namespace` they hold everywhere; with `names` for these objects only, which is no way to restrict `create`:
    the name of what does not exist yet is not looked at.
    """

    kind: Kind[Any]
    verbs: tuple[str, ...]
    subresource: str = ""
    namespace: str = ""
    names: tuple[str, ...] = ()

    @property
    def resource(self) -> str:
        """As roles name it."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural


CONTROLLER = (
    # Its uid is what the cluster is known by in OpenStack.
    Permission(NAMESPACES, ("get",), names=("kube-system",)),
    Permission(SERVICES, ("get", "list", "watch", "patch")),
    Permission(SERVICES, ("patch",), subresource="status"),
    Permission(ENDPOINT_SLICES, ("list", "watch")),
    # Where packets go by NodePorts, and what may keep them from pods.
    Permission(NODES, ("list", "watch")),
    Permission(NETWORK_POLICIES, ("list", "watch")),
    # An event stands in the namespace of what it is about.
    Permission(EVENTS, ("create", "patch")),
    # Who may list or watch one object by name has to ask for it by name, and the election does.
    Permission(LEASES, ("get", "list", "watch", "patch"), namespace=LEASE.namespace, names=(LEASE.name,)),
    Permission(LEASES, ("create",), namespace=LEASE.namespace),
)
