"""The gateway hosts: like VMs with a Neutron port on network `lb` and a leg in the management network."""

from functools import partial

from mooring.lab import network, topology, waiting
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.spec import LB_V6, NODES_V6, Spec
from mooring.lab.templates import write


def parts(spec: Spec) -> list[Part]:
    """Plug each gateway, then let them agree who holds the nodes' way out."""
    made = [Part("outside-routes", route_outside, needs=("golden-copy",), group="openstack", process=False)]
    for gateway in spec.gateway_names:
        chassis = f"ovn-controller-{spec.chassis_of(gateway)}"
        made += [
            Part(
                f"leg-{gateway}",
                partial(plug_gateway, gateway=gateway),
                needs=("golden-copy", chassis),
                group="openstack",
                process=False,
            ),
        ]
    return made if spec.mooring else [*made, *_vrrp(spec)]


def _vrrp(spec: Spec) -> list[Part]:
    """Where no agent does it."""
    made = [
        Part(
            f"keepalived-{gateway}",
            partial(start_keepalived, gateway=gateway),
            needs=(f"leg-{gateway}", "debian-packages"),
            group="vrrp",
        )
        for gateway in spec.gateway_names
    ]
    instances = tuple(f"keepalived-{gateway}" for gateway in spec.gateway_names)
    return [*made, Part("way-out", await_holder, needs=instances, group="vrrp", process=False)]


def plug_gateway(lab: Lab, *, gateway: str) -> None:
    """Plug the port, route, and set what connections need that move from one gateway to another."""
    port = topology.load(lab).ports[gateway]
    network.plug(lab, gateway, "eth0", port, chassis=lab.spec.chassis_of(gateway))
    lab.hosts.ip(gateway, *(f"route add default via {address} dev eth0" for address in port.gateways))
    lab.hosts.sysctl(gateway, net__netfilter__nf_conntrack_tcp_loose=1, net__netfilter__nf_conntrack_tcp_be_liberal=1)


def start_keepalived(lab: Lab, *, gateway: str) -> None:
    """VRRP for the address on the management side that the nodes' default routes point to."""
    values = {"HOST": gateway, "RUN": lab.place.run, "V4": lab.spec.gateway_address, "V6": lab.spec.gateway_address6}
    configuration = write("gateway/keepalived.conf", lab.place.etc / f"keepalived-{gateway}.conf", values)
    part = f"keepalived-{gateway}"
    files = {kind: lab.place.run / f"{part}.{kind}" for kind in ("pid", "vrrp_pid", "checkers_pid")}
    for file in files.values():
        file.unlink(missing_ok=True)
    options = ["--dont-fork", "--vrrp", "--log-console", "--no-syslog", f"--use-file={configuration}"]
    lab.spawn(part, ["keepalived", *options, *(f"--{kind}={file}" for kind, file in files.items())], host=gateway)
    lab.wait(part, files["vrrp_pid"].exists, seconds=10, what=f"VRRP on {gateway}")


def holders(lab: Lab) -> list[str]:
    """The gateways that hold the nodes' way out: one, unless something is wrong or moving."""
    held = f" {lab.spec.gateway_address}/32 "
    show = ["ip", "-4", "address", "show", "dev", "eth1"]
    return [gateway for gateway in lab.spec.gateway_names if held in lab.hosts.run(gateway, show)]


def await_holder(lab: Lab) -> None:
    """Wait until the gateways have agreed."""
    waiting.until(lambda: len(holders(lab)) == 1, seconds=20, what="exactly one gateway to hold the nodes' way out")


def route_outside(lab: Lab) -> None:
    """How the outside client reaches IPv6 networks behind the router; for IPv4 there are floating IPs."""
    router = next(address for address in topology.load(lab).router_outside if ":" in address)
    lab.hosts.ip("client", *(f"route replace {net} via {router}" for net in (LB_V6, NODES_V6)))
