"""Two real agents in network namespaces of their own, between a client and backends, and nothing else.

    client .2 --- 10.1.0.0/24 and fd01::/64 --- gw1 .11, gw2 .12 --- 10.2.0.0/24 and fd02::/64 --- backends .21, .22

The backends' way out is an address that moves with those of the Services. There can be more backends, up to .100, and
the client has more addresses, .41 to .50. All backends are addresses of one host.
"""

import asyncio
import datetime as dt
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from mooring.cli import logs
from mooring.controller.agents import Agents
from mooring.core import editions, gateway_document
from mooring.core.ruleset import TABLES
from mooring.host.certificates import Authority, Role
from mooring.lab import waiting
from mooring.model.config import Log
from mooring.model.gateway import Document, Forward, Refusal, State, Vrrp
from mooring.wire.http import NotSent, Request, Response

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = "/usr/bin/python3"
MOORING = Path(sys.executable).with_name("mooring")
GATEWAYS = ("gw1", "gw2")
BACKENDS = {4: ("10.2.0.21", "10.2.0.22"), 6: ("fd02::21", "fd02::22")}
MANY = {4: tuple(f"10.2.0.{number}" for number in range(21, 101)), 6: tuple(f"fd02::{n}" for n in range(21, 101))}
CLIENTS = {4: tuple(f"10.1.0.{number}" for number in range(41, 51)), 6: tuple(f"fd01::{n}" for n in range(41, 51))}
WAYS_OUT = ("10.2.0.1", "fd02::1")
VIPS = {4: "10.1.0.100", 6: "fd01::100"}
FAMILY = {4: "ip", 6: "ip6"}
LIFE = dt.timedelta(days=2)
SEED = 7
LISTEN = "127.0.0.1:9443"
MONITORING = "127.0.0.1:9441"


def _at_once(address: str) -> list[str]:
    """Without it the kernel lets an address of IPv6 be used a moment after it was added, on a busy machine later."""
    return ["nodad"] if ":" in address else []


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
        # Bridged frames are nobody's packets, and no address is tried out before it counts.
        for setting in ("net.ipv6.conf.default.accept_dad=0", "net.ipv4.conf.all.rp_filter=0"):
            self.run(name, ["sysctl", "-qw", setting])

    def plug(self, name: str, interface: str, bridge: str, *addresses: str) -> None:
        """A cable from an interface to a bridge in `wire`."""
        far = f"{name}-{interface}"
        pid = self._holders[name].pid
        self.run("wire", ["ip", "link", "add", far, "type", "veth", "peer", "name", interface, "netns", str(pid)])
        self.run("wire", ["ip", "link", "set", far, "master", bridge, "up"])
        for address in addresses:
            self.run(name, ["ip", "address", "add", address, "dev", interface, *_at_once(address)])
        self.run(name, ["ip", "link", "set", interface, "up"])

    def address(self, name: str, *addresses: str, options: str = "") -> None:
        """More addresses for the front or back interface of a host, in networks that it has."""
        lines = (
            f"address add {each}/{64 if ':' in each else 24} dev eth0 {' '.join(_at_once(each))} {options}\n"
            for each in addresses
        )
        self.run(name, ["ip", "-batch", "-"], stdin="".join(lines))

    def unaddress(self, name: str, *addresses: str) -> None:
        lines = (f"address del {each}/{64 if ':' in each else 24} dev eth0\n" for each in addresses)
        self.run(name, ["ip", "-batch", "-"], stdin="".join(lines))

    def join(self, one: str, other: str, interface: str) -> None:
        """A cable between two hosts, of that name at both ends."""
        ends = [str(self._holders[each].pid) for each in (one, other)]
        peer = ["peer", "name", interface, "netns", ends[1]]
        self.run(one, ["ip", "link", "add", interface, "type", "veth", *peer])
        for each in (one, other):
            self.run(each, ["ip", "link", "set", interface, "up"])

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
        self._forwarding: dict[str, str] = {}
        self._configure()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

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

    def restart(self, **forwarding: str) -> None:
        """End and start, with other choices of the operator; keepalived goes on meanwhile."""
        self._forwarding = forwarding
        self._configure()
        if self.running:
            self.kill()
        self.start()

    def forwarding(self, **forwarding: str) -> None:
        """Let it be started with these choices of the operator, and no others."""
        if not self.running or self._forwarding != forwarding:
            self.restart(**forwarding)

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

    def table(self) -> str:
        """The table of ours that it has."""
        found = {each.split()[-1] for each in self.nft("list", "tables").splitlines()} & set(TABLES)
        assert len(found) == 1, found
        return found.pop()

    def nft(self, *words: str, stdin: str = "") -> str:
        return self._spaces.run(self.name, ["nft", *words], stdin=stdin)

    def listed(self, version: int, kind: str, name: str) -> str:
        """A map or set of ours, as nft prints it."""
        return self.nft("list", kind, FAMILY[version], self.table(), name)

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

    def _configure(self) -> None:
        folder = self.folder
        also = ", ".join(f'"{address} dev eth1"' for address in WAYS_OUT)
        tls = "\n".join(
            f'{key} = "{folder}/tls/{file}"'
            for key, file in (("ca", "ca.crt"), ("certificate", "tls.crt"), ("key", "tls.key"))
        )
        chosen = "".join(f'{key} = "{value}"\n' for key, value in self._forwarding.items())
        (folder / "mooring.toml").write_text(
            f'[tls]\n{tls}\n[agent]\nlisten = "{LISTEN}"\nstate = "{folder}/state"\n[vrrp]\nalso = [{also}]\n'
            f"[forwarding]\n{chosen}"
        )

    def call(self, request: Request) -> Response:
        """As a controller reaches it."""
        options = ["--request", request.method, "--write-out", "\n%{http_code}"]
        options += ["--data-binary", "@-"] if request.writes else []
        body, _, status = self._call(request.path, *options, stdin=request.body.decode()).rpartition("\n")
        if not int(status or 0):
            raise NotSent(f"{self.name} does not answer")
        return Response(int(status), body=body.encode())

    def _call(self, path: str, *options: str, stdin: str = "") -> str:
        command = [*self._spaces.enter(self.name), *self._curl(path, *options)]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False).stdout

    def _curl(self, path: str, *options: str) -> list[str]:
        own = self.folder / "controller"
        tls = ["--cacert", f"{own}/ca.crt", "--cert", f"{own}/tls.crt", "--key", f"{own}/tls.key"]
        return ["curl", "--silent", "--max-time", "10", *tls, *options, f"https://{LISTEN}{path}"]


