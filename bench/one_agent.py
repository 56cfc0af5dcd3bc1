"""A real agent with its keepalived, alone in a network namespace, and a controller's connection to it that stays open.

What it costs is the CPU time of its process: the kernel's work for a change is done within it, and counts. That of
keepalived does not.
"""

import contextlib
import http.client
import ssl
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from bench.cluster import Cluster
from bench.inside import Cost, Inside
from mooring.core import gateway_document
from mooring.host.certificates import Authority
from mooring.host.nftables import Nftables
from mooring.lab import waiting
from mooring.model.gateway import Delta, Held, Vrrp
from tests.lab.two_gateways import LISTEN, Agent, Namespaces

SEED = 7
LONGEST = 120.0
PATIENCE = 60.0
OK = 200
CPU_OF_A_PROCESS = 2
"""What the kernel calls the clock that runs while a process does."""


class OneAgent(Agent):
    """`cluster` is what it is told of."""

    def __init__(self, spaces: Namespaces, name: str, folder: Path, authority: Authority) -> None:
        super().__init__(spaces, name, folder, authority)
        self.inside = Inside(spaces, name)
        self.cluster = Cluster(0, addresses=1)
        self._held = Held()
        self._connection: http.client.HTTPSConnection | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("it was not started")
        return self._process.pid

    def cpu(self) -> float:
        """Seconds that all its threads together have run."""
        return time.clock_gettime(~self.pid << 3 | CPU_OF_A_PROCESS)

    def memory(self) -> float:
        """MiB that it has now."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(each.split()[1]) for each in lines if each.startswith("VmRSS")) / 1024

    def load(self, cluster: Cluster) -> Cost:
        """Tell it of everything, until its answer."""
        generation = self._held.generation + 1
        document = gateway_document.document(cluster.forwards, epoch=1, generation=generation, seed=SEED)
        cost = self._timed("PUT", msgspec.json.encode(document))
        self.cluster, self._held = cluster, document.held
        return cost

    def change(self) -> Cost:
        """Tell it that an endpoint has moved, until its answer."""
        old, new = self.cluster.move()
        digest = gateway_document.digest_after(self._held.digest, [old], [new])
        delta = Delta(self._held, 1, self._held.generation + 1, digest, (new,))
        self._held = delta.held
        return self._timed("PATCH", msgspec.json.encode(delta))

    def settle(self) -> None:
        """Wait until keepalived has done its part: it holds all addresses, and goes on doing so."""
        wanted = {each.address for each in self.cluster.forwards}

        def settled() -> bool:
            time.sleep(1.0)
            return self.vrrp() is Vrrp.MASTER and wanted <= self.addresses()

        waiting.until(lambda: all(settled() for _ in range(3)), seconds=PATIENCE, what="it to hold the addresses")

    def check(self) -> None:
        """See whether the kernel has all Services and their endpoints."""
        backends = sum(len(each.backends) for each in self.cluster.forwards)
        wanted = {"services": len(self.cluster.forwards), "be": backends}
        found = self.inside.do(_counted, tuple(wanted))
        if found != wanted:
            raise RuntimeError(f"the kernel has {found} of {wanted}")

    def end(self) -> None:
        super().end()
        self.inside.end()

    def _timed(self, method: str, body: bytes) -> Cost:
        return self.inside.do(self._told, method, body)

    def _told(self, method: str, body: bytes) -> Cost:
        connection = self._connection or self._connected()
        cpu, begin = self.cpu(), time.perf_counter()
        connection.request(method, "/v1/document", body)
        response = connection.getresponse()
        content = response.read()
        cost = Cost(self.cpu() - cpu, time.perf_counter() - begin)
        if response.status != OK:
            raise NotTaken(f"{response.status}: {content[:500].decode()}")
        return cost

    def _connected(self) -> http.client.HTTPSConnection:
        own = self.folder / "controller"
        tls = ssl.create_default_context(cafile=str(own / "ca.crt"))
        tls.load_cert_chain(str(own / "tls.crt"), str(own / "tls.key"))
        host, _, port = LISTEN.partition(":")
        self._connection = http.client.HTTPSConnection(host, int(port), context=tls, timeout=LONGEST)
        return self._connection


def _counted(names: Iterable[str]) -> dict[str, int]:
    """How many elements some maps have, of the table that is in force."""
    nft = Nftables()
    try:
        (table,) = (name for (family, name), on in nft.tables().items() if family == "ip" and on)
        return {name: sum(1 for _ in nft.elements("ip", table, name)) for name in names}
    finally:
        nft.close()


class NotTaken(Exception):
    """The agent refused what it was told."""


class Bed:
    """Namespaces for agents, each alone on a network of its own, and for others."""

    def __init__(self, folder: Path) -> None:
        self.spaces = Namespaces()
        self.folder = folder
        self._authority = Authority(folder / "authority")
        self._authority.create()
        self._agents: list[OneAgent] = []
        self._others: list[Inside] = []
        self.spaces.add("wire")

    def agent(self, name: str) -> OneAgent:
        """One that serves nothing yet, and is master."""
        self.spaces.add(name)
        for interface, address in (("eth0", "10.1.0.11/24"), ("eth1", "10.2.0.11/24")):
            bridge = f"{name}-{interface[-1]}"
            self.spaces.run("wire", ["ip", "link", "add", bridge, "type", "bridge"])
            self.spaces.run("wire", ["ip", "link", "set", bridge, "up"])
            self.spaces.plug(name, interface, bridge, address)
        return self.started(name)

    def started(self, name: str) -> OneAgent:
        """The same in a namespace that is there, with an eth0 and an eth1."""
        (self.folder / name).mkdir()
        agent = OneAgent(self.spaces, name, self.folder / name, self._authority)
        self._agents.append(agent)
        agent.start()
        waiting.until(lambda: agent.vrrp() is Vrrp.MASTER, seconds=PATIENCE, what=f"{name} to be master")
        return agent

    def other(self, name: str) -> Inside:
        self.spaces.add(name)
        return self.entered(name)

    def entered(self, name: str) -> Inside:
        inside = Inside(self.spaces, name)
        self._others.append(inside)
        return inside

    def end(self) -> None:
        for agent in self._agents:
            agent.end()
        for inside in self._others:
            inside.end()
        self.spaces.end()


@contextlib.contextmanager
def bed() -> Iterator[Bed]:
    with tempfile.TemporaryDirectory() as name:
        made = Bed(Path(name))
        try:
            yield made
        finally:
            made.end()
