"""What packets meet at a gateway: whom they reach, who is refused, and what an operator or an intruder can change."""

import collections
import ipaddress
import itertools
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import msgspec
import pytest

from mooring.core import affinity
from mooring.core.ruleset import FEWEST_CHAINS, TABLES
from mooring.lab import waiting
from mooring.model.gateway import Backend, Forward, Vrrp
from tests.lab import steadily
from tests.lab.two_gateways import (
    CLIENTS,
    FAMILY,
    MANY,
    PROGRAMS,
    PYTHON,
    SEED,
    VIPS,
    WAYS_OUT,
    Agent,
    Program,
    TwoGateways,
)

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables and keepalived

OTHERS = {4: "10.1.0.101", 6: "fd01::101"}
"""A second address."""
SPREAD = (1, 2, 3, 7, 16)
PER_BACKEND = 60
LIMITS = {1: 0.0, 2: 10.8, 3: 13.8, 7: 22.5, 16: 37.7}
"""Chi-square of a fair choice is above that once in a thousand times. What we ask is always the same."""
FIRST_PORT = 20000
NOTICED = 15.0
both_families = pytest.mark.parametrize("version", [4, 6])
both_protocols = pytest.mark.parametrize("protocol", ["TCP", "UDP"])


def service(  # noqa: PLR0913 - each is a fact of its own
    version: int,
    protocol: str = "TCP",
    *,
    count: int = 2,
    first: int = 0,
    port: int = 80,
    address: str = "",
    **more: object,
) -> Forward:
    backends = tuple(Backend(each, 8080) for each in MANY[version][first : first + count])
    plain = Forward(address or VIPS[version], protocol, port, f"shop/{protocol.lower()}{version}-{port}", backends)
    return msgspec.structs.replace(plain, **more)


def without(forward: Forward, *addresses: str) -> Forward:
    kept = tuple(each for each in forward.backends if each.address not in addresses)
    return msgspec.structs.replace(forward, backends=kept)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoGateways]:
    world = TwoGateways(tmp_path_factory.mktemp("world"), backends=len(MANY[4]))
    try:
        world.create()
        yield world
    finally:
        world.end()


@pytest.fixture
def world(made: TwoGateways) -> TwoGateways:
    """One gateway, that holds the addresses, serves nothing and remembers nothing."""
    return with_choices(made)


def with_choices(world: TwoGateways, **forwarding: str) -> TwoGateways:
    agent = world.agents[0]
    agent.forwarding(**forwarding)
    waiting.until(lambda: agent.vrrp() is Vrrp.MASTER, seconds=10, what="it to be master")
    world.tell(*(service(version, count=0, port=9) for version in VIPS))
    flushed(world)
    return world


def flushed(world: TwoGateways) -> None:
    """It knows of no connection."""
    subprocess.run([*world.spaces.enter(agent_of(world).name), "conntrack", "-F"], capture_output=True, check=True)


def agent_of(world: TwoGateways) -> Agent:
    return world.agents[0]


def backends_of(answers: list[str]) -> list[str]:
    """Who answered; all did."""
    assert not {"refused", "silence"} & set(answers), answers
    return [each.split()[0] for each in answers]


def chosen(world: TwoGateways, forward: Forward, *, source: str = "", count: int = 1) -> set[str]:
    options = ["--source", source] if source else []
    return set(backends_of(world.asked(forward.protocol, forward.address, forward.port, *options, count=count)))


# Who is chosen


@both_families
@both_protocols
def test_every_backend_gets_its_share(world: TwoGateways, version: int, protocol: str) -> None:
    first = FIRST_PORT
    for number in SPREAD:
        forward = service(version, protocol, count=number)
        world.tell(forward)
        options = ("--source", CLIENTS[version][0], "--ports", str(first))
        count = PER_BACKEND * number
        answers = world.asked(protocol, forward.address, forward.port, *options, count=count)
        found = collections.Counter(backends_of(answers))
        assert set(found) == {each.address for each in forward.backends}
        unevenness = sum((each - PER_BACKEND) ** 2 / PER_BACKEND for each in found.values())
        print(f"{protocol}{version}, {number} backends: {min(found.values())}..{max(found.values())}, {unevenness:.1f}")  # noqa: T201 - figures
        assert unevenness <= LIMITS[number]
        first += count


