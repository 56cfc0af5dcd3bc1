"""The kinds of objects that we speak about, and where each of them lives in the API."""

from typing import Generic, TypeVar

from msgspec import Struct

from mooring.model import kubernetes
from mooring.model.kubernetes import Resource

T = TypeVar("T", bound=Resource)


class Kind(Struct, Generic[T], frozen=True):
    """A kind of object: its place in the API and the struct that holds it."""

    type: type[T]
    version: str
    kind: str
    plural: str
    group: str = ""
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection, of an object, or of a part of one."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


SERVICES = Kind(kubernetes.Service, version="v1", kind="Service", plural="services")
NAMESPACES = Kind(kubernetes.Namespace, version="v1", kind="Namespace", plural="namespaces", namespaced=False)
ENDPOINT_SLICES = Kind(
    kubernetes.EndpointSlice, group="discovery.k8s.io", version="v1", kind="EndpointSlice", plural="endpointslices"
)
NODES = Kind(kubernetes.Node, version="v1", kind="Node", plural="nodes", namespaced=False)
NETWORK_POLICIES = Kind(
    kubernetes.NetworkPolicy,
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    plural="networkpolicies",
)
LEASES = Kind(kubernetes.Lease, group="coordination.k8s.io", version="v1", kind="Lease", plural="leases")
ACCESS_REVIEWS = Kind(
    kubernetes.AccessReview,
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    namespaced=False,
)
EVENTS = Kind(kubernetes.Event, group="events.k8s.io", version="v1", kind="Event", plural="events")
