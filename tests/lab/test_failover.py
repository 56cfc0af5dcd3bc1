"""What moves when the addresses move to another gateway: connections go on, and everybody chooses as before.

Here a move is a keepalived that is ended, or a cable that is pulled out. There is nothing between gateways and backends
that keeps track of connections; what a cloud adds to that is not seen here.
"""

import ipaddress
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack

import msgspec
import pytest

from mooring.core import affinity
from mooring.lab import waiting
from mooring.model.gateway import Backend, Forward, Vrrp
from tests.lab.two_gateways import CLIENTS, MANY, SEED, VIPS, Agent, TwoGateways

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables and keepalived

EACH = 20
"""Connections of each kind, in each family."""
KINDS = ("idle", "active", "server-first", "udp")
LASTING = ("idle", "active", "server-first")
MOVES = ("ended", "unplugged", "ended")
PORTS = "25000"
NOTHING = [Forward(address, "TCP", 9, "shop/nothing") for address in VIPS.values()]
"""So that both addresses are there."""
CROWD = {4: tuple(f"10.1.0.{number}" for number in range(110, 150)), 6: tuple(f"fd01::{n}" for n in range(110, 150))}


def service(version: int, protocol: str = "TCP", *, count: int = 4, affinity: int = 0) -> Forward:
    backends = tuple(Backend(each, 8080) for each in MANY[version][:count])
    return Forward(VIPS[version], protocol, 80, f"shop/{protocol.lower()}{version}", backends, affinity)


EVERYTHING = [service(version, protocol) for version in VIPS for protocol in ("TCP", "UDP")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoGateways]:
    world = TwoGateways(tmp_path_factory.mktemp("world"), backends=8)
    try:
        world.create()
        yield world
    finally:
        world.end()


def settled(world: TwoGateways, *forwards: Forward, snat: str = "vip") -> TwoGateways:
    """Both gateways serve these and know of no connection; one holds all addresses, the other one is backup."""
    for agent in world.agents:
        agent.forwarding(snat=snat)
    # Nobody leads them; the first to see that would give way to the other one.
    waiting.until(lambda: all(each.stale() for each in world.agents), seconds=15, what="both to be stale")
    wait_for_two(world)
    world.tell(*forwards, *NOTHING)
    for agent in world.agents:
        world.spaces.run(agent.name, ["conntrack", "-F"])
    return world


def wait_for_two(world: TwoGateways) -> None:
    states = [Vrrp.BACKUP, Vrrp.MASTER]
    waiting.until(
        lambda: sorted((each.vrrp() for each in world.agents), key=str) == states, seconds=15, what="one to be master"
    )


def move(world: TwoGateways, how: str) -> Agent:
    """Let the other gateway take over; returns it. The first one is there again afterwards, as a backup."""
    first = world.holder()
    (other,) = (each for each in world.agents if each is not first)
    ended = first.keepalived() if how == "ended" else 0
    if ended:
        os.kill(ended, signal.SIGTERM)
    else:
        world.spaces.run("wire", ["ip", "link", "set", f"{first.name}-eth0", "down"])
    waiting.until(lambda: VIPS[4] in other.addresses(), seconds=10, what="the other one to take over")
    waiting.until(lambda: VIPS[4] not in first.addresses(), seconds=10, what="the first one to let go")
    if ended:
        waiting.until(lambda: first.keepalived() not in (0, ended), seconds=10, what="another keepalived")
    else:
        world.spaces.run("wire", ["ip", "link", "set", f"{first.name}-eth0", "up"])
    wait_for_two(world)
    assert world.holder() is other
    return other


@pytest.mark.long
@pytest.mark.parametrize("snat", ["vip", "never", "masquerade"])
def test_connections_survive_three_moves_in_a_row(made: TwoGateways, snat: str) -> None:
    world = settled(made, *EVERYTHING, snat=snat)
    with ExitStack() as stack:
        holding = [stack.enter_context(world.program("hold.py", VIPS[version], "80", str(EACH))) for version in VIPS]
        assert [json.loads(each.hear()) for each in holding] == [dict.fromkeys(KINDS, EACH)] * 2
        for number, how in enumerate(MOVES, 1):
            move(world, how)
            for each in holding:
                each.say()
            told = [json.loads(each.hear()) for each in holding]
            kept = {kind: sum(each[kind] for each in told) for kind in KINDS}
            words = ", ".join(f"{kind} {kept[kind]} of {2 * EACH}" for kind in KINDS)
            print(f"{snat}: {words} (move {number}, {how})")  # noqa: T201 - figures
            if snat == "masquerade":
                assert {kind: kept[kind] for kind in LASTING} == dict.fromkeys(LASTING, 0)
            else:
                assert kept == dict.fromkeys(KINDS, 2 * EACH)