def test_the_order_of_a_document_does_not_matter(world: TwoGateways) -> None:
    forwards = [service(v, p, port=port) for v in (4, 6) for p in ("TCP", "UDP") for port in (80, 81)]
    forwards.append(service(6, port=82, address=OTHERS[6], sources=("fd01::/64", "fd09::/16")))
    sticky = service(4, port=82, count=5, affinity=30, sources=("10.1.0.0/24", "10.9.0.0/16"))
    other = msgspec.structs.replace(sticky, backends=sticky.backends[::-1], sources=sticky.sources[::-1])
    agent = agent_of(world)

    def kept() -> list[str]:
        table = agent.table()
        return [agent.nft("list", "table", family, table).replace(table, "") for family in FAMILY.values()]

    found = []
    by_port = sorted(forwards, key=lambda each: (each.port, each.protocol))
    for ordered in ([*forwards, sticky], [other, *forwards[::-1]], [sticky, *by_port]):
        world.tell()
        world.tell_as_it_is(*ordered)
        found.append(kept())
        agent.restart()
        found.append(kept())
    assert "10.1.0.100 . tcp . 80 . 1 : 10.2.0.22 . 8080" in found[0][0]
    assert all(each == found[0] for each in found)


# Clients that come back


@both_families
def test_the_slot_of_a_client_is_known(world: TwoGateways, version: int) -> None:
    forward = service(version, count=16, affinity=600)
    world.tell(forward)
    slots = affinity.Slots(forward)
    for client in CLIENTS[version]:
        owner = slots.owners[affinity.slot(ipaddress.ip_address(client).packed, SEED)]
        assert chosen(world, forward, source=client) == {slots.backends[owner].address}, client


@both_families
@both_protocols
def test_a_client_stays_with_its_backend_when_others_come_and_go(
    world: TwoGateways, version: int, protocol: str
) -> None:
    few = service(version, protocol, count=4, affinity=600)
    many = service(version, protocol, count=12, affinity=600)
    world.tell(few)
    had = {client: chosen(world, few, source=client, count=3) for client in CLIENTS[version]}
    assert all(len(each) == 1 for each in had.values())
    world.tell(many)
    assert {client: chosen(world, many, source=client, count=3) for client in had} == had, "others came"
    used = set().union(*had.values())
    world.tell(without(many, *(each.address for each in many.backends if each.address not in used)))
    assert {client: chosen(world, many, source=client, count=3) for client in had} == had, "others went"


@both_families
@both_protocols
def test_nobody_comes_back_to_a_backend_that_was_removed(world: TwoGateways, version: int, protocol: str) -> None:
    whole = service(version, protocol, count=3, affinity=600)
    client = CLIENTS[version][0]
    world.tell(whole)
    (first,) = chosen(world, whole, source=client)
    world.tell(without(whole, first))
    (second,) = chosen(world, whole, source=client, count=5)
    assert second != first
    world.tell(whole)
    assert chosen(world, whole, source=client, count=5) == {second}, "it is remembered where it is now"


@both_families
def test_a_client_is_forgotten_in_time(world: TwoGateways, version: int) -> None:
    few, many = (service(version, count=count, affinity=2) for count in (2, 16))
    agent = agent_of(world)
    world.tell(few)
    had = {client: chosen(world, few, source=client) for client in CLIENTS[version]}
    world.tell(many)
    chosen(world, many, source=CLIENTS[version][0])
    assert CLIENTS[version][0] in agent.listed(version, "map", "affinity")
    waiting.until(lambda: " . tcp . 80" not in agent.listed(version, "map", "affinity"), seconds=5, what="an end of it")
    assert {client: chosen(world, many, source=client) for client in had} != had


