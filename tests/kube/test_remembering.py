"""Of objects that are followed all is remembered that something is decided by, and of equal words one."""

import msgspec

from mooring.core import endpoints
from mooring.kube import remembering
from mooring.model import names
from mooring.model.kubernetes import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Meta,
    Service,
    ServicePort,
)

SERVICE = b"""{
    "metadata": {
        "name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7", "generation": 3,
        "creationTimestamp": "2026-03-01T09:00:00Z", "deletionTimestamp": "2026-03-02T09:00:00Z",
        "labels": {"app": "web"}, "finalizers": ["openstack.org/mooring", "example.org/other"],
        "ownerReferences": [{"kind": "Shop", "name": "web"}],
        "annotations": {
            "openstack.org/mooring-port": "p1", "openstack.org/mooring-managed": "true",
            "service.beta.kubernetes.io/load-balancer-source-ranges": "192.0.2.0/24",
            "kubectl.kubernetes.io/last-applied-configuration": "a long text"}},
    "spec": {
        "type": "LoadBalancer", "loadBalancerClass": "openstack.org/gateway", "selector": {"app": "web"},
        "ports": [{"name": "http", "port": 80, "targetPort": "http", "nodePort": 30080}],
        "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "loadBalancerIP": "203.0.113.5", "loadBalancerSourceRanges": ["192.0.2.0/24"],
        "externalTrafficPolicy": "Local", "sessionAffinity": "ClientIP",
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}},
    "status": {
        "loadBalancer": {"ingress": [{"ip": "203.0.113.5", "ipMode": "Proxy"}]},
        "conditions": [
            {"type": "example.org/Other", "status": "True", "reason": "R", "message": "M", "observedGeneration": 3},
            {"type": "openstack.org/Accepted", "status": "True", "lastTransitionTime": "2026-03-01T09:00:00Z"}]}}"""


def decoded() -> Service:
    return msgspec.json.decode(SERVICE, type=Service)


def test_a_service_is_remembered_without_what_is_for_others() -> None:
    found, held = decoded(), remembering.service(decoded())
    assert (held.spec, held.status) == (found.spec, found.status), "others' conditions are written back with ours"
    assert held.metadata == msgspec.structs.replace(
        found.metadata,
        labels={},
        owner_references=(),
        annotations={names.PORT: "p1", names.MANAGED: "true", names.SOURCE_RANGES: "192.0.2.0/24"},
    )


def test_what_was_remembered_is_remembered_as_it_is() -> None:
    held = remembering.service(decoded())
    assert remembering.service(held) == held
    found = remembering.endpoint_slice(SLICE)
    assert remembering.endpoint_slice(found) == found


def test_equal_words_are_held_once() -> None:
    one, other = remembering.service(decoded()), remembering.service(decoded())
    assert one.spec.ports is other.spec.ports
    assert one.spec.cluster_ip is one.spec.cluster_ips[0] is other.spec.cluster_ip
    assert one.metadata.finalizers is other.metadata.finalizers
    assert one.status.load_balancer is other.status.load_balancer
    assert one.status.conditions[0].message is other.status.conditions[0].message
    first, second = remembering.endpoint_slice(SLICE).endpoints or ()
    assert first.conditions is second.conditions
    assert first.node_name is second.node_name


SLICE = msgspec.json.decode(
    b"""{
    "metadata": {
        "name": "web-1", "namespace": "shop", "uid": "u2", "resourceVersion": "8", "generation": 2,
        "creationTimestamp": "2026-03-01T09:00:00Z", "annotations": {"example.org/a": "b"},
        "labels": {"kubernetes.io/service-name": "web", "app": "web"}},
    "addressType": "IPv4", "ports": [{"name": "http", "port": 8080}],
    "endpoints": [
        {"addresses": ["10.1.0.7"], "conditions": {"ready": true}, "nodeName": "n1", "targetRef": {"name": "web-a"}},
        {"addresses": ["10.1.0.8"], "conditions": {"ready": true}, "nodeName": "n1"}]}""",
    type=EndpointSlice,
)


def test_a_slice_has_the_same_endpoints() -> None:
    held = remembering.endpoint_slice(SLICE)
    port = ServicePort(80, name="http")
    assert endpoints.service_of(held) == endpoints.service_of(SLICE)
    assert endpoints.backends(port, "10.0.0.5", [held]) == endpoints.backends(port, "10.0.0.5", [SLICE])
    assert endpoints.node_names(port, "10.0.0.5", [held]) == {"n1"}
    assert held == EndpointSlice(
        Meta("web-1", "shop", uid="u2", resource_version="8", generation=2, labels={names.SERVICE_NAME: "web"}),
        "IPv4",
        tuple(Endpoint((f"10.1.0.{each}",), EndpointConditions(ready=True), "n1") for each in (7, 8)),
        (EndpointPort("http", 8080),),
    )


def test_a_slice_of_nobody_and_with_nothing_in_it_is_remembered() -> None:
    held = remembering.endpoint_slice(EndpointSlice(Meta("web-1", "shop"), "IPv6", None, None))
    assert (endpoints.service_of(held), held.endpoints, held.ports) == (None, (), ())
