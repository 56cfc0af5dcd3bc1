"""Services: their defaults, what they lose and keep when their type changes, which addresses and ports they get."""

from collections.abc import Iterator

from mooring.kube.twin import service_faults, service_shape
from mooring.kube.twin.answers import Fault, Speaker, Tree, invalid
from mooring.kube.twin.resources import Resource, Rules
from mooring.kube.twin.selectors import OF_EVERY_KIND, field
from mooring.kube.twin.stock import Addresses, NodePorts

AFFINITY_SECONDS = 10800
ON_NODES = frozenset({"NodePort", "LoadBalancer"})
FAMILIES = ("IPv4", "IPv6")
ADDRESSED = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")


class ServiceRules(Rules):
    """The rules of Services, with the stock that they are given addresses and ports from."""

    def __init__(self, *, ipv4: str, ipv6: str) -> None:
        self._addresses = {"IPv4": Addresses(ipv4), "IPv6": Addresses(ipv6)}
        self._ports = NodePorts()

    def completed(self, new: Tree, old: Tree | None) -> Tree:
        if old is not None and new["spec"] is old["spec"] and new["status"] is old["status"]:
            return new
        before = None if old is None else old["spec"]
        spec = new["spec"]
        if spec is not before:
            spec = _defaulted(spec)
            if before is not None:
                _drop_what_ended(spec, before)
                _keep_what_was_given(spec, before)
            _agree_on_addresses(spec, before)
            _choose_families(spec, before)
            new = new | {"spec": spec}
        left = before is not None and before["type"] == "LoadBalancer" and spec["type"] != "LoadBalancer"
        if left and old is not None and new["status"] is old["status"]:
            return new | {"status": new["status"] | {"loadBalancer": {}}}
        return new | {"status": _with_modes(new["status"], spec)}

    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        if old is None or new["spec"] is not old["spec"]:
            yield from service_faults.of_spec(new["spec"])
            if old is not None:
                yield from service_faults.of_change(new["spec"], old["spec"])
        if old is None or new["status"] is not old["status"]:
            yield from service_faults.of_status(new["status"], new["spec"])

    def settled(self, new: Tree, old: Tree | None) -> Tree:
        before = {} if old is None else old["spec"]
        if new["spec"] is before:
            return new
        spec = dict(new["spec"])
        self._check_stock(new["metadata"]["name"], spec, before)
        self._give_addresses(spec, before)
        self._give_ports(spec, before)
        return new | {"spec": spec}

    def released(self, old: Tree) -> None:
        for address in _addresses(old["spec"]):
            self._addresses[_family(address)].free(address)
        self._ports.free(_node_ports(old["spec"]))

    def restored(self, tree: Tree) -> None:
        for address in _addresses(tree["spec"]):
            self._addresses[_family(address)].take(address)
        for port in _node_ports(tree["spec"]):
            self._ports.take(port)

    def _check_stock(self, name: str, spec: Tree, before: Tree) -> None:
        """Refuse what was asked for by name and cannot be had."""
        faults = []
        for address in set(_addresses(spec)) - set(_addresses(before)):
            stock = self._addresses[_family(address)]
            if address not in stock:
                why = f"failed to allocate IP {address}: the provided network does not match the current range"
                faults.append(invalid("spec.clusterIPs", [address], why))
            elif not stock.is_free(address):
                why = f"failed to allocate IP {address}: provided IP is already allocated"
                faults.append(invalid("spec.clusterIPs", [address], why))
        for port in _node_ports(spec) - _node_ports(before):
            if port not in self._ports:
                faults.append(invalid("spec.ports[0].nodePort", port, "provided port is not in the valid range"))
            elif not self._ports.is_free(port):
                faults.append(invalid("spec.ports[0].nodePort", port, "provided port is already allocated"))
        if faults:
            raise Speaker("", "Service", "services").invalid(name, faults)

    def _give_addresses(self, spec: Tree, before: Tree) -> None:
        if spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
            held = list(spec.get("clusterIPs", ()))
            held += [self._addresses[family].give() or "" for family in spec["ipFamilies"][len(held) :]]
            spec["clusterIPs"], spec["clusterIP"] = held, held[0]
        for address in _addresses(spec):
            self._addresses[_family(address)].take(address)
        for address in set(_addresses(before)) - set(_addresses(spec)):
            self._addresses[_family(address)].free(address)

    def _give_ports(self, spec: Tree, before: Tree) -> None:
        for port in _node_ports(spec):
            self._ports.take(port)
        if spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts"):
            same: dict[int, int] = {}
            ports = []
            for port in spec["ports"]:
                number = port.get("nodePort") or (same.get(port["port"]) if not before else None) or self._ports.give()
                same[port["port"]] = number or 0
                ports.append(port | {"nodePort": number})
            spec["ports"] = ports
        if spec.get("externalTrafficPolicy") == "Local" and spec["type"] == "LoadBalancer":
            spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or self._ports.give()
        self._ports.free(_node_ports(before) - _node_ports(spec))


