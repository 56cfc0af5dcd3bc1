"""A cluster and a cloud as they are when all Services have their addresses: what a controller finds when it starts.

Each Service has one port and ten endpoints, but for the first ones, which have one: who is sent there can be told.
A hundred Services of one namespace share an address, or fewer. Written into the twins by their own interfaces.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from mooring.cloud.twin import neutron
from mooring.cloud.twin.neutron import NeutronTwin
from mooring.cloud.twin.state import Caller
from mooring.core import explaining
from mooring.core.addresses import Place
from mooring.core.mapping import Leg, Seen
from mooring.core.wishes import IPV4, Wish
from mooring.kube.twin.server import KubeTwin
from mooring.model import names
from mooring.model.cloud import NetworkId, PortId, ProjectId, SubnetId
from mooring.model.kubernetes import Meta, Service, ServicePort, ServiceSpec
from mooring.wire.http import Request

MEMBER = Caller(ProjectId("3b" * 16))
OUTSIDE, INSIDE = "10.200.0.0/16", "10.20.0.0/16"
ENDPOINTS = 10
TO_PROBE = 2
"""Services with one endpoint."""
PORT = 8080
FIRST_PORT = 8000
SHARING = 100
NAMESPACES = 50
OF_A_BYTE = 250
NODE = "node-0"
MERGE = {"content-type": "application/merge-patch+json"}
JSON = {"content-type": "application/json"}


class Address(Struct, frozen=True):
    port: PortId
    inner: str
    public: str


def name(number: int) -> str:
    return f"front-{number:05d}"


def namespace(number: int) -> str:
    return f"team-{number // SHARING % NAMESPACES:02d}"


def port(number: int) -> int:
    return FIRST_PORT + number % SHARING


def endpoint(number: int) -> str:
    return f"10.{100 + number // OF_A_BYTE**2}.{number // OF_A_BYTE % OF_A_BYTE}.{number % OF_A_BYTE + 1}"


def moved_endpoint(number: int) -> str:
    """Where no endpoint is at first."""
    return f"10.120.{number // OF_A_BYTE % OF_A_BYTE}.{number % OF_A_BYTE + 1}"


class Cloud:
    """A Neutron with networks, a router and the gateways' ports."""

    def __init__(self, twin: NeutronTwin, gateways: int) -> None:
        self._twin = twin
        external: dict[str, Any] = {"name": "outside", "router:external": True}
        outside = self.make("networks", "network", **external)["id"]
        self.make("subnets", "subnet", network_id=outside, ip_version=4, cidr=OUTSIDE)
        inside = self.make("networks", "network", MEMBER, name="inside")["id"]
        subnet = self.make("subnets", "subnet", MEMBER, network_id=inside, ip_version=4, cidr=INSIDE)["id"]
        router = self.make("routers", "router", MEMBER, name="router", external_gateway_info={"network_id": outside})
        self._do("PUT", f"/v2.0/routers/{router['id']}/add_router_interface", {"subnet_id": subnet}, MEMBER)
        fixed = {"network_id": inside, "fixed_ips": [{"subnet_id": subnet}], "device_owner": "compute:nova"}
        ports = [self.make("ports", "port", MEMBER, name=f"gw{number}", **fixed) for number in range(1, gateways + 1)]
        self._gateways = tuple(PortId(each["id"]) for each in ports)
        self._where = NetworkId(inside), SubnetId(subnet), NetworkId(outside)

    def place(self, cluster: str) -> Place:
        inside, subnet, outside = self._where
        return Place(cluster, inside, subnet, outside, self._gateways)

    def addresses(self, place: Place, count: int) -> list[Address]:
        """So many, that all gateways may use."""
        fixed = [{"subnet_id": place.subnet}]
        made = []
        for _ in range(count):
            wanted = {"network_id": place.network, "fixed_ips": fixed, "description": place.mark}
            port = self.make("ports", "port", MEMBER, name=f"mooring-{place.name}", security_groups=[], **wanted)
            over = {"floating_network_id": place.floating_network, "port_id": port["id"], "description": place.mark}
            public = self.make("floatingips", "floatingip", MEMBER, **over)
            for collection, each in (("ports", port), ("floatingips", public)):
                self._do("PUT", f"/v2.0/{collection}/{each['id']}/tags/{names.TAG}", {}, MEMBER)
            inner = port["fixed_ips"][0]["ip_address"]
            made.append(Address(PortId(port["id"]), inner, public["floating_ip_address"]))
        pairs = [{"ip_address": each.inner} for each in made]
        for gateway in place.gateways:
            self._do("PUT", f"/v2.0/ports/{gateway}", {"port": {"allowed_address_pairs": pairs}}, MEMBER)
        return made

    def make(self, collection: str, singular: str, who: Caller = neutron.ADMIN, **wanted: object) -> dict[str, Any]:
        made: dict[str, Any] = self._do("POST", f"/v2.0/{collection}", {singular: wanted}, who)[singular]
        return made

    def _do(self, method: str, path: str, body: dict[str, Any], who: Caller) -> dict[str, Any]:
        response = self._twin.handle(Request("bench", method, path, body=msgspec.json.encode(body)), who)
        if response.status >= 300:  # noqa: PLR2004 - a refusal
            raise RuntimeError(f"{method} {path}: {response.body.decode()}")
        found: dict[str, Any] = msgspec.json.decode(response.body) if response.body else {}
        return found


