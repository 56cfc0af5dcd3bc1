"""What a lab consists of: its hosts, its cables, its addresses. Pure: the same Spec gives the same world.

slot      a number that no other running lab has; it chooses the management network, the only one that the
          machine itself has a leg in. All other networks are the same in every lab and never meet.
"""

import ipaddress
import re
from collections.abc import Iterator

import msgspec

MAX_OF_A_KIND = 8
MAX_SLOTS = 16
MOORINGS = ("", "host", "pod")
"""Without Mooring; with it, its controllers as processes on the gateways; or as pods in the cluster."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,10}[a-z0-9]|[a-z]")

CLIENT_V4, CLIENT_V6 = "203.0.113.1", "2001:db8:100::1"
PUBLIC_V4, PUBLIC_V6 = "203.0.113.0/24", "2001:db8:100::/64"
LB_V4, LB_V6 = "10.20.0.0/24", "2001:db8:20::/64"
NODES_V4, NODES_V6 = "10.30.0.0/24", "2001:db8:30::/64"
PODS_V4, PODS_V6 = "10.244.0.0/16", "fd00:244::/32"
SERVICES_V4, SERVICES_V6 = "10.96.0.0/16", "fd00:96::/112"
API_SERVICE, DNS_SERVICE = "10.96.0.1", "10.96.0.10"


class Cable(msgspec.Struct, frozen=True):
    """One host's interface, and the bridge in host `wire` that its other end is plugged into."""

    host: str
    interface: str
    bridge: str

    @property
    def far_end(self) -> str:
        """The name of the other end, in host `wire`."""
        return f"{self.host}-{self.interface}"


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user asked for."""

    name: str = "lab"
    nodes: int = 2
    gateways: int = 2
    without: tuple[str, ...] = ()
    distributed_fips: bool = False
    assets: str = ""
    mooring: str = ""
    dual_nodes: bool = True
    """Whether Kubernetes knows the nodes by IPv6 too."""
    floating: bool = True
    """Whether Mooring gives Services floating IPs, or addresses of network `lb` itself."""
    settings: str = ""
    """Sections that Mooring's configuration has beside those that the lab needs, as TOML."""
    slot: int = 0

    @property
    def node_names(self) -> tuple[str, ...]:
        """n1, n2, ..."""
        return tuple(f"n{i + 1}" for i in range(self.nodes))

    @property
    def gateway_names(self) -> tuple[str, ...]:
        """gw1, gw2, ..."""
        return tuple(f"gw{i + 1}" for i in range(self.gateways))

    @property
    def chassis_names(self) -> tuple[str, ...]:
        """Hosts that run OVS and ovn-controller; x1 is the one with the leg in the outside network."""
        return ("x1", *self.node_names)

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts, those that others are plugged into first."""
        return ("wire", "control", "client", *self.chassis_names, *self.gateway_names)

    def chassis_of(self, gateway: str) -> str:
        """The compute host that a gateway, being like a VM, runs on."""
        return self.node_names[self.gateway_names.index(gateway) % self.nodes]

    def problems(self) -> Iterator[str]:
        """Why this Spec cannot be built; nothing when it can."""
        if problem := name_problem(self.name):
            yield problem
        for what, number in (("nodes", self.nodes), ("gateways", self.gateways)):
            if not 1 <= number <= MAX_OF_A_KIND:
                yield f"{what} {number}: 1 to {MAX_OF_A_KIND} are allowed"
        if self.mooring not in MOORINGS:
            yield f"mooring {self.mooring!r}: host and pod are allowed"

    def host_number(self, host: str) -> int:
        """The last part of a host's addresses."""
        for first, names in ((11, self.node_names), (21, self.gateway_names), (31, ("x1",)), (1, ("control",))):
            if host in names:
                return first + names.index(host)
        raise KeyError(f"host {host} has no leg in the management network")

    def management(self, host: str) -> str:
        """The IPv4 address of a host in the management network."""
        return f"172.30.{100 + self.slot}.{self.host_number(host)}"

    def management6(self, host: str) -> str:
        """The IPv6 address of a host in the management network."""
        return f"fd00:30:{self.slot:x}::{self.host_number(host)}"

    @property
    def management_network(self) -> str:
        """IPv4 range that the slot chooses."""
        return f"172.30.{100 + self.slot}.0/24"

    @property
    def management_network6(self) -> str:
        """IPv6 range that the slot chooses."""
        return f"fd00:30:{self.slot:x}::/64"

    @property
    def machine_address(self) -> str:
        """The machine's own leg, by which people on it reach the lab's servers."""
        return f"172.30.{100 + self.slot}.254"

    @property
    def machine_interface(self) -> str:
        """The machine's own leg; the only device of a lab outside its namespaces."""
        return f"mo-{self.name}"

    @property
    def gateway_address(self) -> str:
        """The VRRP address of the gateways on the management side: the nodes' way out."""
        return f"172.30.{100 + self.slot}.20"

    @property
    def gateway_address6(self) -> str:
        """The same in IPv6."""
        return f"fd00:30:{self.slot:x}::20"

    def tunnel(self, host: str) -> str:
        """The address of a chassis for geneve."""
        return f"172.31.9.{self.host_number(host)}"

    def pod_ranges(self, node: str) -> tuple[str, str]:
        """IPv4 and IPv6 ranges of the pods on a node."""
        number = self.node_names.index(node) + 1
        return f"10.244.{number}.0/24", f"fd00:244:{number:x}::/64"

    def is_outside(self, chassis: str) -> bool:
        """Has this chassis a leg in the outside network (and so can carry router gateways and floating IPs)?"""
        return chassis == "x1" or self.distributed_fips

    def cables(self) -> Iterator[Cable]:
        """All cables of the lab, in a fixed order. A gateway's eth0 is no cable: Neutron and OVN plug it."""
        yield Cable("control", "eth0", "mgmt")
        yield Cable("client", "eth0", "pub")
        for chassis in self.chassis_names:
            yield Cable(chassis, "eth0", "mgmt")
            yield Cable(chassis, "tun0", "tun")
            if self.is_outside(chassis):
                yield Cable(chassis, "ext0", "pub")
        for gateway in self.gateway_names:
            yield Cable(gateway, "eth1", "mgmt")


def name_problem(name: str) -> str:
    """Why a lab cannot have this name; empty when it can."""
    if _NAME.fullmatch(name):
        return ""
    allowed = (
        "1 to 12 small letters, digits and hyphens, beginning with a letter, not ending with a hyphen, are allowed"
    )
    return f"name {name!r}: {allowed}"


def first_host(network: str) -> str:
    """The first address of a network: by our habit its router."""
    return str(ipaddress.ip_network(network)[1])
