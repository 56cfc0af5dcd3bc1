"""Kubernetes objects, with only the fields that we read or write. Everything else that the API server sends is skipped.

Names are Kubernetes' own, in Python's spelling. Absent and empty are the same to us, as they are to the API server.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from mooring.model.gateway import Key

NO_TEXTS: Mapping[str, str] = {}


class Name(Struct, frozen=True, order=True, gc=False):
    """Which object of its kind. Cluster-scoped ones have no namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Meta(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Resource(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """What every object has."""

    metadata: Meta = Meta()

    @property
    def name(self) -> Name:
        return Name(self.metadata.namespace, self.metadata.name)

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class Condition(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0


class ServicePort(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    port: int
    protocol: str = "TCP"
    name: str = ""
    target_port: int | str = 0
    node_port: int = 0


class ClientIP(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    timeout_seconds: int = 10800


class SessionAffinityConfig(Struct, frozen=True, omit_defaults=True, gc=False):
    client_ip: ClientIP = field(default=ClientIP(), name="clientIP")


class ServiceSpec(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] = ()
    selector: dict[str, str] = {}
    cluster_ip: str = field(default="", name="clusterIP")
    cluster_ips: tuple[str, ...] = field(default=(), name="clusterIPs")
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str = ""
    load_balancer_class: str = ""
    load_balancer_ip: str = field(default="", name="loadBalancerIP")
    load_balancer_source_ranges: tuple[str, ...] = ()
    external_traffic_policy: str = ""
    session_affinity: str = ""
    session_affinity_config: SessionAffinityConfig | None = None


class Ingress(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    ip: str = ""
    hostname: str = ""
    ip_mode: str = ""
    ports: tuple[Key, ...] = ()


class LoadBalancerStatus(Struct, frozen=True, omit_defaults=True, gc=False):
    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()
    conditions: tuple[Condition, ...] = ()


class Service(Resource, frozen=True, omit_defaults=True, gc=False):
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class EndpointConditions(Struct, frozen=True, omit_defaults=True, gc=False):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ObjectReference(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Endpoint(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    target_ref: ObjectReference | None = None


class EndpointPort(Struct, frozen=True, omit_defaults=True, gc=False):
    name: str = ""
    port: int | None = None
    protocol: str = "TCP"


class EndpointSlice(Resource, frozen=True, omit_defaults=True, gc=False):
    address_type: str = ""
    endpoints: tuple[Endpoint, ...] | None = ()
    ports: tuple[EndpointPort, ...] | None = ()


class NodeCondition(Struct, frozen=True, omit_defaults=True, gc=False):
    """Without its times, which tell nothing but that the node lives."""

    type: str = ""
    status: str = ""


class NodeAddress(Struct, frozen=True, omit_defaults=True, gc=False):
    type: str = ""
    address: str = ""


class NodeStatus(Struct, frozen=True, omit_defaults=True, gc=False):
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()


class Node(Resource, frozen=True, omit_defaults=True, gc=False):
    status: NodeStatus = NodeStatus()


class Requirement(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a selector asks of one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class NetworkPolicySpec(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    pod_selector: LabelSelector = LabelSelector()
    policy_types: tuple[str, ...] = ()


class NetworkPolicy(Resource, frozen=True, omit_defaults=True, gc=False):
    spec: NetworkPolicySpec = NetworkPolicySpec()


class Namespace(Resource, frozen=True, omit_defaults=True, gc=False):
    pass


class LeaseSpec(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Resource, frozen=True, omit_defaults=True, gc=False):
    spec: LeaseSpec = LeaseSpec()


class ResourceAttributes(Struct, frozen=True, omit_defaults=True, gc=False):
    """Something that somebody may or may not do. Without a name: to all objects of the kind."""

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class AccessReviewSpec(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    resource_attributes: ResourceAttributes = ResourceAttributes()


class AccessReviewStatus(Struct, frozen=True, omit_defaults=True, gc=False):
    allowed: bool = False


class AccessReview(Resource, frozen=True, omit_defaults=True, gc=False):
    """A question about our own rights and, in what comes back, the answer. Nothing is stored."""

    spec: AccessReviewSpec = AccessReviewSpec()
    status: AccessReviewStatus = AccessReviewStatus()


class EventSeries(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    count: int
    last_observed_time: str


class Event(Resource, frozen=True, omit_defaults=True, gc=False):
    """An event of events.k8s.io/v1."""

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    note: str = ""
    type: str = ""


Patch = Mapping[str, Any]
"""A JSON merge patch: the fields to change; None takes one away."""