@both_families
def test_a_restart_keeps_what_was_remembered_and_counted(world: TwoGateways, version: int) -> None:
    few, many = (service(version, count=count, affinity=600) for count in (2, 16))
    agent = agent_of(world)
    world.tell(few)
    had = {client: chosen(world, few, source=client, count=3) for client in CLIENTS[version]}
    world.tell(many)
    before, counted = agent.table(), agent.listed(version, "set", "counted")
    assert f"counter packets {3 * len(had)} " in counted
    agent.restart()
    assert agent.table() != before, "it was made in the dark"
    assert agent.listed(version, "set", "counted").replace(agent.table(), before) == counted
    assert {client: chosen(world, many, source=client) for client in had} == had


# Who is let in


@pytest.mark.parametrize(("denied", "heard"), [("reject", "refused"), ("drop", "silence")])
def test_only_clients_of_its_sources_are_served(made: TwoGateways, denied: str, heard: str) -> None:
    world = with_choices(made, denied=denied)
    inside, outside = CLIENTS, {4: ("10.1.0.2", "10.1.0.49"), 6: ("fd01::2", "fd01::49")}
    sources = {
        4: ("10.1.0.40/29", "10.1.0.41/32", "192.0.2.0/24"),
        6: ("fd01::40/125", "fd01::44/128", "2001:db8::/32"),
    }
    limited = [service(v, p, sources=sources[v]) for v in (4, 6) for p in ("TCP", "UDP")]
    open_to_all = [service(v, p, port=81) for v in (4, 6) for p in ("TCP", "UDP")]
    world.tell(*limited, *open_to_all)
    for version in (4, 6):
        for protocol in ("TCP", "UDP"):
            where = (protocol, VIPS[version], 80, "--patience", "1")
            assert heard not in world.asked(*where, "--source", inside[version][0], count=5)
            assert heard not in world.asked(*where, "--source", inside[version][4], count=5)
            for client in outside[version]:
                assert world.asked(*where, "--source", client) == [heard]
                assert backends_of(world.asked(protocol, VIPS[version], 81, "--source", client))


@both_families
@both_protocols
def test_a_port_without_backends_is_refused(world: TwoGateways, version: int, protocol: str) -> None:
    world.tell(service(version, protocol, count=0), service(version, protocol, port=81))
    assert world.asked(protocol, VIPS[version], 80, "--patience", "1") == ["refused"]
    assert backends_of(world.asked(protocol, VIPS[version], 81))


@pytest.mark.parametrize("denied", ["reject", "drop"])
def test_what_the_host_itself_serves_is_not_opened(made: TwoGateways, denied: str) -> None:
    world = with_choices(made, denied=denied)
    agent, host = agent_of(world), {4: "10.1.0.11", 6: "fd01::11"}
    port = 22 if denied == "reject" else 23
    world.serve(agent.name, "0.0.0.0", "::", port=port)  # noqa: S104 - this is what has to stay shut
    for version in (4, 6):
        for protocol in ("TCP", "UDP"):
            where = (protocol, VIPS[version], port, "--patience", "1")
            assert backends_of(world.asked(protocol, host[version], port)), "it does listen"
            world.tell(service(version, protocol))
            assert world.asked(*where) == ["refused"], "no Service"
            world.tell(service(version, protocol, port=port, count=0))
            assert world.asked(*where) == ["refused"], "no backends"
            open_to_all = service(version, protocol, port=port)
            world.tell(open_to_all)
            assert chosen(world, open_to_all, count=10) <= {each.address for each in open_to_all.backends}
            network = "192.0.2.0/24" if version == 4 else "2001:db8::/32"
            world.tell(msgspec.structs.replace(open_to_all, sources=(network,)))
            assert world.asked(*where) == ["refused" if denied == "reject" else "silence"], "not let in"


# What goes through