class Wire:
    """A controller's way to an agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def send(self, request: Request) -> Response:
        return await asyncio.to_thread(self._agent.call, request)


class Program:
    """A program that is spoken to by its input and output."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def hear(self) -> str:
        """Its next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def say(self, words: str = "") -> None:
        """Say a line, without waiting for the answer."""
        print(words, file=self._process.stdin, flush=True)

    def ask(self, words: str = "") -> str:
        """Say a line; the answer."""
        self.say(words)
        return self.hear()

    def end(self) -> list[str]:
        """End its input; all that it has still to say, with what came beside a line that was heard."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        said = self._process.stdout.read().splitlines()
        self._process.wait()
        return said


class TwoGateways:
    """The whole picture."""

    def __init__(self, folder: Path, *, backends: int = 2) -> None:
        self.spaces = Namespaces()
        self.generation = 0
        self._backends = [*MANY[4][:backends], *MANY[6][:backends]]
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
        self.spaces.plug("backends", "eth0", "back")
        self.spaces.address("backends", *self._backends)
        # Nobody sends from these who does not ask for it.
        self.spaces.address("client", *CLIENTS[4], *CLIENTS[6], options="preferred_lft 0")
        for way_out in WAYS_OUT:
            self.spaces.run("backends", ["ip", "route", "add", "default", "via", way_out])
        self.serve("backends", *self._backends)

    def serve(self, where: str, *addresses: str, port: int = 8080) -> None:
        """Have `who` answer at a port of some addresses."""
        command = [PYTHON, str(PROGRAMS / "who.py"), str(port), *addresses]
        server = subprocess.Popen([*self.spaces.enter(where), *command], stdout=subprocess.PIPE)
        self._servers.append(server)
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"

    def tell(self, *forwards: Forward) -> Document:
        """Let all agents that run take the next document; returns it."""
        return self.tell_as_it_is(*sorted(forwards))

    def tell_as_it_is(self, *forwards: Forward) -> Document:
        """The same, in that very order."""
        self.generation += 1
        digest = gateway_document.digest(forwards, SEED)
        wanted = Document(1, self.generation, digest, forwards, SEED)
        for agent in self.agents:
            if agent.running:
                answer = agent.put(wanted)
                assert isinstance(answer, State), answer
                assert answer.held == wanted.held, answer
        return wanted

    @contextmanager
    def led(self, document: Document) -> Iterator[Callable[[Document], object]]:
        """A leader, with all that follows from the answers, until the block ends; it can be given a newer document."""
        log = logs.make(Log(level="error"), sys.stderr)
        leader = Agents({each.name: Wire(each) for each in self.agents}, log)
        loop = asyncio.new_event_loop()
        leader.tell(editions.of(document))
        task = loop.create_task(leader.run(lambda: None, every=1.0))
        thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([task])))
        thread.start()
        try:
            waiting.until(lambda: not any(each.stale() for each in self.agents), seconds=15, what="both to be fresh")
            yield lambda newer: loop.call_soon_threadsafe(leader.tell, editions.of(newer))
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join(15)
            loop.close()

    def holder(self) -> Agent:
        """The gateway that has the addresses; one of them has."""
        found = [agent for agent in self.agents if VIPS[4] in agent.addresses()]
        assert len(found) == 1, f"{len(found)} gateways have {VIPS[4]}"
        return found[0]

    def asked(
        self,
        protocol: str,
        address: str,
        port: int,
        *options: str,
        count: int = 1,
        who: str = "client",
    ) -> list[str]:
        """What the client gets to hear, or whoever asks."""
        command = [PYTHON, str(PROGRAMS / "ask.py"), *options, protocol.lower(), address, str(port), str(count)]
        return self.spaces.run(who, command).splitlines()

    @contextmanager
    def program(self, name: str, *words: str, who: str = "client") -> Iterator["Program"]:
        """A program of ours that is spoken to, until the block ends."""
        command = [*self.spaces.enter(who), PYTHON, "-u", str(PROGRAMS / name), *words]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
            try:
                yield Program(process)
            finally:
                process.kill()

    def end(self) -> None:
        for agent in self.agents:
            agent.end()
        for server in self._servers:
            server.kill()
            server.communicate()
        self.spaces.end()


def document(generation: int, *forwards: Forward, epoch: int = 1) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=SEED)


def _namespace(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""