class Cluster:
    """A Kubernetes with namespaces, a node, and Services in them."""

    def __init__(self, twin: KubeTwin) -> None:
        self._twin = twin
        for each in ("mooring-system", *(f"team-{number:02d}" for number in range(NAMESPACES))):
            self.do("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.9.0.99"}, {"type": "Hostname", "address": NODE}],
        }
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {}, "status": status}
        self.do("POST", "/api/v1/nodes", node)
        self._moved = 0

    @property
    def identity(self) -> str:
        found: str = self.do("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
        return found

    def publish(self, number: int, address: Address) -> str:
        """A Service that has all that it wants; its cluster IP."""
        made = self.expose(number, {names.MANAGED: "true", names.PORT: address.port})
        ports = [{"port": port(number), "protocol": "TCP"}]
        status = {
            "loadBalancer": {"ingress": [{"ip": address.public, "ipMode": "Proxy", "ports": ports}]},
            "conditions": _conditions(number, address),
        }
        self.do("PATCH", f"{_services(number)}/{name(number)}/status", {"status": status}, MERGE)
        addresses: str = made["spec"]["clusterIP"]
        return addresses

    def expose(self, number: int, ours: dict[str, str] | None = None, ports: tuple[int, ...] = ()) -> dict[str, Any]:
        """A Service as its owner made it, or with what is `ours` on it."""
        plain = {
            "example.org/owner": f"{namespace(number)}@example.org",
            "example.org/cost-center": f"{4000 + number % 97}",
            "prometheus.io/scrape": "true",
        }
        spec = {
            "type": "LoadBalancer",
            "loadBalancerClass": names.GATEWAY_CLASS,
            "allocateLoadBalancerNodePorts": False,
            "selector": {"app": name(number)},
            "ports": [
                {"name": f"p{each}", "port": each, "targetPort": PORT, "protocol": "TCP"}
                for each in ports or (port(number),)
            ],
        }
        labels = {"app": name(number), "tier": "front"}
        meta = {"name": name(number), "namespace": namespace(number), "labels": labels, "annotations": plain}
        applied = json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
        annotations = {**plain, "kubectl.kubernetes.io/last-applied-configuration": applied, **(ours or {})}
        finalizers = [names.FINALIZER, names.CLEANUP_FINALIZER] if ours else []
        whole = {**meta, "annotations": annotations, "finalizers": finalizers}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": whole, "spec": spec}
        made: dict[str, Any] = self.do("POST", _services(number), service)
        return made

    def serve(self, number: int) -> None:
        """The endpoints of a Service."""
        first = number * ENDPOINTS
        count = 1 if number < TO_PROBE else ENDPOINTS
        body = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{name(number)}-x1", "labels": {names.SERVICE_NAME: name(number)}},
            "addressType": "IPv4",
            "ports": [{"name": f"p{port(number)}", "port": PORT, "protocol": "TCP"}],
            "endpoints": [_endpoint(endpoint(first + each)) for each in range(count)],
        }
        self.do("POST", _slices(number), body)

    def move(self, number: int) -> str:
        """The endpoint of a Service that has one is another from now on: which."""
        self._moved += 1
        new = moved_endpoint(self._moved)
        self.do("PATCH", f"{_slices(number)}/{name(number)}-x1", {"endpoints": [_endpoint(new)]}, MERGE)
        return new

    def delete(self, number: int) -> None:
        self.do("DELETE", f"{_services(number)}/{name(number)}", {})

    def do(self, method: str, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] = JSON) -> Any:  # noqa: ANN401 - an object as JSON has it
        request = Request(
            "bench", method, path, headers=headers, body=b"" if body is None else msgspec.json.encode(body)
        )
        response = self._twin.handle(request)
        if response.status >= 300:  # noqa: PLR2004 - a refusal
            raise RuntimeError(f"{method} {path}: {response.body.decode()}")
        return msgspec.json.decode(response.body)


def fill(cluster: Cluster, cloud: Cloud, size: int, sharing: int = SHARING) -> Iterator[tuple[str, Address]]:
    """So many Services, with all that they want: the cluster IP and the address of each."""
    place = cloud.place(cluster.identity)
    addresses = cloud.addresses(place, (size + sharing - 1) // sharing)
    for number in range(size):
        address = addresses[number // sharing]
        yield cluster.publish(number, address), address
        cluster.serve(number)


def _endpoint(address: str) -> dict[str, Any]:
    conditions = {"ready": True, "serving": True, "terminating": False}
    return {"addresses": [address], "conditions": conditions, "nodeName": NODE}


def _conditions(number: int, address: Address) -> list[dict[str, Any]]:
    """The very words that a controller would write there."""
    spec = ServiceSpec("LoadBalancer", (ServicePort(port(number)),), load_balancer_class=names.GATEWAY_CLASS)
    service = Service(Meta(name(number), namespace(number)), spec)
    leg = Leg(Wish(IPV4), address.port, fits=True, address=address.public, inner=address.inner)
    seen = Seen(service, (leg,), port_is_ours=True, served=True)
    when = {"lastTransitionTime": "2026-03-01T09:00:00Z"}
    return [msgspec.to_builtins(each) | when for each in explaining.conditions(seen)]


def _services(number: int) -> str:
    return f"/api/v1/namespaces/{namespace(number)}/services"


def _slices(number: int) -> str:
    return f"/apis/discovery.k8s.io/v1/namespaces/{namespace(number)}/endpointslices"