@pytest.mark.parametrize("snat", ["vip", "never", "masquerade"])
def test_a_backend_can_call_its_own_service(made: TwoGateways, snat: str) -> None:
    world = with_choices(made, snat=snat)
    forwards = [service(version, protocol) for version in (4, 6) for protocol in ("TCP", "UDP")]
    world.tell(*forwards)
    for each in forwards:
        caller = each.backends[0].address
        answers = world.asked(each.protocol, each.address, 80, "--source", caller, count=30, who="backends")
        assert set(backends_of(answers)) == {backend.address for backend in each.backends}, "itself among them"


@pytest.mark.parametrize(("snat", "seen"), [("vip", VIPS), ("never", {4: "10.1.0.2", 6: "fd01::2"})])
def test_backends_see_whom_the_operator_chose(made: TwoGateways, snat: str, seen: dict[int, str]) -> None:
    world = with_choices(made, snat=snat)
    forwards = [service(version, protocol) for version in (4, 6) for protocol in ("TCP", "UDP")]
    world.tell(*forwards)
    for each in forwards:
        version = 6 if ":" in each.address else 4
        answers = world.asked(each.protocol, each.address, 80, count=10)
        assert {answer.split()[1] for answer in answers} == {seen[version]}


@both_families
def test_large_packets_go_through(world: TwoGateways, version: int) -> None:
    world.tell(service(version, "TCP"), service(version, "UDP"))
    whole = 1500 - 8 - (20 if version == 4 else 40)
    for size in (1400, whole, 1600, 9000):  # the last two in fragments
        assert world.asked("UDP", VIPS[version], 80, "--size", str(size), count=4) == ["whole"] * 4, size
    assert world.asked("TCP", VIPS[version], 80, "--size", "1000000", count=4) == ["whole"] * 4


@pytest.fixture(scope="module")
def narrow(made: TwoGateways) -> TwoGateways:
    """Behind the backends' host there is another one, by a way for packets of up to 1280 bytes."""
    run = made.spaces.run
    made.spaces.add("far")
    made.spaces.join("backends", "far", "deep")
    for version, net in ((4, "10.3.0."), (6, "fd03::")):
        wide, ip = (32, "-4") if version == 4 else (128, "-6")
        run("backends", ["ip", "address", "add", f"{net}1/{wide}", "dev", "deep"])
        run("backends", ["ip", ip, "route", "add", f"{net}21/{wide}", "dev", "deep", "mtu", "1280"])
        run("far", ["ip", "address", "add", f"{net}21/{wide}", "dev", "deep"])
        run("far", ["ip", ip, "route", "add", f"{net}1/{wide}", "dev", "deep"])
        run("far", ["ip", ip, "route", "add", "default", "via", f"{net}1"])
        run(made.agents[0].name, ["ip", ip, "route", "add", f"{net}21/{wide}", "via", MANY[version][0]])
    for setting in ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"):
        run("backends", ["sysctl", "-qw", setting])
    made.serve("far", "10.3.0.21", "fd03::21")
    return made


@both_families
@pytest.mark.parametrize("snat", ["vip", "never", "masquerade"])
def test_a_narrow_way_behind_the_gateway_is_told_to_the_client(narrow: TwoGateways, version: int, snat: str) -> None:
    world = with_choices(narrow, snat=snat)
    far = Backend("10.3.0.21" if version == 4 else "fd03::21", 8080)
    world.tell(service(version, backends=(far,)))
    assert "mtu" not in world.spaces.run("client", ["ip", "route", "get", VIPS[version]])
    assert world.asked("TCP", VIPS[version], 80, "--size", "300000") == ["whole"]
    assert "mtu 1280" in world.spaces.run("client", ["ip", "route", "get", VIPS[version]])
    world.spaces.run("client", ["ip", f"-{version}", "route", "flush", "cache"])


