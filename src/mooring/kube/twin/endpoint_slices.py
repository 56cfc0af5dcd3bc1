"""EndpointSlices: their fields, defaults and rules. Users write them; the twin has no controller that does."""

from collections.abc import Iterator
from ipaddress import ip_address

import msgspec
from msgspec import UNSET, Struct, UnsetType

from mooring.kube.twin.answers import Fault, Json, Tree, duplicate, invalid, required, unsupported
from mooring.kube.twin.metadata import fitted
from mooring.kube.twin.plain_kinds import Reference, text
from mooring.kube.twin.resources import Resource, Rules

PROTOCOLS = ("SCTP", "TCP", "UDP")


class _Conditions(Struct, omit_defaults=True):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class _Endpoint(Struct, rename="camel"):
    addresses: list[str] = []
    conditions: _Conditions = msgspec.field(default_factory=_Conditions)
    hostname: str | UnsetType = UNSET
    target_ref: Reference | UnsetType = UNSET
    deprecated_topology: dict[str, str] | UnsetType = UNSET
    node_name: str | UnsetType = UNSET
    zone: str | UnsetType = UNSET
    hints: Json | UnsetType = UNSET


class _EndpointPort(Struct, rename="camel"):
    name: str = ""
    protocol: str = "TCP"
    port: int | UnsetType = UNSET
    app_protocol: str | UnsetType = UNSET


class _Endpoints(Struct):
    items: list[_Endpoint] = []


class _EndpointPorts(Struct):
    items: list[_EndpointPort] = []


def _endpoints(value: Json) -> Json:
    return fitted({"items": value}, _Endpoints)["items"] or None


def _endpoint_ports(value: Json) -> Json:
    return fitted({"items": value}, _EndpointPorts)["items"] or None


class _EndpointSliceRules(Rules):
    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        kind = new["addressType"]
        if not kind:
            yield required("addressType")
        elif kind not in {"IPv4", "IPv6", "FQDN"}:
            yield unsupported("addressType", kind, ("FQDN", "IPv4", "IPv6"))
        elif old is not None and kind != old["addressType"]:
            yield invalid("addressType", kind, "field is immutable")
        for number, endpoint in enumerate(new["endpoints"] or ()):
            yield from _endpoint_faults(f"endpoints[{number}].addresses", endpoint["addresses"], kind)
        yield from _port_faults(new["ports"] or [])

    def generation(self, new: Tree, old: Tree | None) -> int | None:
        if old is None:
            return 1
        before, after = old["metadata"], new["metadata"]
        same = all(new[name] == old[name] for name in ("addressType", "endpoints", "ports"))
        same = same and before.get("labels") == after.get("labels")
        count: int = before["generation"]
        return count if same else count + 1


def _endpoint_faults(path: str, addresses: list[str], kind: str) -> Iterator[Fault]:
    if not addresses:
        yield required(path)
    for number, address in enumerate(addresses if kind in {"IPv4", "IPv6"} else ()):
        try:
            parsed = ip_address(address)
        except ValueError:
            yield invalid(f"{path}[{number}]", address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
            continue
        if f"IPv{parsed.version}" != kind:
            yield invalid(path, address, f"must be an {kind} address")
        if parsed.is_loopback or parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified:
            yield invalid(f"{path}[{number}]", address, "may not be loopback, link-local, multicast or unspecified")


def _port_faults(ports: list[Tree]) -> Iterator[Fault]:
    seen: set[str] = set()
    for number, port in enumerate(ports):
        if port["name"] in seen:
            yield duplicate(f"ports[{number}].name", port["name"])
        seen.add(port["name"])
        if port["protocol"] not in PROTOCOLS:
            yield unsupported(f"ports[{number}].protocol", port["protocol"], PROTOCOLS)


ENDPOINT_SLICES = Resource(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    fields={"addressType": text, "endpoints": _endpoints, "ports": _endpoint_ports},
    blank={"addressType": "", "endpoints": None, "ports": None},
    rules=_EndpointSliceRules(),
)