def test_all_gateways_choose_the_same(made: TwoGateways) -> None:
    world = settled(made, *EVERYTHING)

    def chosen() -> list[list[str]]:
        return [
            world.asked(
                each.protocol, each.address, 80, "--source", CLIENTS[version_of(each)][0], "--ports", PORTS, count=100
            )
            for each in EVERYTHING
        ]

    first = world.holder()
    before = chosen()
    assert all(len(set(each)) == 4 for each in before)
    assert move(world, "ended") is not first
    assert chosen() == before


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
@pytest.mark.parametrize("version", [4, 6])
def test_a_client_comes_back_to_its_backend_by_another_gateway(made: TwoGateways, version: int, protocol: str) -> None:
    whole = service(version, protocol, count=8, affinity=600)
    world = settled(made, whole)

    def chosen() -> dict[str, set[str]]:
        where = protocol, whole.address, 80
        return {
            client: {answer.split()[0] for answer in world.asked(*where, "--source", client, count=3)}
            for client in CLIENTS[version]
        }

    had = chosen()
    assert all(len(each) == 1 and each <= set(MANY[version][:8]) for each in had.values())
    used = set().union(*had.values())
    kept = tuple(each for each in whole.backends if each.address in used)
    assert 1 < len(kept) < 8
    settled(world, msgspec.structs.replace(whole, backends=kept))
    move(world, "ended")
    assert chosen() == had


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
@pytest.mark.parametrize("version", [4, 6])
def test_clients_stay_with_their_backend_when_others_come_and_a_gateway_dies(
    made: TwoGateways, version: int, protocol: str
) -> None:
    few, more, most = (service(version, protocol, count=count, affinity=600) for count in (4, 6, 8))
    world = settled(made, few)
    clients = CROWD[version]
    world.spaces.address("client", *clients, options="preferred_lft 0")

    def chosen() -> dict[str, str]:
        answers = world.asked(protocol, few.address, 80, "--source", ",".join(clients), count=len(clients))
        return {client: answer.split()[0] for client, answer in zip(clients, answers, strict=True)}

    def strays(wanted: Forward) -> set[str]:
        """Those whom a gateway that remembers nobody would send elsewhere."""
        owners = affinity.Slots(wanted)
        slots = {each: owners.owners[affinity.slot(ipaddress.ip_address(each).packed, SEED)] for each in clients}
        return {each for each in clients if owners.backends[slots[each]].address != had[each]}

    with world.led(world.tell(few, *NOTHING)) as lead:
        wait_for_two(world)
        had = chosen()
        for wanted in (more, most):
            lead(world.tell(wanted, *NOTHING))
            lacking = strays(wanted)
            seconds = known_after(world, version, lacking)
            move(world, "ended")
            kept = sum(here == had[client] for client, here in chosen().items())
            print(  # noqa: T201 - figures
                f"IPv{version} {protocol}, endpoints {len(wanted.backends)}: {kept} of {len(clients)} clients stayed, "
                f"{len(lacking)} would have moved; they were known after {seconds:.1f} s"
            )
            assert lacking, "a test that cannot fail"
            assert kept == len(clients)
    world.spaces.unaddress("client", *clients)


def known_after(world: TwoGateways, version: int, clients: set[str]) -> float:
    """In how many seconds the gateway that does not hold the addresses knows of clients."""
    (other,) = (each for each in world.agents if each is not world.holder())
    begin = time.monotonic()
    waiting.until(lambda: clients <= remembered(other, version), seconds=10, what=f"{other.name} to know of {clients}")
    return time.monotonic() - begin


def remembered(agent: Agent, version: int) -> set[str]:
    """The clients that a gateway remembers."""
    return set(re.findall(r"([0-9a-f.:]+) \. [0-9a-f.:]+ \. \w+ \. 80 ", agent.listed(version, "map", "affinity")))


def version_of(forward: Forward) -> int:
    return 6 if ":" in forward.address else 4