def _addresses(spec: Tree) -> list[str]:
    return [address for address in spec.get("clusterIPs", ()) if address not in {"", "None"}]


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _node_ports(spec: Tree) -> set[int]:
    ports = {port["nodePort"] for port in spec.get("ports", ()) if "nodePort" in port}
    return ports | ({spec["healthCheckNodePort"]} if "healthCheckNodePort" in spec else set())


def _defaulted(spec: Tree) -> Tree:
    """A copy of the spec with the defaults that depend on nothing but itself."""
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **spec}
    if "ports" in spec:
        spec["ports"] = [_defaulted_port(port) for port in spec["ports"]]
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and "sessionAffinityConfig" not in spec:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}
    if spec["type"] in ON_NODES:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    return spec


def _defaulted_port(port: Tree) -> Tree:
    port = {"protocol": "TCP", **port}
    if not port.get("targetPort"):
        port["targetPort"] = port.get("port", 0)
    return port


def _drop_what_ended(spec: Tree, before: Tree) -> None:
    """Fields of the old type go with it, unless they were set anew with the new one."""
    ended = []
    if before["type"] == "LoadBalancer" != spec["type"]:
        ended += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if before["type"] in ON_NODES and spec["type"] not in ON_NODES:
        ended.append("externalTrafficPolicy")
        if _node_ports(spec) == _node_ports(before):
            spec["ports"] = [_without(port, "nodePort") for port in spec.get("ports", ())]
    if before["type"] != "ExternalName" and spec["type"] == "ExternalName":
        ended += ADDRESSED
    if "healthCheckNodePort" in before and (
        spec["type"] != "LoadBalancer" or spec.get("externalTrafficPolicy") != "Local"
    ):
        ended.append("healthCheckNodePort")
    for name in ended:
        if name in spec and spec[name] == before.get(name):
            del spec[name]


def _without(mapping: Tree, name: str) -> Tree:
    return {key: value for key, value in mapping.items() if key != name}


def _keep_what_was_given(spec: Tree, before: Tree) -> None:
    """A writer who leaves out what the server once gave does not lose it. Ports are known by their names."""
    if before["type"] != "ExternalName" != spec["type"] and not spec.get("clusterIP"):
        if not spec.get("clusterIPs"):
            spec["clusterIPs"] = before["clusterIPs"]
        spec["clusterIP"] = before["clusterIP"]
    if before["type"] in ON_NODES and spec["type"] in ON_NODES and spec.get("allocateLoadBalancerNodePorts", True):
        known = {port.get("name", ""): port["nodePort"] for port in before["ports"] if "nodePort" in port}
        spec["ports"] = [
            port if port.get("nodePort") or port.get("name", "") not in known
            else port | {"nodePort": known[port.get("name", "")]}
            for port in spec.get("ports", ())
        ]  # fmt: skip
        if "healthCheckNodePort" in before and spec.get("externalTrafficPolicy") == "Local":
            spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _agree_on_addresses(spec: Tree, before: Tree | None) -> None:
    """`clusterIP` is the first of `clusterIPs`; whichever was changed leads."""
    one, several = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    if one and (not several or (before is not None and one != before.get("clusterIP"))):
        spec["clusterIPs"] = [one, *several[1:]]
    elif several and not one:
        spec["clusterIP"] = several[0]


def _choose_families(spec: Tree, before: Tree | None) -> None:
    if spec["type"] == "ExternalName":
        return
    headless = spec.get("clusterIP") == "None"
    families = list(spec.get("ipFamilies", ())) or list(dict.fromkeys(_family(ip) for ip in _addresses(spec)))
    if before is None and headless and not spec.get("selector") and "ipFamilyPolicy" not in spec:
        spec["ipFamilyPolicy"] = "RequireDualStack"
    policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if len(families) > 1 else "SingleStack")
    families = families or ["IPv4"]
    if policy == "SingleStack":
        changed = before is not None and before.get("ipFamilyPolicy") != policy
        if changed and not headless:
            families = families[:1]
            spec["clusterIPs"] = spec.get("clusterIPs", [])[:1]
    else:
        families += [family for family in FAMILIES if family not in families]
    spec["ipFamilies"] = families


def _with_modes(status: Tree, spec: Tree) -> Tree:
    """An address whose mode nobody set is a VIP."""
    ingress = status.get("loadBalancer", {}).get("ingress", ())
    if spec["type"] != "LoadBalancer" or all("ipMode" in each or "ip" not in each for each in ingress):
        return status
    modes = [{**each, "ipMode": each.get("ipMode", "VIP")} if "ip" in each else each for each in ingress]
    return status | {"loadBalancer": {"ingress": modes}}


def resource(rules: ServiceRules) -> Resource:
    return Resource(
        group="",
        version="v1",
        kind="Service",
        plural="services",
        fields={"spec": service_shape.spec, "status": service_shape.status},
        blank={"spec": {}, "status": {"loadBalancer": {}}},
        rules=rules,
        has_status=True,
        status_path_writes_metadata=True,
        dotted_names=False,
        created_by_put=True,
        delete_answers_object=True,
        selectable={
            **OF_EVERY_KIND,
            "spec.type": field("spec", "type"),
            "spec.clusterIP": field("spec", "clusterIP"),
        },
    )
