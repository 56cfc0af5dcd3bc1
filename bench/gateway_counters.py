"""What it costs a packet to be counted: a question and its answer on an open connection, through a gateway.

There is a gateway for each choice of `forwarding.counters`, and one that only forwards; they take turns. One thread
asks and answers. What counts is the minimum: others on the machine can only make it slower.
"""

import socket
import statistics
import sys
import time
from collections.abc import Iterator

from bench.cluster import FEW, PORT, Cluster
from bench.gateway_packet import row
from bench.inside import Inside
from bench.measure import Measured
from bench.one_agent import Bed, bed
from mooring.core import gateway_document, ruleset
from mooring.core.elements import InForce
from mooring.core.ruleset import Mode, Skeleton
from mooring.host.nftables import Nftables

MODES = {
    "connections": Mode(counters="connections"),
    "bytes": Mode(counters="bytes"),
    "endpoints": Mode(counters="endpoints"),
}
PLAIN = "plain"
SERVICES = 1_000
BLOCKS = 12
TIMES = 1_000
MICRO = 1e-3
QUESTION = b"x" * 64

Pair = tuple[Inside, socket.socket, socket.socket]


def measure() -> Iterator[Measured]:
    with bed() as made:
        pairs = {name: _pair(made, name) for name in (*MODES, PLAIN)}
        seen: dict[str, list[int]] = {name: [] for name in pairs}
        for block in range(BLOCKS):
            for name in pairs if block % 2 == 0 else reversed(pairs):
                client, asking, answering = pairs[name]
                seen[name] += client.do(_asked, asking, answering)
        for _, *sockets in pairs.values():
            for each in sockets:
                each.close()
    for name, times in seen.items():
        sys.stderr.write(f"{name}: min {min(times)}, p50 {statistics.median(times):.0f} ns\n")
    for name in MODES:
        mine, theirs = (round(min(seen[each]) * MICRO, 2) for each in (name, PLAIN))
        yield Measured(id=f"round trip, {name} counted", size=SERVICES, ours=mine, peer=theirs, unit="us")


def _pair(made: Bed, name: str) -> Pair:
    """Both ends of a connection through a gateway."""
    wanted = Cluster(SERVICES, addresses=FEW)
    client, listener = row(made, f"counts-{name}")
    service = wanted.forwards[SERVICES // 2]
    target = (service.backends[0].address, PORT)
    if name != PLAIN:
        made.entered(f"counts-{name}").do(_load, name, wanted)
        target = (service.address, service.port)
    asking = client.do(socket.create_connection, target, 5)
    answering, _ = listener.accept()
    listener.close()
    for each in (asking, answering):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client, asking, answering


def _load(name: str, wanted: Cluster) -> None:
    mode = MODES[name]
    in_force = InForce(mode)
    in_force.follow(gateway_document.by_place(wanted.forwards))
    nft = Nftables()
    nft.run(ruleset.table("mooring_a", Skeleton(1, 64, mode)))
    nft.fill("mooring_a", in_force.elements())
    nft.switch("mooring_a", "mooring_b")
    nft.close()


def _asked(asking: socket.socket, answering: socket.socket) -> list[int]:
    """Nanoseconds that each took."""
    found = []
    for _ in range(TIMES):
        begin = time.perf_counter_ns()
        asking.send(QUESTION)
        answering.recv(len(QUESTION))
        answering.send(QUESTION)
        asking.recv(len(QUESTION))
        found.append(time.perf_counter_ns() - begin)
    return found
