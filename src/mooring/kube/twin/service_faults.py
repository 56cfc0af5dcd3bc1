"""Why the API server refuses a Service: the rules that we depend on, and those that a user's mistake meets first."""

import functools
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network

from mooring.kube.twin import names
from mooring.kube.twin.answers import Fault, Tree, duplicate, forbidden, invalid, required, unsupported

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
POLICIES = ("Cluster", "Local")
AFFINITIES = ("ClientIP", "None")
MODES = ("Proxy", "VIP")
LAST_PORT = 65535
LONGEST_AFFINITY = 86400
PORT_RANGE = "must be between 1 and 65535, inclusive"


def of_spec(spec: Tree) -> Iterator[Fault]:
    if spec["type"] not in TYPES:
        yield unsupported("spec.type", spec["type"], TYPES)
    ports = spec.get("ports", [])
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    for number, port in enumerate(ports):
        yield from _of_port(f"spec.ports[{number}]", port, named=len(ports) > 1)
    yield from _repeated(ports)
    yield from names.label_faults("spec.selector", spec.get("selector", {}))
    yield from _of_choices(spec)
    yield from _of_addresses(spec)
    yield from _of_balancing(spec)


def _of_port(path: str, port: Tree, *, named: bool) -> Iterator[Fault]:
    name, number, target = port.get("name", ""), port.get("port", 0), port.get("targetPort", 0)
    if named and not name:
        yield required(f"{path}.name")
    if name and not names.is_label(name):
        yield invalid(f"{path}.name", name, names.BAD_LABEL)
    if not 0 < number <= LAST_PORT:
        yield invalid(f"{path}.port", number, PORT_RANGE)
    if port["protocol"] not in PROTOCOLS:
        yield unsupported(f"{path}.protocol", port["protocol"], PROTOCOLS)
    if isinstance(target, str) and not names.is_port_name(target):
        yield invalid(f"{path}.targetPort", target, "must be a name of at most 15 characters (a-z, 0-9, -)")
    if isinstance(target, int) and not 0 < target <= LAST_PORT:
        yield invalid(f"{path}.targetPort", target, PORT_RANGE)


def _repeated(ports: Sequence[Tree]) -> Iterator[Fault]:
    seen: set[object] = set()
    for number, port in enumerate(ports):
        name, pair = port.get("name", ""), (port["protocol"], port.get("port", 0))
        if name and name in seen:
            yield duplicate(f"spec.ports[{number}].name", name)
        if pair in seen:
            yield duplicate(f"spec.ports[{number}]", {"Protocol": pair[0], "Port": pair[1]})
        seen |= {name, pair}


def _of_choices(spec: Tree) -> Iterator[Fault]:
    if spec["sessionAffinity"] not in AFFINITIES:
        yield unsupported("spec.sessionAffinity", spec["sessionAffinity"], AFFINITIES)
    timeout = spec.get("sessionAffinityConfig", {}).get("clientIP", {}).get("timeoutSeconds", 1)
    if not 0 < timeout <= LONGEST_AFFINITY:
        path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        yield invalid(path, timeout, "must be greater than 0 and less than 86400")
    inside = spec.get("internalTrafficPolicy", "Cluster")
    if inside not in POLICIES:
        yield unsupported("spec.internalTrafficPolicy", inside, POLICIES)
    outside = spec.get("externalTrafficPolicy")
    if outside is not None and spec["type"] not in {"NodePort", "LoadBalancer"} and not spec.get("externalIPs"):
        yield invalid("spec.externalTrafficPolicy", outside, "may only be set for externally-accessible services")
    elif outside is not None and outside not in POLICIES:
        yield unsupported("spec.externalTrafficPolicy", outside, POLICIES)


def _of_addresses(spec: Tree) -> Iterator[Fault]:
    addresses = spec.get("clusterIPs", ())
    if "None" in addresses and spec["type"] != "ClusterIP":
        why = f"may not be set to 'None' for {spec['type']} services"
        yield invalid("spec.clusterIPs[0]", "None", why)
    for number, family in enumerate(spec.get("ipFamilies", ())):
        if family not in {"IPv4", "IPv6"}:
            yield unsupported(f"spec.ipFamilies[{number}]", family, ("IPv4", "IPv6"))
    for number, address in enumerate(addresses):
        if address == "None":
            continue
        if not _is_address(address):
            yield invalid(f"spec.clusterIPs[{number}]", address, "must be a valid IP address")
        elif spec["ipFamilies"][number : number + 1] not in ([], ["IPv6" if ":" in address else "IPv4"]):
            why = f"expected an {spec['ipFamilies'][number]} value as indicated by `ipFamilies[{number}]`"
            yield invalid(f"spec.clusterIPs[{number}]", address, why)


def _of_balancing(spec: Tree) -> Iterator[Fault]:
    balanced = spec["type"] == "LoadBalancer"
    for name in ("loadBalancerClass", "allocateLoadBalancerNodePorts"):
        if name in spec and not balanced:
            yield forbidden(f"spec.{name}", "may only be used when `type` is 'LoadBalancer'")
    if balanced and "loadBalancerClass" in spec and not names.is_qualified(spec["loadBalancerClass"]):
        yield invalid("spec.loadBalancerClass", spec["loadBalancerClass"], names.BAD_WORD)
    if spec.get("loadBalancerSourceRanges") and not balanced:
        yield forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for number, cidr in enumerate(spec.get("loadBalancerSourceRanges", ())):
        if not _is_range(cidr.strip()):
            path = f"spec.LoadBalancerSourceRanges[{number}]"
            yield invalid(path, cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def of_change(spec: Tree, before: Tree) -> Iterator[Fault]:
    """What may not change while the Service is what it is."""
    if before["type"] == spec["type"] == "LoadBalancer":
        new = spec.get("loadBalancerClass")
        if new != before.get("loadBalancerClass"):
            yield invalid("spec.loadBalancerClass", new, "may not change once set")
    if before["type"] != "ExternalName" != spec["type"]:
        new, old = spec.get("clusterIPs", [])[:1], before.get("clusterIPs", [])[:1]
        if old and new != old:
            yield invalid("spec.clusterIPs[0]", new, "may not change once set")


def of_status(status: Tree, spec: Tree) -> Iterator[Fault]:
    ingress = status.get("loadBalancer", {}).get("ingress", ())
    path = "status.loadBalancer.ingress"
    if ingress and spec["type"] != "LoadBalancer":
        yield forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for number, each in enumerate(ingress):
        here = f"{path}[{number}]"
        if "ip" in each and not _is_address(each["ip"]):
            yield invalid(f"{here}.ip", each["ip"], "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
        if "ip" not in each and "ipMode" in each:
            yield forbidden(f"{here}.ipMode", "may not be specified when `ip` is not set")
        elif "ipMode" in each and each["ipMode"] not in MODES:
            yield unsupported(f"{here}.ipMode", each["ipMode"], MODES)
        if "hostname" in each and (not names.is_subdomain(each["hostname"]) or _is_address(each["hostname"])):
            yield invalid(f"{here}.hostname", each["hostname"], names.BAD_SUBDOMAIN)


@functools.lru_cache(maxsize=4096)
def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_range(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text