@both_families
@pytest.mark.parametrize("snat", ["vip", "never"])
def test_a_narrow_way_to_the_client_is_told_to_the_backend(made: TwoGateways, version: int, snat: str) -> None:
    world = with_choices(made, snat=snat)
    world.tell(service(version))
    name, ip = agent_of(world).name, f"-{version}"
    client = "10.1.0.2" if version == 4 else "fd01::2"
    narrow = ["ip", ip, "route", "add", client, "dev", "eth0", "mtu", "1280"]
    asks = VIPS[version] if snat == "vip" else client
    world.spaces.run(name, narrow)
    try:
        assert "mtu" not in world.spaces.run("backends", ["ip", "route", "get", asks])
        assert world.asked("TCP", VIPS[version], 80, "--size", "300000") == ["whole"]
        assert "mtu 1280" in world.spaces.run("backends", ["ip", "route", "get", asks])
    finally:
        world.spaces.run(name, ["ip", ip, "route", "del", *narrow[4:5], "dev", "eth0", "mtu", "1280"])
        world.spaces.run("backends", ["ip", ip, "route", "flush", "cache"])


@both_families
def test_sctp_reaches_its_backends_and_comes_back(world: TwoGateways, version: int) -> None:
    forward = service(version, "SCTP", port=7000)
    world.tell(forward)
    backends = {each.address for each in forward.backends}
    with world.program("sctp.py", "answer", *sorted(backends), who="backends") as server:
        assert server.hear() == "ready"
        command = [PYTHON, str(PROGRAMS / "sctp.py"), "ask", CLIENTS[version][0], VIPS[version], "7000", "20"]
        answers = world.spaces.run("client", command).split()
    assert len(answers) == 20
    assert set(answers) == {re.split("[.:]", each)[-1] for each in backends}
    assert "counter packets 20 " in agent_of(world).listed(version, "set", "counted")


@both_families
def test_an_sctp_client_stays_with_its_backend_when_others_come(world: TwoGateways, version: int) -> None:
    few, many = (service(version, "SCTP", port=7000, count=count, affinity=600) for count in (2, 12))
    world.tell(few)

    def asked(client: str) -> set[str]:
        command = [PYTHON, str(PROGRAMS / "sctp.py"), "ask", client, VIPS[version], "7000", "3"]
        return set(world.spaces.run("client", command).split())

    with world.program("sctp.py", "answer", *(each.address for each in many.backends), who="backends") as server:
        assert server.hear() == "ready"
        had = {client: asked(client) for client in CLIENTS[version]}
        assert all(len(each) == 1 and "silence" not in each for each in had.values()), had
        world.tell(many)
        flushed(world)
        assert {client: asked(client) for client in had} == had


@both_families
def test_what_backends_open_themselves_from_the_port_of_their_service(made: TwoGateways, version: int) -> None:
    """Where they see clients: SCTP says that it begins and is let through, UDP might be an answer and is not."""
    world = with_choices(made, snat="never")
    own, client = MANY[version][0], CLIENTS[version][0]
    backends = (Backend(own, 30000),)
    world.tell(*(service(version, protocol, port=7000, backends=backends) for protocol in ("SCTP", "UDP")))
    world.serve("client", client, port=7001)
    options = ("--source", own, "--patience", "0.5")
    asks_sctp = [PYTHON, str(PROGRAMS / "sctp.py"), "ask", own, client, "7000", "1"]
    with way_back(world, version), world.program("sctp.py", "answer", client) as server:
        assert server.hear() == "ready"
        assert world.spaces.run("backends", asks_sctp).split() == [re.split("[.:]", client)[-1]]
        assert world.asked("UDP", client, 7001, *options, who="backends") == [f"{client} {own}"]
        assert world.asked("UDP", client, 7001, *options, "--ports", "30000", who="backends") == ["silence"]


@contextmanager
def way_back(world: TwoGateways, version: int) -> Iterator[None]:
    """The client knows a way to the backends."""
    route = {4: ["10.2.0.0/24", "via", "10.1.0.11"], 6: ["fd02::/64", "via", "fd01::11"]}[version]
    world.spaces.run("client", ["ip", "route", "add", *route])
    try:
        yield
    finally:
        world.spaces.run("client", ["ip", "route", "del", *route])


