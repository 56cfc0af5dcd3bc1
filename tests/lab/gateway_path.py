"""A Service address on the gateways, made by hand in the way that the agents will: to see that the world carries it.

VIP port (never bound), its address in the allowed pairs of the gateways' ports, a floating IP, the address in VRRP,
and rules that translate to pods with the VIP as source.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import openstack

from mooring.lab import callers, lifecycle, ovn, topology, waiting
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from tests.lab.tenant import Tenant

TABLE = "by_hand"
ECHO = ("/bin/sh", "-c", "exec nc -ll -p 8080 -e cat")


class GatewayPath:
    """One address, served by all gateways of the lab, held by one of them."""

    def __init__(self, lab: Lab, *, version: int) -> None:
        self.lab = lab
        self.version = version
        self.made = topology.load(lab)
        self.cloud: Any = topology.connect(lab)
        self.port: Any = None
        self.floating: Any = None

    @property
    def vip(self) -> str:
        return str(self.port.fixed_ips[0]["ip_address"])

    @property
    def outside(self) -> str:
        """The address that the outside client calls."""
        return f"[{self.vip}]" if self.version == 6 else str(self.floating.floating_ip_address)

    def create(self, backends: Sequence[tuple[str, int]]) -> None:
        network = self.cloud.network
        subnet = self.made.subnets[f"lb{self.version}"]
        self.port = network.create_port(
            network_id=self.made.networks["lb"],
            project_id=self.made.project,
            name="by-hand",
            security_groups=[],
            fixed_ips=[{"subnet_id": subnet}],
        )
        self._pair(add=True)
        if self.version == 4:
            self.floating = network.create_ip(
                floating_network_id=self.made.networks["public"], port_id=self.port.id, project_id=self.made.project
            )
        for gateway in self.lab.spec.gateway_names:
            self._rules(gateway, backends)
        self._advertise(f"{self.vip}/{128 if self.version == 6 else 32} dev eth0")
        waiting.until(lambda: self.holder() is not None, seconds=15, what="OVN to learn who holds the address")

    def delete(self) -> None:
        self._advertise("")
        for gateway in self.lab.spec.gateway_names:
            try:
                self.lab.hosts.run(gateway, ["nft", "delete", "table", self._family, TABLE])
            except CommandError:
                continue
        if self.floating is not None:
            self.cloud.network.delete_ip(self.floating)
        self._pair(add=False)
        self.cloud.network.delete_port(self.port)

    def holder(self) -> str | None:
        """The gateway that OVN sends the address to."""
        row = ovn.sbctl(
            self.lab, "--bare", "--columns=virtual_parent", "find", "Port_Binding", f"logical_port={self.port.id}"
        ).strip()
        return next((name for name, port in self.made.ports.items() if port.id == row), None)

    @property
    def _family(self) -> str:
        return "ip6" if self.version == 6 else "ip"

    def _pair(self, *, add: bool) -> None:
        for gateway in self.lab.spec.gateway_names:
            written = partial(self._write_pairs, self.made.ports[gateway].id, add=add)
            waiting.until(written, seconds=10, what=f"the pairs of {gateway} to be written")

    def _write_pairs(self, identity: str, *, add: bool) -> bool:
        """False when somebody else wrote in between: OVN reports what it did to a port, and Neutron counts that too."""
        network = self.cloud.network
        port = network.get_port(identity)
        pairs = [pair for pair in port.allowed_address_pairs if pair["ip_address"] != self.vip]
        if add:
            pairs.append({"ip_address": self.vip})
        try:
            network.update_port(port, allowed_address_pairs=pairs, if_revision=port.revision_number)
        except openstack.exceptions.PreconditionFailedException:
            return False
        return True

    def _rules(self, gateway: str, backends: Sequence[tuple[str, int]]) -> None:
        family = self._family
        slots = ", ".join(f"{slot} : {address} . {port}" for slot, (address, port) in enumerate(backends))
        choose = f"jhash {family} saddr . tcp sport mod {len(backends)} seed 0x5eed map {{ {slots} }}"
        rules = f"""
            table {family} {TABLE} {{
              chain pre {{ type nat hook prerouting priority dstnat; policy accept;
                {family} daddr {self.vip} tcp dport 80 dnat {family} to {choose}
              }}
              chain post {{ type nat hook postrouting priority srcnat; policy accept;
                ct status dnat snat {family} to ct original {family} daddr
              }}
              chain own {{ type filter hook input priority filter; policy accept;
                {family} daddr {self.vip} meta l4proto tcp drop
              }}
            }}"""
        self.lab.hosts.run(gateway, ["nft", "--file", "-"], stdin=rules)

    def _advertise(self, address: str) -> None:
        """Put the address beside the lab's own in VRRP, or take it away again."""
        for gateway in self.lab.spec.gateway_names:
            file = self.lab.place.etc / f"keepalived-{gateway}.conf"
            lines = [line for line in file.read_text().splitlines() if "# by hand" not in line]
            if address:
                start = lines.index("  virtual_ipaddress_excluded {") + 1
                lines.insert(start, f"    {address} # by hand")
            file.write_text("\n".join(lines) + "\n")
            self.lab.processes.signal(f"keepalived-{gateway}", signal.SIGHUP)


@contextmanager
def served(tenant: Tenant, name: str, version: int) -> Iterator[GatewayPath]:
    """An address in front of a Deployment; afterwards all gateways are as before."""
    lab = tenant.lab
    path = GatewayPath(lab, version=version)
    path.create([(address, 8080) for address in tenant.pod_addresses(name, version=version)])
    try:
        yield path
    finally:
        for gateway in lab.spec.gateway_names:
            if not lab.processes.alive(f"keepalived-{gateway}"):
                lifecycle.restart(lab, f"keepalived-{gateway}", PlainProgress())
        path.delete()


def end_holder(lab: Lab, path: GatewayPath) -> None:
    """End VRRP on the gateway that has the address, and wait until another has it."""
    first = path.holder()
    lab.processes.stop(f"keepalived-{first}", seconds=10)
    waiting.until(lambda: path.holder() not in (None, first), seconds=15, what="the address to move")


def connections_kept(tenant: Tenant, version: int, *, count: int) -> int:
    """How many idle connections still work after their gateway has ended."""
    tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
    with (
        served(tenant, "echo", version) as path,
        callers.Connections(tenant.lab, "client", path.outside, count=count) as connections,
    ):
        if connections.working(first=True) != count:
            message = f"not all of {count} connections opened"
            raise AssertionError(message)
        end_holder(tenant.lab, path)
        return connections.working()
