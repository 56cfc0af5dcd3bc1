"""Two real agents in network namespaces of their own, between a client and backends, and nothing else.

    client .2 --- 10.1.0.0/24 and fd01::/64 --- gw1 .11, gw2 .12 --- 10.2.0.0/24 and fd02::/64 --- backends .21, .22

The backends' way out is an address that moves with those of the Services.
"""

import datetime as dt
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from mooring.core import gateway_document
from mooring.host.certificates import Authority, Role
from mooring.lab import waiting
from mooring.model.gateway import Document, Forward, Refusal, State, Vrrp

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = "/usr/bin/python3"
MOORING = Path(sys.executable).with_name("mooring")
GATEWAYS = ("gw1", "gw2")
BACKENDS = {4: ("10.2.0.21", "10.2.0.22"), 6: ("fd02::21", "fd02::22")}
WAYS_OUT = ("10.2.0.1", "fd02::1")
VIPS = {4: "10.1.0.100", 6: "fd01::100"}
LIFE = dt.timedelta(days=2)
LISTEN = "127.0.0.1:9443"
MONITORING = "127.0.0.1:9441"


class Namespaces:
    """Network namespaces, each held by a process that sleeps, joined by one that holds the bridges."""

    def __init__(self) -> None:
        self._holders: dict[str, subprocess.Popen[bytes]] = {}

    def add(self, name: str) -> None:
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self._holders[name] = holder
        own = _namespace(os.getpid())
        waiting.until(lambda: _namespace(holder.pid) not in ("", own), seconds=10, what=f"the namespace of {name}")
        self.run(name, ["ip", "link", "set", "lo", "up"])
        # Bridged frames are nobody's packets, and addresses count at once.
        for setting in ("net.ipv6.conf.default.accept_dad=0", "net.ipv4.conf.all.rp_filter=0"):
            self.run(name, ["sysctl", "-qw", setting])

    def plug(self, name: str, interface: str, bridge: str, *addresses: str) -> None:
        """A cable from an interface to a bridge in `wire`."""
        far = f"{name}-{interface}"
        pid = self._holders[name].pid
        self.run("wire", ["ip", "link", "add", far, "type", "veth", "peer", "name", interface, "netns", str(pid)])
        self.run("wire", ["ip", "link", "set", far, "master", bridge, "up"])
        for address in addresses:
            self.run(name, ["ip", "address", "add", address, "dev", interface])
        self.run(name, ["ip", "link", "set", interface, "up"])

    def enter(self, name: str) -> list[str]:
        return ["nsenter", "--target", str(self._holders[name].pid), "--net", "--"]

    def run(self, name: str, argv: Sequence[str | Path], *, stdin: str = "") -> str:
        command = [*self.enter(name), *argv]
        run = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{command}: {run.stderr}"
        return run.stdout

    def end(self) -> None:
        for holder in self._holders.values():
            holder.kill()
            holder.wait()