# What ends and what goes on


@both_families
@pytest.mark.parametrize(("removed", "ends"), [("drain", False), ("end", True)])
def test_a_connection_to_a_backend_that_is_gone(made: TwoGateways, version: int, removed: str, *, ends: bool) -> None:
    world = with_choices(made, removed=removed)
    both = service(version)
    world.tell(both)
    with world.program("flow.py", "tcp", VIPS[version], "80") as flow:
        backend, _ = flow.ask().split()
        world.tell(without(both, backend))
        assert flow.ask().split()[0] == ("reset" if ends else backend)
        assert backend not in chosen(world, both, count=20)


@both_families
def test_a_flow_that_came_before_its_service_or_its_backends(world: TwoGateways, version: int) -> None:
    other, mine = service(version, port=81), service(version, "UDP")
    world.tell(other)
    with world.program("flow.py", "udp", VIPS[version], "80") as flow:
        assert flow.ask() == "refused"
        world.tell(other, mine)
        assert flow.ask().split()[0] in MANY[version][:2], "a Service came"
        world.tell(other, msgspec.structs.replace(mine, backends=()))
        assert flow.ask() == "refused"
        world.tell(other, mine)
        assert flow.ask().split()[0] in MANY[version][:2], "backends came"


# What is counted


@both_families
def test_connections_are_counted_for_each_service(world: TwoGateways, version: int) -> None:
    first, second = service(version, "TCP"), service(version, "UDP", port=53)
    world.tell(first, second)
    agent = agent_of(world)
    world.asked("TCP", VIPS[version], 80, count=7)
    world.asked("UDP", VIPS[version], 53, count=5)
    world.asked("TCP", VIPS[version], 80, "--size", "100000")
    counted = agent.listed(version, "set", "counted")
    assert re.search(r"tcp \. 80 counter packets 8 ", counted)
    assert re.search(r"udp \. 53 counter packets 5 ", counted)
    assert figures(agent, "mooring_service_connections_total", VIPS[version]) == {"80": 8, "53": 5}


@both_families
def test_packets_and_bytes_are_counted_if_wanted(made: TwoGateways, version: int) -> None:
    world = with_choices(made, counters="bytes")
    world.tell(service(version, "TCP"), service(version, "UDP", port=53))
    agent = agent_of(world)
    world.asked("TCP", VIPS[version], 80, "--size", "500000")
    world.asked("UDP", VIPS[version], 53, "--size", "1000", count=10)
    for way in ("received", "sent"):
        octets = figures(agent, f"mooring_service_{way}_bytes_total", VIPS[version])
        packets = figures(agent, f"mooring_service_{way}_packets_total", VIPS[version])
        assert 500_000 < octets["80"] < 560_000
        assert octets["53"] == 10 * (1000 + 8 + (20 if version == 4 else 40))
        assert packets["53"] == 10
        assert packets["80"] > 10
    assert figures(agent, "mooring_service_connections_total", VIPS[version]) == {"80": 1, "53": 10}


@both_families
def test_each_endpoint_is_counted_if_wanted(made: TwoGateways, version: int) -> None:
    world = with_choices(made, counters="endpoints")
    world.tell(service(version))
    answers = collections.Counter(backends_of(world.asked("TCP", VIPS[version], 80, count=30)))
    listed = agent_of(world).listed(version, "map", "be")
    counted = re.findall(r"counter packets (\d+) bytes \d+ : (\S+) \. ", listed)
    assert {backend: int(number) for number, backend in counted} == answers
    figures = agent_of(world).monitored("metrics")
    told = re.findall(
        r'^mooring_service_endpoint_connections_total\{.*endpoint="(\S+) 8080".*\} (\d+)', figures, re.MULTILINE
    )
    assert {backend: int(number) for backend, number in told} == answers


