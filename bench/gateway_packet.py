"""The first packet of a connection through a gateway: how long TCP takes to connect, with so many Services there.

    client .2 --- 10.1.0.0/24 --- gateway .11 --- 10.2.0.0/24 --- .2 server, which has the endpoints of all Services

There is such a row for each size with a gateway of ours, one with one rule for each Service, and one with a gateway
that only forwards: all are there at once, and they take turns. One thread connects and accepts, so nobody has to be
woken up. What counts is the minimum: others on the machine can only make it slower.
"""

import random
import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from bench import cluster, inside
from bench.cluster import FEW, PORT, Cluster
from bench.inside import Inside
from bench.measure import Goal, Measured
from bench.one_agent import Bed, bed

SIZES = (10, 1_000, 10_000)
BLOCKS = 12
TIMES = 250
POSITIONS = ("first", "random", "last")
ENDPOINTS = "10.96.0.0/11"
BACKLOG = 64
LONGEST = 5.0
RESET = struct.pack("ii", 1, 0)
"""A socket that is closed leaves nothing behind."""
GOALS = (
    Goal("connect, first", growth=1.1),
    Goal("connect, random", growth=1.1),
    Goal("connect, last", growth=1.1),
)
MICRO = 1e-3

Target = tuple[str, int]


class Way(msgspec.Struct, frozen=True):
    """From a client through a gateway."""

    name: str
    size: int
    client: Inside
    listener: socket.socket
    services: tuple[Target, ...]

    def targets(self, position: str, count: int) -> list[Target]:
        chosen = random.Random(self.size)  # noqa: S311 - the same in each run, nothing secret
        match position:
            case "first":
                return count * [self.services[0]]
            case "last":
                return count * [self.services[-1]]
            case _:
                return chosen.choices(self.services, k=count)


def measure() -> Iterator[Measured]:
    with bed() as made:
        ways = list(_ways(made))
        seen = _turns(ways)
        for way in ways:
            way.listener.close()
    for (name, size, position), times in seen.items():
        sys.stderr.write(f"{name} {size} {position}: min {min(times)}, p50 {statistics.median(times):.0f} ns\n")
    yield from _measured(seen)


Seen = Mapping[tuple[str, int, str], Sequence[int]]


def _measured(seen: Seen) -> Iterator[Measured]:
    direct = seen["direct", 1, "last"]
    for size in SIZES:
        for position in POSITIONS:
            ours, rules = (seen[name, size, position] for name in ("ours", "rules"))
            for told, figure in (("connect", min), ("connect p50", statistics.median)):
                mine, theirs = (round(figure(each) * MICRO, 1) for each in (ours, rules))
                identity = f"{told}, {position} Service, one rule each"
                yield Measured(id=identity, size=size, ours=mine, peer=theirs, unit="us")
        mine, theirs = (round(min(each) * MICRO, 1) for each in (seen["ours", size, "last"], direct))
        yield Measured(id="connect, last Service, only forwarded", size=size, ours=mine, peer=theirs, unit="us")


def _turns(ways: Sequence[Way]) -> Seen:
    seen: dict[tuple[str, int, str], list[int]] = {}
    for block in range(BLOCKS):
        for way in ways if block % 2 == 0 else reversed(ways):
            for position in POSITIONS:
                found = way.client.do(_connects, way.listener, way.targets(position, TIMES))
                seen.setdefault((way.name, way.size, position), []).extend(found)
    return seen


def _ways(made: Bed) -> Iterator[Way]:
    for size in SIZES:
        wanted = Cluster(size, addresses=FEW)
        services = tuple((each.address, each.port) for each in wanted.forwards)
        client, listener = row(made, f"ours{size}")
        agent = made.started(f"ours{size}")
        agent.load(wanted)
        agent.settle()
        yield Way("ours", size, client, listener, services)
        client, listener = row(made, f"rules{size}")
        rules = cluster.one_rule_each(wanted.forwards)
        made.entered(f"rules{size}").do(inside.nft, rules, made.folder / "rules.nft")
        yield Way("rules", size, client, listener, services)
    client, listener = row(made, "plain")
    endpoint = Cluster(1, addresses=FEW).forwards[0].backends[0].address
    yield Way("direct", 1, client, listener, ((endpoint, PORT),))


def row(made: Bed, gateway: str) -> tuple[Inside, socket.socket]:
    """A gateway between a client and a server of its own; the client, and where the server listens."""
    client, server, spaces = f"{gateway}-client", f"{gateway}-server", made.spaces
    for name in (client, gateway, server):
        spaces.add(name)
    for end, interface, network in ((client, "eth0", "10.1.0"), (server, "eth1", "10.2.0")):
        pid = spaces.enter(gateway)[2]
        spaces.run(end, ["ip", "link", "add", "eth0", "type", "veth", "peer", "name", interface, "netns", pid])
        for name, link, host in ((end, "eth0", 2), (gateway, interface, 11)):
            spaces.run(name, ["ip", "address", "add", f"{network}.{host}/24", "dev", link])
            spaces.run(name, ["ip", "link", "set", link, "up"])
        spaces.run(end, ["ip", "route", "add", "default", "via", f"{network}.11"])
    spaces.run(gateway, ["sysctl", "-qw", "net.ipv4.ip_forward=1"])
    spaces.run(gateway, ["ip", "route", "add", ENDPOINTS, "via", "10.2.0.2"])
    spaces.run(server, ["ip", "route", "add", "local", ENDPOINTS, "dev", "lo"])
    return made.entered(client), made.entered(server).do(_listening)


def _listening() -> socket.socket:
    listener = socket.socket()
    listener.bind(("0.0.0.0", PORT))  # noqa: S104 - in a namespace of its own
    listener.listen(BACKLOG)
    return listener


def _connects(listener: socket.socket, targets: Sequence[Target]) -> list[int]:
    """Nanoseconds that each took."""
    found = []
    for target in targets:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.settimeout(LONGEST)
            begin = time.perf_counter_ns()
            client.connect(target)
            found.append(time.perf_counter_ns() - begin)
            listener.accept()[0].close()
    return found
