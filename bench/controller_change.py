"""An endpoint of a Service moves: from the API server's event until a packet reaches the new one.

    client --- gateway --- server, which has all endpoints

There are three such rows: one with a real controller and a real agent in it, and two with kube-proxy in nftables mode,
as it comes, and without its pause between two changes. All follow the same API server, which holds their events back
while it is another one's turn. What counts is the CPU time of all processes of a row, and of those that they start.
"""

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import gateway_packet, moored
from bench.controlled import PATIENCE, Controller, World
from bench.inside import Inside
from bench.measure import Goal, Measured
from bench.one_agent import Bed, bed
from bench.world import Options
from mooring.lab import waiting
from mooring.lab.assets import golang
from mooring.lab.cage import hierarchy
from tests.lab.two_gateways import LISTEN

TIMES = {10: 12, 100: 12, 1_000: 8, 10_000: 4}
"""How often an endpoint moves in each round."""
ROUNDS = 2
MANAGEMENT = "10.9.0"
PAUSE = 0.001
SMALLEST_PAUSE = "1ms"
"""Of kube-proxy. 0 means what it does without being told: a second."""
GOALS = (
    Goal("endpoint moves, CPU, kube-proxy at once", ratio=5.0, size=10_000),
    Goal("endpoint moves, time, kube-proxy", ratio=5.0, size=10_000),
)
MILLI = 1e3


class Row(Struct, frozen=True):
    """A client, a gateway and a server. `group` has all processes of the gateway."""

    peer: str
    client: Inside
    listener: socket.socket
    targets: tuple[tuple[str, int], ...]
    group: Path

    def reached(self, number: int) -> str:
        """The endpoint that a connection to a Service gets to; nothing, if it gets nowhere."""
        return self.client.do(_reached, self.listener, self.targets[number])

    def cpu(self) -> float:
        words = (self.group / "cpu.stat").read_text().split()
        return int(words[words.index("usage_usec") + 1]) / 1e6


class Moves(Struct):
    seconds: list[float] = msgspec.field(default_factory=list)
    cpu: list[float] = msgspec.field(default_factory=list)


FIGURES: tuple[tuple[str, str, Callable[[Moves], float]], ...] = (
    ("CPU", "ms CPU", lambda each: statistics.mean(each.cpu)),
    ("time", "ms", lambda each: statistics.median(each.seconds)),
    ("longest time", "ms", lambda each: max(each.seconds)),
)


def measure() -> Iterator[Measured]:
    for size, times in TIMES.items():
        yield from measured(size, times)


def measured(size: int, times: int) -> Iterator[Measured]:
    with bed() as made:
        world = _world(made, size)
        rows: dict[str, Row] = {}
        ends: list[Callable[[], object]] = [world.end]
        try:
            rows["ours"] = _ours(made, world, ends)
            for name, pause in (("kube-proxy", ""), ("kube-proxy at once", SMALLEST_PAUSE)):
                rows[name] = _kube_proxy(made, world, name, pause, ends)
            seen = _turns(world, rows, times)
        finally:
            for end in reversed(ends):
                end()
    for peer in ("kube-proxy", "kube-proxy at once"):
        yield from _compared(size, seen["ours"], seen[peer], peer)


def _compared(size: int, ours: Moves, theirs: Moves, peer: str) -> Iterator[Measured]:
    for what, unit, figure in FIGURES:
        mine, other = (round(figure(each) * MILLI, 2) for each in (ours, theirs))
        yield Measured(id=f"endpoint moves, {what}, {peer}", size=size, ours=mine, peer=other, unit=unit)


def _turns(world: World, rows: Mapping[str, Row], times: int) -> dict[str, Moves]:
    seen = {name: Moves() for name in rows}
    for turn in range(ROUNDS):
        for name in rows if turn % 2 == 0 else reversed(list(rows)):
            world.ask("hold", peers=[_host(number) for number, each in enumerate(rows, 2) if each != name])
            _round(world, rows[name], times, seen[name])
            sys.stderr.write(f"{name}: {seen[name]}\n")
    return seen