class Agent:
    """The agent of one gateway, and the controller's part in the conversation with it."""

    def __init__(self, spaces: Namespaces, name: str, folder: Path, authority: Authority) -> None:
        self.name = name
        self.folder = folder
        self._spaces = spaces
        self._process: subprocess.Popen[bytes] | None = None
        authority.issue_to(folder / "tls", Role.AGENT, name, addresses=["127.0.0.1"], life=LIFE)
        authority.issue_to(folder / "controller", Role.CONTROLLER, "controller", addresses=[], life=LIFE)
        also = ", ".join(f'"{address} dev eth1"' for address in WAYS_OUT)
        tls = "\n".join(
            f'{key} = "{folder}/tls/{file}"'
            for key, file in (("ca", "ca.crt"), ("certificate", "tls.crt"), ("key", "tls.key"))
        )
        (folder / "mooring.toml").write_text(
            f'[tls]\n{tls}\n[agent]\nlisten = "{LISTEN}"\nstate = "{folder}/state"\n[vrrp]\nalso = [{also}]\n'
        )

    def start(self) -> None:
        command = [*self._spaces.enter(self.name), str(MOORING), "agent", "--config", str(self.folder / "mooring.toml")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        waiting.until(lambda: self.state() is not None, seconds=20, what=f"{self.name} to answer: {self.log()}")

    def send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self, number: int = signal.SIGKILL) -> int:
        """End the agent; its status."""
        self.send(number)
        assert self._process is not None
        return self._process.wait(10)

    def put(self, document: Document) -> State | Refusal:
        body = msgspec.json.encode(document).decode()
        told = self._call("/v1/document", "--request", "PUT", "--data-binary", "@-", stdin=body)
        if '"held"' in told:
            return msgspec.json.decode(told, type=State)
        return msgspec.json.decode(told, type=Refusal)

    def state(self) -> State | None:
        told = self._call("/v1/state")
        return msgspec.json.decode(told, type=State) if told else None

    def vrrp(self) -> Vrrp:
        state = self.state()
        return Vrrp.UNKNOWN if state is None else state.vrrp

    def stale(self) -> bool:
        state = self.state()
        return state is None or state.stale

    def monitored(self, page: str) -> str:
        command = ["curl", "--silent", "--max-time", "5", f"http://{MONITORING}/{page}"]
        return self._spaces.run(self.name, command)

    @contextmanager
    def heartbeats(self, document: Document) -> Iterator[None]:
        """A heartbeat every second, as a leader would send them, until the block ends."""
        beat = f'{{"epoch": {document.epoch}, "generation": {document.generation}}}'
        script = (
            f"while true; do {' '.join(self._curl('/v1/heartbeat', '--data', repr(beat)))} >/dev/null; sleep 1; done"
        )
        process = subprocess.Popen([*self._spaces.enter(self.name), "sh", "-c", script], process_group=0)
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def addresses(self) -> set[str]:
        told = self._spaces.run(self.name, ["ip", "-json", "address", "show", "dev", "eth0"])
        return {each["local"] for link in msgspec.json.decode(told) for each in link["addr_info"]}

    def keepalived(self) -> int:
        """The pid of its keepalived; 0, if there is none."""
        with suppress(OSError, ValueError):
            pid = int((self.folder / "state" / "keepalived.pid").read_text())
            return pid if b"keepalived" in Path(f"/proc/{pid}/cmdline").read_bytes() else 0
        return 0

    def log(self) -> str:
        file = self.folder / "log"
        return file.read_text() if file.exists() else ""

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        for name in ("keepalived.vrrp.pid", "keepalived.pid"):
            with suppress(OSError, ValueError):
                os.kill(int((self.folder / "state" / name).read_text()), signal.SIGKILL)

    def _call(self, path: str, *options: str, stdin: str = "") -> str:
        command = [*self._spaces.enter(self.name), *self._curl(path, *options)]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False).stdout

    def _curl(self, path: str, *options: str) -> list[str]:
        own = self.folder / "controller"
        tls = ["--cacert", f"{own}/ca.crt", "--cert", f"{own}/tls.crt", "--key", f"{own}/tls.key"]
        return ["curl", "--silent", "--max-time", "10", *tls, *options, f"https://{LISTEN}{path}"]


class TwoGateways:
    """The whole picture."""

    def __init__(self, folder: Path) -> None:
        self.spaces = Namespaces()
        self._servers: list[subprocess.Popen[bytes]] = []
        authority = Authority(folder / "authority")
        authority.create()
        for name in GATEWAYS:
            (folder / name).mkdir()
        self.agents = [Agent(self.spaces, name, folder / name, authority) for name in GATEWAYS]

    def create(self) -> None:
        for name in ("wire", "client", "backends", *GATEWAYS):
            self.spaces.add(name)
        for bridge in ("front", "back"):
            self.spaces.run("wire", ["ip", "link", "add", bridge, "type", "bridge"])
            self.spaces.run("wire", ["ip", "link", "set", bridge, "up"])
        self.spaces.plug("client", "eth0", "front", "10.1.0.2/24", "fd01::2/64")
        for number, name in enumerate(GATEWAYS, 11):
            self.spaces.plug(name, "eth0", "front", f"10.1.0.{number}/24", f"fd01::{number}/64")
            self.spaces.plug(name, "eth1", "back", f"10.2.0.{number}/24", f"fd02::{number}/64")
        addresses = [f"{each}/24" for each in BACKENDS[4]] + [f"{each}/64" for each in BACKENDS[6]]
        self.spaces.plug("backends", "eth0", "back", *addresses)
        for way_out in WAYS_OUT:
            self.spaces.run("backends", ["ip", "route", "add", "default", "via", way_out])
        self.serve("backends", *BACKENDS[4], *BACKENDS[6])

    def serve(self, where: str, *addresses: str) -> None:
        """Have `who` answer at port 8080 of some addresses."""
        command = [PYTHON, str(PROGRAMS / "who.py"), "8080", *addresses]
        server = subprocess.Popen([*self.spaces.enter(where), *command], stdout=subprocess.PIPE)
        self._servers.append(server)
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"

    def asked(self, protocol: str, address: str, port: int, *, count: int = 1, who: str = "client") -> list[str]:
        """What the client gets to hear, or whoever asks."""
        command = [PYTHON, str(PROGRAMS / "ask.py"), protocol, address, str(port), str(count)]
        return self.spaces.run(who, command).splitlines()

    def end(self) -> None:
        for agent in self.agents:
            agent.end()
        for server in self._servers:
            server.kill()
            server.communicate()
        self.spaces.end()


def document(generation: int, *forwards: Forward, epoch: int = 1) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=7)


def _namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""
