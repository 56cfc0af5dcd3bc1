"""What a person with kubectl does, at once and without faults: the world is judged after each deed all the same."""

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec

from mooring.cloud.twin import neutron
from mooring.kube.twin.backups import Backup
from mooring.model import names
from mooring.model.cloud import PortId, SecurityGroupId
from mooring.model.kubernetes import Name
from mooring.wire.http import Request
from tests.simulation import rest
from tests.simulation.world import World

DRAINED = "openstack.org/mooring-drained"
HOLD = "example.org/hold"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/mooring-system/leases/mooring-controller"
NODES = "/api/v1/nodes"
MERGE = {"content-type": "application/merge-patch+json"}


class User:
    """Services are named as `web`, in the namespace shop, or as `other/web`."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def kill_leader(self) -> None:
        """Kill the controller that leads, and wait until one leads again: it has just begun to look around."""
        self._world.crash_leader()
        while not self._world.leading:
            await self.wait(0.1)

    def expose(
        self, name: str, *ports: str, annotations: dict[str, str] | None = None, ours: bool = True, **spec: object
    ) -> None:
        """A Service of type LoadBalancer; ports as `80/TCP`."""
        spec |= {"type": "LoadBalancer", "ports": _ports(ports), "selector": {"app": _name(name).name}}
        if ours:
            spec["loadBalancerClass"] = names.GATEWAY_CLASS
        meta = {"name": _name(name).name, "annotations": annotations or {}}
        self._do("POST", _services(name), {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})

    def pods(self, name: str, *slices: str) -> None:
        """The endpoints of a Service as they are from now on, a slice for each text: `10.244.1.5 10.244.1.6@n1!`.

        Behind an at sign stands the node of a pod, an exclamation mark behind one that is not ready.
        """
        service = self._world.truth.services.get(_name(name))
        if service is None:
            return
        ports = [
            {"name": each.name, "port": 8000 + each.port, "protocol": each.protocol} for each in service.spec.ports
        ]
        for number, text in enumerate(slices):
            self._slice(_name(f"{name}-{number}"), service.name, text, ports)
        for known in list(self._world.truth.slices):
            base, _, last = known.name.rpartition("-")
            if Name(known.namespace, base) == service.name and int(last) >= len(slices):
                self._do("DELETE", f"{_slices(known)}/{known.name}", {})

    def _slice(self, name: Name, service: Name, text: str, ports: list[dict[str, Any]]) -> None:
        endpoints = [
            {
                "addresses": [each.rstrip("!").partition("@")[0]],
                "conditions": {"ready": not each.endswith("!")},
                "nodeName": each.rstrip("!").partition("@")[2] or None,
            }
            for each in text.split()
        ]
        meta = {"name": name.name, "labels": {"kubernetes.io/service-name": service.name}}
        if name in self._world.truth.slices:
            self._do("PATCH", f"{_slices(name)}/{name.name}", {"endpoints": endpoints, "ports": ports})
            return
        family = "IPv6" if ":" in text else "IPv4"
        kind = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family}
        self._do("POST", _slices(name), {**kind, "metadata": meta, "endpoints": endpoints, "ports": ports})

    def node(self, name: str, *, ready: bool = True, excluded: bool = False) -> None:
        """A node `n1` as it is from now on, new or not."""
        conditions = [{"type": "Ready", "status": str(ready)}, {"type": "DiskPressure", "status": "False"}]
        addresses = [{"type": "InternalIP", "address": f"172.30.0.{name[1:]}"}, {"type": "Hostname", "address": name}]
        labels = {names.EXCLUDED: "" if excluded else None}
        if Name("", name) in self._world.truth.nodes:
            self._do("PATCH", f"{NODES}/{name}", {"metadata": {"labels": labels}})
            self._do("PATCH", f"{NODES}/{name}/status", {"status": {"conditions": conditions}})
            return
        meta = {"name": name, "labels": {names.EXCLUDED: ""} if excluded else {}}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": meta}
        self._do("POST", NODES, node | {"status": {"conditions": conditions, "addresses": addresses}})

    def live(self, name: str, beat: int) -> None:
        """A node says that it lives, as it does every few seconds."""
        node = self._world.truth.nodes[Name("", name)]
        conditions = [
            each | {"lastHeartbeatTime": f"2026-01-01T00:00:{beat:02}Z"}
            for each in msgspec.to_builtins(node.status.conditions)
        ]
        self._do("PATCH", f"{NODES}/{name}/status", {"status": {"conditions": conditions}})

    def delete_node(self, name: str) -> None:
        self._do("DELETE", f"{NODES}/{name}", {})

    def guard(self, namespace: str, name: str, app: str = "") -> None:
        """A NetworkPolicy for all pods of a namespace, or for those of one Service."""
        selector = {"matchLabels": {"app": app}} if app else {}
        policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}}
        self._do("POST", _policies(namespace), policy | {"spec": {"podSelector": selector, "policyTypes": ["Ingress"]}})

    def unguard(self, namespace: str, name: str) -> None:
        self._do("DELETE", f"{_policies(namespace)}/{name}", {})

    def say(self, name: str) -> None:
        """Somebody else has something to say on a Service."""
        service = self._world.truth.services.get(_name(name))
        if service is not None:
            said = [
                each for each in msgspec.to_builtins(service.status.conditions) if each["type"] != "example.org/Seen"
            ]
            mine = {"type": "example.org/Seen", "status": "True", "reason": "Seen", "message": ""}
            conditions = [*said, mine | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]
            self._do("PATCH", f"{_service(name)}/status", {"status": {"conditions": conditions}})

    def take_pairs(self) -> None:
        """An operator takes our addresses from a gateway's list."""
        self._world.truth.pairs_taken = True
        for port in self._world.place.gateways[:1]:
            self._operate(
                "PUT", f"ports/{port}", {"port": {"allowed_address_pairs": [{"ip_address": rest.PAIR_OF_OTHERS}]}}
            )

    def rename_gateways(self) -> None:
        """An operator gives the gateways' ports other names: what is known of them is known no more."""
        for number, port in enumerate(self._world.place.gateways):
            self._operate("PUT", f"ports/{port}", {"port": {"name": f"renamed-{number}"}})

    def meddle_with_group(self) -> None:
        """An operator takes our group off a gateway's port, and lets everything into it."""
        truth = self._world.truth
        ours = [each.id for each in truth.groups.values() if each.description == truth.mark]
        truth.group_meddled = True
        for port in self._world.place.gateways[:1]:
            kept = [each for each in truth.ports[port].security_groups if each not in ours]
            self._operate("PUT", f"ports/{port}", {"port": {"security_groups": kept}})
        for group in ours:
            rule = {"security_group_id": group, "direction": "ingress", "ethertype": "IPv4"}
            self._operate("POST", "security-group-rules", {"security_group_rule": rule})

    def put_groups(self, gateway: PortId, groups: list[SecurityGroupId]) -> None:
        """An operator puts other security groups on a gateway's port."""
        self._operate("PUT", f"ports/{gateway}", {"port": {"security_groups": groups}})

    def put_pairs(self, gateway: PortId, *addresses: str) -> None:
        """Somebody's tool gives a gateway's port the list that it knows of."""
        self._world.truth.pairs_taken = True
        pairs = [{"ip_address": each} for each in addresses]
        self._operate("PUT", f"ports/{gateway}", {"port": {"allowed_address_pairs": pairs}})

    def limit(self, **quota: int) -> None:
        """An operator changes what the controllers' project may have."""
        port = self._world.truth.ports[self._world.place.gateways[0]]
        self._operate("PUT", f"quotas/{port.project_id}", {"quota": quota})

    def lose(self, collection: str, name: str) -> None:
        """An operator deletes the port of a Service, or the floating IP on it."""
        ports = self.annotations(name).get(names.PORT, "").split(",")
        public = (each.id for each in self._world.truth.floating_ips.values() if each.port_id in ports)
        known = self._world.truth.ports
        self._world.truth.lost |= {
            address.ip_address
            for port in ports
            if collection == "ports" and PortId(port) in known
            for address in known[PortId(port)].fixed_ips
        }
        for each in list(public) if collection == "floatingips" else filter(None, ports):
            self._operate("DELETE", f"{collection}/{each}")

    def lose_gateway(self, name: str) -> None:
        """An operator deletes the port of a gateway."""
        truth = self._world.truth
        port = truth.gateway_ports[name]
        truth.foreign -= {port}
        self._operate("DELETE", f"ports/{port}")

    def remake_gateway(self, name: str) -> None:
        """An operator deletes the port of a gateway, and makes it anew with the same name."""
        truth = self._world.truth
        before = truth.ports[truth.gateway_ports[name]]
        self.lose_gateway(name)
        wanted = {"network_id": before.network_id, "name": name, "device_owner": before.device_owner}
        pairs = [{"ip_address": rest.PAIR_OF_OTHERS}]
        made = self._operate("POST", "ports", {"port": {**wanted, "allowed_address_pairs": pairs}})
        truth.gateway_ports[name] = PortId(made["port"]["id"])
        truth.pairs_taken = True
        truth.foreign |= {truth.gateway_ports[name]}

    def take_off(self, name: str) -> None:
        """An operator takes the floating IP of a Service off its port."""
        ports = self.annotations(name).get(names.PORT, "").split(",")
        for each in [each for each in self._world.truth.floating_ips.values() if each.port_id in ports]:
            self._operate("PUT", f"floatingips/{each.id}", {"floatingip": {"port_id": None}})

    def move_away(self, name: str) -> PortId:
        """An operator moves the floating IP of a Service to the port of a machine, which is returned."""
        truth = self._world.truth
        network = truth.ports[self._world.place.gateways[0]].network_id
        made = self._operate("POST", "ports", {"port": {"network_id": network, "name": "machine"}})
        machine = PortId(made["port"]["id"])
        truth.foreign |= {machine}
        ports = self.annotations(name).get(names.PORT, "").split(",")
        for each in [each for each in truth.floating_ips.values() if each.port_id in ports]:
            self._operate("PUT", f"floatingips/{each.id}", {"floatingip": {"port_id": machine}})
            truth.foreign |= {each.id}
        return machine

    def put_on(self, address: str, port: PortId) -> None:
        """An operator moves a floating IP to a port, and has it in hand from now on."""
        truth = self._world.truth
        for each in [each for each in truth.floating_ips.values() if each.floating_ip_address == address]:
            self._operate("PUT", f"floatingips/{each.id}", {"floatingip": {"port_id": port}})
            truth.foreign |= {each.id}

    def take_away_machine(self, port: PortId) -> None:
        """A machine goes, with its port. What was on it, and still bears our mark, is ours."""
        truth = self._world.truth
        on = [each for each in truth.floating_ips.values() if each.port_id == port]
        truth.foreign -= {port, *(each.id for each in on if each.description == truth.mark)}
        self._operate("DELETE", f"ports/{port}")

    def describe_floating_ip(self, name: str, text: str) -> None:
        """An operator changes the description of what a Service shows, if it is there."""
        shown = self.shown(name)
        for each in [each for each in self._world.truth.floating_ips.values() if each.floating_ip_address == shown]:
            self.describe("floatingips", each.id, text)

    def describe_port(self, name: str, text: str) -> None:
        """An operator changes the description of the port that a Service names, if it is there."""
        for each in set(self.annotations(name).get(names.PORT, "").split(",")) & self._world.truth.ports.keys():
            self.describe("ports", each, text)

    def describe(self, collection: str, which: str, text: str) -> None:
        """An operator changes the description of something, and nothing else."""
        kind, truth = collection.removesuffix("s"), self._world.truth
        if PortId(which) in truth.ports:
            truth.lost |= {each.ip_address for each in truth.ports[PortId(which)].fixed_ips}
        truth.foreign |= {which, *(each.id for each in truth.floating_ips.values() if each.port_id == which)}
        floating = {str(each.id): each.port_id for each in truth.floating_ips.values()}
        same = {"port_id": floating[which]} if which in floating else {}
        self._operate("PUT", f"{collection}/{which}", {kind: {"description": text} | same})

    def _operate(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - as JSON has it
        request = Request("operator", method, f"/v2.0/{path}", body=msgspec.json.encode(body) if body else b"")
        done = self._world.judge(None, "neutron", request, lambda: self._world.neutron.handle(request, neutron.ADMIN))
        return msgspec.json.decode(done.body) if done.body else None

    def drain(self, *names: str) -> None:
        """Have these gateways give way, and no others, if there is a Lease yet. Whoever leads writes on it too."""
        if self._do("PATCH", LEASE, {"metadata": {"annotations": {DRAINED: ",".join(names) or None}}}):
            self._world.truth.drained = frozenset(names)

    def copy(self, name: str, other: str, *, ours: bool = True) -> None:
        """`kubectl get -o yaml`, another name, `kubectl apply`: what is ours is copied with the rest.

        Not ours: it gets another class, whose controller holds it and gives it an address.
        """
        service = self._world.truth.services.get(_name(name))
        if service is None:
            return
        ports = [f"{each.port}/{each.protocol}" for each in service.spec.ports]
        self.expose(other, *ports, annotations=dict(service.metadata.annotations), ours=ours)
        if not ours:
            self._patch(other, {"metadata": {"finalizers": [names.CLEANUP_FINALIZER]}})
            self.set_status(other, "198.51.100.9")

    def change_ports(self, name: str, *ports: str) -> None:
        self._patch(name, {"spec": {"ports": _ports(ports)}})

    def annotate(self, name: str, key: str, value: str | None) -> None:
        self._patch(name, {"metadata": {"annotations": {key: value}}})

    def hide(self, name: str) -> None:
        """Make it a Service of type ClusterIP."""
        self._patch(name, {"spec": {"type": "ClusterIP", "loadBalancerClass": None}})

    def restrict(self, name: str, *ranges: str) -> None:
        """Let in some clients only, or everybody."""
        self._patch(name, {"spec": {"loadBalancerSourceRanges": list(ranges) or None}})

    def wish(self, name: str, address: str) -> None:
        """Ask for an address, or for none."""
        self._patch(name, {"spec": {"loadBalancerIP": address or None}})

    def change(self, name: str, **spec: Any) -> None:  # noqa: ANN401 - as JSON has it
        """Its owner wants something else."""
        self._patch(name, {"spec": spec})

    def families(self, name: str, *families: str) -> None:
        """Want addresses of other families."""
        policy = "SingleStack" if len(families) == 1 else "RequireDualStack"
        self._patch(name, {"spec": {"ipFamilies": list(families), "ipFamilyPolicy": policy}})

    def annotations(self, name: str) -> dict[str, str]:
        service = self._world.truth.services.get(_name(name))
        return dict(service.metadata.annotations) if service else {}

    def shown(self, name: str) -> str:
        """The address that a Service shows, if it does."""
        service = self._world.truth.services.get(_name(name))
        ingress = service.status.load_balancer.ingress if service else ()
        return ingress[0].ip if ingress else ""

    def spare(self) -> str:
        """A floating IP that somebody has made and nobody uses, if there is one now."""
        found = self._world.truth.floating_ips.values()
        free = (each.floating_ip_address for each in found if not each.description and each.port_id is None)
        return next(free, "")

    def hold(self, name: str) -> None:
        """Put a finalizer on it, as other controllers do."""
        self._patch(name, {"metadata": {"finalizers": [*self._finalizers(name), HOLD]}})

    def hold_by(self, name: str, *finalizers: str) -> None:
        """Somebody puts these finalizers on it, and no others."""
        self._patch(name, {"metadata": {"finalizers": list(finalizers)}})

    def take_finalizers(self, name: str) -> None:
        """Take all finalizers off, as people do who want something to go away."""
        self._patch(name, {"metadata": {"finalizers": None}})

    def let_go(self, name: str) -> None:
        """Take that finalizer off again."""
        self._patch(name, {"metadata": {"finalizers": [each for each in self._finalizers(name) if each != HOLD]}})

    def _finalizers(self, name: str) -> tuple[str, ...]:
        service = self._world.truth.services.get(_name(name))
        return service.metadata.finalizers if service else ()

    def delete(self, name: str) -> None:
        self._world.truth.let_go.update(
            map(PortId, filter(None, self.annotations(name).get(names.PORT, "").split(",")))
        )
        self._do("DELETE", f"{_service(name)}", {})

    def delete_lease(self) -> None:
        """What says who leads, and which epoch it is, is gone."""
        self._world.depose_leader()
        self._do("DELETE", LEASE, {})

    def back_up(self) -> Backup:
        """Keep what is in etcd now."""
        return self._world.kube.backup()

    def restore(self, backup: Backup) -> None:
        """Put etcd back to what it was."""
        self._world.restore(backup)

    def replace(self, name: str) -> None:
        """`kubectl replace` by a file that has nothing of ours: marks and finalizers are gone, the status is not."""
        ours = {"annotations": {names.MANAGED: None, names.PORT: None}, "finalizers": None}
        self._patch(name, {"metadata": ours})

    def wipe_status(self, name: str) -> None:
        """Somebody takes away what it shows."""
        self._do("PATCH", f"{_service(name)}/status", {"status": {"loadBalancer": {"ingress": None}}})

    def set_status(self, name: str, address: str) -> None:
        """Somebody else gives it an address."""
        self._do("PATCH", f"{_service(name)}/status", {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}})

    def _patch(self, name: str, change: dict[str, Any]) -> None:
        self._do("PATCH", f"{_service(name)}", change)

    def _do(self, method: str, path: str, body: dict[str, Any]) -> bool:
        """Whether there was what it is about."""
        headers = MERGE if method == "PATCH" else {"content-type": "application/json"}
        request = Request("user", method, path, headers=headers, body=msgspec.json.encode(body))
        response = self._world.judge(None, "kube", request, lambda: self._world.kube.handle(request))
        if response.status >= HTTPStatus.BAD_REQUEST and response.status != HTTPStatus.NOT_FOUND:
            raise ValueError(f"{method} {path}: {response.body.decode()}")
        return response.status != HTTPStatus.NOT_FOUND


def _name(text: str) -> Name:
    namespace, _, name = text.rpartition("/")
    return Name(namespace or "shop", name)


def _services(text: str) -> str:
    return f"/api/v1/namespaces/{_name(text).namespace}/services"


def _service(text: str) -> str:
    return f"{_services(text)}/{_name(text).name}"


def _slices(name: Name) -> str:
    return f"/apis/discovery.k8s.io/v1/namespaces/{name.namespace}/endpointslices"


def _policies(namespace: str) -> str:
    return f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"


def _ports(ports: tuple[str, ...]) -> list[dict[str, Any]]:
    split = [port.split("/") for port in ports]
    return [
        {"name": f"{protocol.lower()}-{number}", "port": int(number), "protocol": protocol}
        for number, protocol in split
    ]