def figures(agent: Agent, name: str, address: str) -> dict[str, int]:
    """What a metric says, by port."""
    found = {}
    for line in agent.monitored("metrics").splitlines():
        if line.startswith(f"{name}{{") and f'address="{address}"' in line:
            port = re.search(r'port="(\d+)"', line)
            assert port is not None
            found[port[1]] = int(float(line.split()[-1]))
    return found


# What others do, and what we do to others


def foreign(world: TwoGateways, name: str) -> list[str]:
    """All that is not ours: tables, addresses, routes."""
    run = world.spaces.run
    tables = [each for each in run(name, ["nft", "list", "tables"]).splitlines() if each.split()[-1] not in TABLES]
    listed = [run(name, ["nft", "list", *each.split()]) for each in tables]
    ours = {*VIPS.values(), *OTHERS.values(), *WAYS_OUT}
    links = json.loads(run(name, ["ip", "-json", "address", "show"]))
    addresses = {
        f"{link['ifname']} {each['local']}/{each['prefixlen']}" for link in links for each in link["addr_info"]
    }
    kept = sorted(each for each in addresses if each.split()[1].split("/")[0] not in ours)
    routes = [each for ip in ("-4", "-6") for each in run(name, ["ip", ip, "route"]).splitlines()]
    return [*listed, *kept, *(each for each in routes if each.split()[0] not in ours)]


def test_nothing_of_others_is_touched(world: TwoGateways) -> None:
    agent = agent_of(world)
    theirs = """
        table inet theirs {
          set kept { type ipv4_addr; elements = { 10.9.0.1, 10.9.0.2 } }
          chain input { type filter hook input priority 10; policy accept; ip saddr @kept drop; }
          chain nat { type nat hook postrouting priority srcnat + 5; policy accept; oifname "nowhere" masquerade; }
        }
        table ip mooring_c {
          chain services { tcp dport 9 drop; }
        }
        table ip6 mooring {
          map be { type ipv6_addr : inet_service; elements = { fd09::1 : 9 } ; }
        }
    """
    agent.nft("-f", "-", stdin=theirs)
    world.spaces.run(agent.name, ["ip", "address", "add", "10.1.0.77/32", "dev", "eth0"])
    try:
        before = foreign(world, agent.name)
        assert len([each for each in before if "theirs" in each]) == 1
        for count in (2, 5, FEWEST_CHAINS + 1, 1):
            world.tell(service(4, count=count), service(6, "UDP", count=count, address=OTHERS[6], affinity=60))
            assert foreign(world, agent.name) == before
        agent.restart()
        assert foreign(world, agent.name) == before
        agent.nft("delete", "table", "ip", agent.table())
        waiting.until(lambda: agent_repaired(agent) > 0, seconds=NOTICED, what="a repair")
        world.tell()
        assert foreign(world, agent.name) == before
    finally:
        world.spaces.run(agent.name, ["ip", "address", "del", "10.1.0.77/32", "dev", "eth0"])
        for table in ("inet theirs", "ip mooring_c", "ip6 mooring"):
            agent.nft("delete", "table", *table.split())


