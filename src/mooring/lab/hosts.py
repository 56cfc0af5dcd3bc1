"""The hosts of a lab: each is a sleeping process that holds a network, a mount and a name space.

There are no named namespaces and no mounts outside: when the holder and its guests end, the kernel removes the host
with all its links. To enter a host is to join the namespaces of its holder.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from mooring.lab import processes, waiting
from mooring.lab.place import Place
from mooring.lab.processes import Processes
from mooring.lab.spec import Cable, Spec

BRIDGES = ("mgmt", "tun", "pub")

# Bridged frames must not pass the NAT rules of the namespace that holds the bridge, links that go down must not lose
# their IPv6 addresses, and answers may come by another leg than the one that leads back.
_SYSCTLS = {
    "net.bridge.bridge-nf-call-iptables": 0,
    "net.bridge.bridge-nf-call-ip6tables": 0,
    "net.bridge.bridge-nf-call-arptables": 0,
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    "net.ipv6.conf.default.accept_dad": 0,
    "net.ipv6.conf.default.accept_ra": 0,
    "net.ipv6.conf.all.keep_addr_on_down": 1,
    "net.ipv6.conf.default.keep_addr_on_down": 1,
}

# The kubelet insists on these and would set them for the whole machine; in its own mount namespace it finds files.
_KUBELET_SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}


class Hosts:
    """Makes the hosts of a lab and runs things in them."""

    def __init__(self, spec: Spec, running: Processes, place: Place) -> None:
        self._spec = spec
        self._processes = running
        self._place = place

    def start(self, host: str) -> None:
        """Start the holder of a host and wait until its namespaces are ready."""
        script = [f"hostname {host}", "mount -t tmpfs -o mode=755 none /run"]
        if host in self._spec.node_names:
            script += [*self._private_folders(), *self._shadow_sysctls(host)]
        script += [
            "ip link set lo up",
            *(f"sysctl -qw {key}={value}" for key, value in _SYSCTLS.items()),
            "exec sleep infinity",
        ]
        part = holder(host)
        self._processes.spawn(
            part, ["unshare", "--net", "--mount", "--uts", "/bin/sh", "-ec", "\n".join(script)], host=host
        )
        self._processes.wait(
            part, lambda: _program(self._processes.pid(part)) == "sleep", seconds=20, what=f"host {host} to be ready"
        )

    def enter(self, host: str) -> list[str]:
        """The words before a command that make it run in a host."""
        pid = str(self._processes.pid(holder(host)))
        return ["nsenter", "--target", pid, "--net", "--mount", "--uts", "--"]

    def run(self, host: str, argv: Sequence[str | Path], *, stdin: str = "") -> str:
        """Run a command in a host to its end."""
        return processes.run([*self.enter(host), *argv], stdin=stdin)

    def ip(self, host: str, *lines: str) -> None:
        """Carry out several `ip` commands in a host, in one process."""
        self.run(host, ["ip", "-batch", "-"], stdin="\n".join(lines) + "\n")

    def sysctl(self, host: str, **values: int) -> None:
        """Set kernel settings of a host; a double underscore stands for a dot."""
        self.run(host, ["sysctl", "-qw", *(f"{key.replace('__', '.')}={value}" for key, value in values.items())])

    def connect(self, cable: Cable) -> None:
        """Lay a cable from a host to a bridge."""
        peer = self._processes.pid(holder(cable.host))
        self.ip(
            "wire",
            f"link add {cable.far_end} type veth peer name {cable.interface} netns {peer}",
            f"link set {cable.far_end} master {cable.bridge} up",
        )
        if cable.bridge == "pub":
            self.fill_checksums(cable.host, cable.interface)

    def connect_machine(self) -> None:
        """Give the machine itself a leg in the management network."""
        name = self._spec.machine_interface
        waiting.until(lambda: not Path(f"/sys/class/net/{name}").exists(), seconds=10, what=f"an old {name} to vanish")
        self.ip(
            "wire",
            f"link add machine type veth peer name {name} netns {os.getpid()}",
            "link set machine master mgmt up",
        )
        processes.run(["ip", "addr", "add", f"{self._spec.machine_address}/24", "dev", name])
        processes.run(["ip", "link", "set", name, "up"])

    def fill_checksums(self, host: str, interface: str) -> None:
        """Let the kernel compute checksums: OVS in user space passes on the empty ones (ping works, TCP hangs)."""
        self.run(host, ["ethtool", "-K", interface, "tx", "off"])

    def set_link(self, host: str, interface: str, *, up: bool) -> None:
        """Take a link down or up."""
        self.ip(host, f"link set {interface} {'up' if up else 'down'}")

    def _private_folders(self) -> list[str]:
        """Container runtimes write to fixed places below /var; on a node these are its own."""
        state = self._place.root
        return [
            "mkdir /run/state /run/upper /run/work",
            f"mount --bind {state} /run/state",
            "mount -t overlay none -o lowerdir=/var/lib,upperdir=/run/upper,workdir=/run/work /var/lib",
            f"mount --bind /run/state {state}",
            "mount -t tmpfs none /var/log",
        ]

    def _shadow_sysctls(self, host: str) -> list[str]:
        folder = self._place.run / f"sysctls-{host}"
        folder.mkdir(parents=True, exist_ok=True)
        for key, value in _KUBELET_SYSCTLS.items():
            (folder / key.replace("/", "_")).write_text(f"{value}\n")
        return [f"mount --bind {folder / key.replace('/', '_')} /proc/sys/{key}" for key in _KUBELET_SYSCTLS]


def holder(host: str) -> str:
    """The part whose process holds a host's namespaces."""
    return f"host-{host}"


def _program(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
