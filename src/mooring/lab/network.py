"""The wiring of a lab: hosts, bridges, cables, addresses and routes; and how a Neutron port is plugged into a host."""

from functools import partial

from mooring.lab.hosts import BRIDGES, holder
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.spec import CLIENT_V4, CLIENT_V6, LB_V4, LB_V6, Spec
from mooring.lab.topology import NeutronPort

# kube-proxy and others use the low bits; this one says "came in by the leg in OVN, the answer goes out there too"
OVN_LEG_MARK = 0x10000
OVN_LEG_TABLE = 100


def parts(spec: Spec) -> list[Part]:
    """One part per host, and one that connects them."""
    holders = [
        Part(holder(host), partial(_start, host=host), needs=("debian-packages",), group="hosts") for host in spec.hosts
    ]
    return [*holders, Part("cables", connect, needs=tuple(part.name for part in holders), group="hosts", process=False)]


def _start(lab: Lab, *, host: str) -> None:
    lab.hosts.start(host)


def connect(lab: Lab) -> None:
    """Lay all cables, give addresses and routes of the management network."""
    hosts, spec = lab.hosts, lab.spec
    hosts.ip(
        "wire", *(line for bridge in BRIDGES for line in (f"link add {bridge} type bridge", f"link set {bridge} up"))
    )
    for cable in spec.cables():
        hosts.connect(cable)
    hosts.connect_machine()
    hosts.ip(
        "client", f"addr add {CLIENT_V4}/24 dev eth0", f"addr add {CLIENT_V6}/64 dev eth0 nodad", "link set eth0 up"
    )
    for host in ("control", *spec.chassis_names):
        _manage(lab, host, "eth0")
    for gateway in spec.gateway_names:
        _manage(lab, gateway, "eth1")
    for host in ("control", *spec.gateway_names, *spec.node_names):
        _route_pods(lab, host)
    for node in spec.node_names:
        _send_outside_by_gateways(lab, node)


def plug(lab: Lab, host: str, interface: str, port: NeutronPort, *, chassis: str) -> None:
    """Put a Neutron port, bound to a chassis, into a host as one of its interfaces, as Nova does with a VM."""
    hosts = lab.hosts
    tap = port.tap
    hosts.ip(
        chassis,
        f"link add {tap} type veth peer name {interface} netns {lab.processes.pid(holder(host))}",
        f"link set {tap} mtu {port.mtu} up",
    )
    hosts.fill_checksums(host, interface)
    addresses = [
        f"addr add {address} dev {interface}" + (" nodad" if ":" in address else "") for address in port.addresses
    ]
    hosts.ip(host, f"link set {interface} address {port.mac} mtu {port.mtu}", *addresses, f"link set {interface} up")
    owner = ["set", "Interface", tap, f"external_ids:iface-id={port.id}", f"external_ids:attached-mac={port.mac}"]
    lab.vsctl(chassis, "add-port", "br-int", tap, "--", *owner)
    lab.vsctl(chassis, "wait-until", "Interface", tap, "external_ids:ovn-installed=true")


def answer_by_ovn_leg(lab: Lab, node: str, port: NeutronPort) -> None:
    """Connections that come in by a node's leg in OVN are answered by that leg, whatever the default route says."""
    rules = f"""
        table inet legs {{
          chain come {{ type filter hook prerouting priority mangle; policy accept;
            iifname "ovn0" ct state new ct mark set ct mark or {OVN_LEG_MARK:#x}
            ct direction reply ct mark and {OVN_LEG_MARK:#x} != 0 meta mark set meta mark or {OVN_LEG_MARK:#x}
          }}
          chain own {{ type route hook output priority mangle; policy accept;
            ct direction reply ct mark and {OVN_LEG_MARK:#x} != 0 meta mark set meta mark or {OVN_LEG_MARK:#x}
          }}
        }}"""
    lab.hosts.run(node, ["nft", "-f", "-"], stdin=rules)
    mark = f"fwmark {OVN_LEG_MARK:#x}/{OVN_LEG_MARK:#x} lookup {OVN_LEG_TABLE}"
    lab.hosts.run(node, ["ip", "-4", "rule", "add", *mark.split()])
    lab.hosts.run(node, ["ip", "-6", "rule", "add", *mark.split()])
    lab.hosts.ip(
        node, *(f"route add default via {gateway} dev ovn0 table {OVN_LEG_TABLE}" for gateway in port.gateways)
    )


def _manage(lab: Lab, host: str, interface: str) -> None:
    lab.hosts.ip(
        host,
        f"addr add {lab.spec.management(host)}/24 dev {interface}",
        f"addr add {lab.spec.management6(host)}/64 dev {interface} nodad",
        f"link set {interface} up",
    )


def _route_pods(lab: Lab, host: str) -> None:
    """The way to the pods of each node but its own."""
    lab.hosts.sysctl(host, net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
    for node in lab.spec.node_names:
        if node != host:
            v4, v6 = lab.spec.pod_ranges(node)
            lab.hosts.ip(
                host,
                f"route add {v4} via {lab.spec.management(node)}",
                f"route add {v6} via {lab.spec.management6(node)}",
            )


def _send_outside_by_gateways(lab: Lab, node: str) -> None:
    """A node's way out, and its way to Service addresses, is whichever gateway holds the VRRP address."""
    v4, v6 = lab.spec.gateway_address, lab.spec.gateway_address6
    lab.hosts.ip(
        node,
        f"route add default via {v4}",
        f"route add default via {v6}",
        f"route add {LB_V4} via {v4}",
        f"route add {LB_V6} via {v6}",
    )