def agent_repaired(agent: Agent) -> int:
    """How often it had to load its rules again because of others, since it was started."""
    found = re.search(r"^mooring_agent_repairs_total (\S+)", agent.monitored("metrics"), re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


ONE_MISSING, ONE_MORE = "1 elements are missing and 0 are not ours", "0 elements are missing and 1 are not ours"
OTHER_RULES = "rules in it were changed"
DAMAGE = [
    ("delete element ip {table} services {{ 10.1.0.100 . tcp . 80 }}", ONE_MISSING),
    ("insert rule ip {table} pre tcp dport 80 drop", OTHER_RULES),
    ("flush set ip6 {table} vips", ONE_MISSING),
    ("add element ip {table} vips {{ 10.1.0.2 }}", ONE_MORE),
    ("flush chain ip6 {table} in", OTHER_RULES),
]
QUICK = DAMAGE[:2]


@pytest.mark.long
@pytest.mark.parametrize(("words", "said"), DAMAGE, ids=[each.split(" {")[0] for each, _ in DAMAGE])
def test_what_somebody_does_to_our_rules_is_noticed_and_put_right(
    world: TwoGateways, words: str, said: str, *, whole: bool
) -> None:
    if not whole and (words, said) not in QUICK:
        pytest.skip("each takes ten seconds; with --whole all are done")
    agent = agent_of(world)
    forwards = [service(version, protocol) for version in (4, 6) for protocol in ("TCP", "UDP")]
    world.tell(*forwards)
    before, logged = agent_repaired(agent), len(agent.log())
    agent.nft(*words.format(table=agent.table()).split())
    waiting.until(lambda: agent_repaired(agent) == before + 1, seconds=NOTICED, what="a repair")
    lines = [each for each in agent.log()[logged:].splitlines() if "somebody else changed our rules" in each]
    assert len(lines) == 1
    assert said in lines[0]
    waiting.until(lambda: agent.monitored("readyz") == "ok\n", seconds=5, what="it to be ready")
    for each in forwards:
        assert chosen(world, each, count=20) == {backend.address for backend in each.backends}
        assert world.asked(each.protocol, each.address, 81, "--patience", "1") == ["refused"]


@pytest.mark.long
def test_what_others_do_to_their_own_rules_is_nothing_to_us(made: TwoGateways) -> None:
    world = with_choices(made, counters="endpoints")
    agent = agent_of(world)
    world.tell(*(service(version, affinity=2) for version in VIPS))
    agent.nft("add", "table", "inet", "theirs")
    agent.nft("add", "set", "inet", "theirs", "busy", "{ type ipv4_addr; }")
    before, table = agent_repaired(agent), agent.table()

    def well() -> bool:
        for word in ("add", "delete"):
            agent.nft(word, "element", "inet", "theirs", "busy", "{ 10.9.0.1 }")
        world.asked("TCP", VIPS[6], 80)
        return agent.table() == table

    try:
        steadily.throughout(well, seconds=12, what="our rules are left as they are")
        assert agent_repaired(agent) == before
    finally:
        agent.nft("delete", "table", "inet", "theirs")


# Loads in the dark


@contextmanager
def under_load(world: TwoGateways, *forwards: Forward) -> Iterator[None]:
    """New connections all the time; afterwards, none has failed and none was with somebody else's backend."""
    with ExitStack() as stack:
        asking: list[tuple[Forward, Program]] = [
            (each, stack.enter_context(world.program("ask.py", "--patience", "0.9", *_named(each), "0")))
            for each in forwards
        ]
        for each, program in asking:
            assert program.hear().split()[0] in {backend.address for backend in each.backends}
        begin = time.monotonic()
        yield
        for each, program in asking:
            answers = program.end()
            per_second = len(answers) / (time.monotonic() - begin)
            print(f"{each.protocol} {each.address}: {len(answers)} answers, {per_second:.0f} per second")  # noqa: T201 - figures
            assert per_second > 100
            right = {backend.address for backend in each.backends}
            assert [answer for answer in answers if answer.split()[0] not in right] == []


def _named(forward: Forward) -> tuple[str, str, str]:
    return forward.protocol.lower(), forward.address, str(forward.port)


def test_loads_in_the_dark_lose_nothing(world: TwoGateways) -> None:
    many = service(4, count=FEWEST_CHAINS + 6)
    few = without(many, *(each.address for each in many.backends[5:]))
    others = (
        service(6, count=5, first=70, affinity=60),
        service(4, "UDP", count=5, first=75, address=OTHERS[4]),
        service(6, "UDP", count=5, first=75, port=53),
    )
    agent = agent_of(world)
    world.tell(few, *others)
    with under_load(world, many, *others):
        tables = [agent.table()]
        for _ in range(2):
            agent.restart()
            tables.append(agent.table())
            world.tell(many, *others)
            tables.append(agent.table())
            world.tell(few, *others)
    assert all(one != other for one, other in itertools.pairwise(tables)), "each time another one took its place"