def _round(world: World, row: Row, times: int, seen: Moves) -> None:
    """The first moves bring it up to date, and do not count."""
    for number in range(moved := moored.TO_PROBE):
        _moved(world, row, number)
    for turn in range(times):
        begin = row.cpu()
        seen.seconds.append(_moved(world, row, turn % moved))
        time.sleep(PAUSE)
        seen.cpu.append(row.cpu() - begin)


def _moved(world: World, row: Row, number: int) -> float:
    told = world.ask("move", number=number)
    waiting.until(
        lambda: row.reached(number) == told["endpoint"],
        seconds=PATIENCE,
        what=f"a packet by {row.peer}",
        interval=PAUSE,
    )
    return time.monotonic() - float(told["at"])


def _world(made: Bed, size: int) -> World:
    made.spaces.run("wire", ["ip", "link", "add", "mgmt", "type", "bridge"])
    made.spaces.run("wire", ["ip", "address", "add", f"{MANAGEMENT}.1/24", "dev", "mgmt"])
    made.spaces.run("wire", ["ip", "link", "set", "mgmt", "up"])
    return World(Options(size, listen=f"{MANAGEMENT}.1"), before=made.spaces.enter("wire"))


def _row(made: Bed, name: str, number: int, peer: str, targets: Sequence[tuple[str, int]]) -> Row:
    client, listener = gateway_packet.row(made, name)
    made.spaces.plug(name, "eth2", "mgmt", f"{_host(number)}/24")
    group = hierarchy() / f"bench-{name}-{listener.fileno()}"
    group.mkdir(exist_ok=True)
    return Row(peer, client, listener, tuple(targets), group)


def _ours(made: Bed, world: World, ends: list[Callable[[], object]]) -> Row:
    row = _row(made, "ours", 2, "Mooring", [(inner, port) for _, inner, port in world.targets])
    agent = made.started("ours")
    tls = made.folder / "ours" / "controller"
    controller = Controller(world, made.folder / "led", [LISTEN], tls, before=made.spaces.enter("ours"))
    ends += [lambda: _left(row.group), agent.end, controller.end]
    for pid in (agent.pid, agent.keepalived(), controller.pid):
        _enter(row.group, pid)
    _serves(row, controller.log)
    return row


def _kube_proxy(made: Bed, world: World, name: str, pause: str, ends: list[Callable[[], object]]) -> Row:
    number = 4 if pause else 3
    space = f"proxy{number}"
    row = _row(made, space, number, name, [(ip, port) for ip, _, port in world.targets])
    folder = made.folder / space
    folder.mkdir(exist_ok=True)
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": moored.NODE,
        "bindAddress": _host(number),
        "clientConnection": {
            "kubeconfig": str(world.kubeconfig(folder / "kubeconfig")),
            "contentType": "application/json",
            "acceptContentTypes": "application/json",
        },
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "oomScoreAdj": 0,
        **({"nftables": {"minSyncPeriod": pause}} if pause else {}),
    }
    (folder / "config").write_bytes(msgspec.json.encode(settings))
    program = golang.folder_of("kube-proxy") / "kube-proxy"
    with (folder / "log").open("wb") as log:
        command = [*made.spaces.enter(space), str(program), f"--config={folder / 'config'}"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    ends += [lambda: _left(row.group), process.wait, process.kill]
    _enter(row.group, process.pid)
    _serves(row, folder / "log")
    return row


def _serves(row: Row, log: Path) -> None:
    """Wait until it does."""

    def does() -> bool:
        return all(row.reached(number) for number in range(len(row.targets)))

    try:
        waiting.until(does, seconds=PATIENCE, what=f"{row.peer} to serve")
    except Exception:
        sys.stderr.write(log.read_text()[-3000:])
        raise


def _enter(group: Path, pid: int) -> None:
    if pid:
        (group / "cgroup.procs").write_text(str(pid))


def _left(group: Path) -> None:
    """All processes of a group have ended, or end with their namespaces; it goes when they have."""
    waiting.until(lambda: _removed(group), seconds=10, what=f"{group} to be empty")


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True


def _host(number: int) -> str:
    return f"{MANAGEMENT}.{number}"


def _reached(listener: socket.socket, target: tuple[str, int]) -> str:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, gateway_packet.RESET)
        client.settimeout(0.2)
        try:
            client.connect(target)
        except OSError:
            return ""
        accepted, _ = listener.accept()
        with accepted:
            return str(accepted.getsockname()[0])
