"""Services as a cluster has them, about 2.9 KB each: 3 ports, 5 annotations, and what kubectl and the server add.

Standard library only, like all that the clients of other environments import.
"""

import json
from typing import Any

NOW = 1_000_000
"""The version of every list; events come after it, objects are older."""

WAVES = {"warm-up": 500, "burst": 2_000, "singly": 500}
"""How many events come in each wave; those of the last come one by one."""

PORTS = (("http", 80, 8080), ("https", 443, 8443), ("metrics", 9090, 9090))


def namespace(number: int) -> str:
    return f"team-{number % 50:02d}"


def name(number: int) -> str:
    return f"front-{number:05d}"


def service(number: int, version: int, *, kind: bool = False) -> dict[str, Any]:
    """One Service. Objects of a list have no kind of their own, those of a watch do."""
    spec = _spec(number)
    head = {"kind": "Service", "apiVersion": "v1"} if kind else {}
    status = {"loadBalancer": {"ingress": [{"ip": f"203.0.113.{number % 250}", "ipMode": "VIP"}]}}
    return head | {"metadata": _metadata(number, version, spec), "spec": spec, "status": status}


def small_service(number: int, version: int) -> dict[str, Any]:
    """The same without what others have added: about 1 KB, as the answer to a write."""
    whole = service(number, version, kind=True)
    del whole["metadata"]["managedFields"]
    del whole["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    return whole


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _metadata(number: int, version: int, spec: dict[str, Any]) -> dict[str, Any]:
    annotations = {
        "example.org/owner": f"team-{number % 50:02d}@example.org",
        "example.org/cost-center": f"{4000 + number % 97}",
        "openstack.org/mooring-managed": "true",
        "prometheus.io/scrape": "true",
    }
    labels = {"app": name(number), "tier": "front"}
    plain = {"name": name(number), "namespace": namespace(number), "labels": labels, "annotations": annotations}
    applied = compact({"apiVersion": "v1", "kind": "Service", "metadata": plain, "spec": spec}).decode() + "\n"
    return {
        "name": name(number),
        "namespace": namespace(number),
        "uid": f"{number:08x}-7c1e-4a52-9f0b-{number * 7919:012x}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-03-01T09:00:00Z",
        "labels": labels,
        "annotations": annotations | {"kubectl.kubernetes.io/last-applied-configuration": applied},
        "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
        "managedFields": [_managed("kubectl-client-side-apply", ""), _managed("mooring", "status")],
    }


def _managed(manager: str, subresource: str) -> dict[str, Any]:
    ports: dict[str, Any] = {
        f'k:{{"port":{port},"protocol":"TCP"}}': {".": {}, "f:name": {}, "f:port": {}} for _, port, _ in PORTS
    }
    spec = {"f:ports": {".": {}} | ports, "f:selector": {}, "f:type": {}}
    fields = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}} if subresource else {"f:spec": spec}
    entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-03-01T09:00:00Z"}
    return entry | {"fieldsType": "FieldsV1", "fieldsV1": fields} | ({"subresource": "status"} if subresource else {})


def _spec(number: int) -> dict[str, Any]:
    address = f"10.{96 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"
    ports = [
        {
            "name": each,
            "protocol": "TCP",
            "port": port,
            "targetPort": target,
            "nodePort": 30000 + (number * 3 + at) % 2768,
        }
        for at, (each, port, target) in enumerate(PORTS)
    ]
    return {
        "ports": ports,
        "selector": {"app": name(number)},
        "clusterIP": address,
        "clusterIPs": [address],
        "type": "LoadBalancer",
        "sessionAffinity": "None",
        "loadBalancerClass": "openstack.org/gateway",
        "externalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "allocateLoadBalancerNodePorts": True,
        "internalTrafficPolicy": "Cluster",
    }
