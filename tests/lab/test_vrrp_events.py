"""Every way to lose the gateway that holds the addresses, with few of them and with many.

Given two gateways with so many addresses, when the one that holds them is lost in some way, then the other one answers,
and when all is well again one gateway holds all of them and the other none.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from mooring.lab import waiting
from mooring.model.gateway import Backend, Forward, Vrrp
from tests.lab.two_gateways import BACKENDS, VIPS, Agent, TwoGateways

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables and keepalived

WEB = Forward(VIPS[4], "TCP", 80, "shop/web", tuple(Backend(each, 8080) for each in BACKENDS[4]))

Event = tuple[Callable[[TwoGateways, Agent], None], Callable[[TwoGateways, Agent], None]]
"""What happens, and how it is made well again."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoGateways]:
    world = TwoGateways(tmp_path_factory.mktemp("world"))
    try:
        world.create()
        for agent in world.agents:
            agent.start()
        yield world
    finally:
        world.end()


def killed(_: TwoGateways, agent: Agent) -> None:
    for name in ("keepalived.pid", "keepalived.vrrp.pid"):
        with suppress(ProcessLookupError):
            os.kill(_pid(agent, name), signal.SIGKILL)


def agent_killed(_: TwoGateways, agent: Agent) -> None:
    agent.kill()


def both_killed(world: TwoGateways, agent: Agent) -> None:
    agent.kill()
    killed(world, agent)


def stopped(_: TwoGateways, agent: Agent) -> None:
    os.kill(_pid(agent, "keepalived.vrrp.pid"), signal.SIGSTOP)


def goes_on(_: TwoGateways, agent: Agent) -> None:
    os.kill(_pid(agent, "keepalived.vrrp.pid"), signal.SIGCONT)


def ended(_: TwoGateways, agent: Agent) -> None:
    os.kill(agent.keepalived(), signal.SIGTERM)


def down(world: TwoGateways, agent: Agent) -> None:
    world.spaces.run(agent.name, ["ip", "link", "set", "eth0", "down"])


def up(world: TwoGateways, agent: Agent) -> None:
    world.spaces.run(agent.name, ["ip", "link", "set", "eth0", "up"])


def isolated(world: TwoGateways, agent: Agent) -> None:
    """It has its carrier, and nobody hears it."""
    world.spaces.run("wire", ["ip", "link", "set", f"{agent.name}-eth0", "nomaster"])


def plugged_in(world: TwoGateways, agent: Agent) -> None:
    world.spaces.run("wire", ["ip", "link", "set", f"{agent.name}-eth0", "master", "front"])


def nothing(_: TwoGateways, __: Agent) -> None:
    pass


def started(_: TwoGateways, agent: Agent) -> None:
    agent.start()


KILLED = "keepalived KILL"
EVENTS: dict[str, Event] = {
    "keepalived TERM": (ended, nothing),
    KILLED: (killed, nothing),
    "keepalived STOP": (stopped, goes_on),
    "agent and keepalived KILL": (both_killed, started),
    "interface down": (down, up),
    "isolated": (isolated, plugged_in),
}


def _pid(agent: Agent, name: str) -> int:
    return int((agent.folder / "state" / name).read_text())


def holders(world: TwoGateways, addresses: frozenset[str]) -> list[int]:
    """How many of the addresses each gateway has."""
    return [len(addresses & each.addresses()) for each in world.agents]


def settled(world: TwoGateways, addresses: frozenset[str]) -> None:
    """One has all, the other none, and both agents know it."""
    expected = [0, len(addresses)]
    waiting.until(lambda: sorted(holders(world, addresses)) == expected, seconds=40, what="one to hold all addresses")
    states = {Vrrp.MASTER, Vrrp.BACKUP}
    waiting.until(lambda: {each.vrrp() for each in world.agents} == states, seconds=15, what="the agents to know it")


@pytest.mark.parametrize("number", [1, 100, 1000])
def test_each_way_to_lose_a_gateway(made: TwoGateways, number: int) -> None:
    addresses = [VIPS[4], *(f"10.1.{8 + each // 250}.{1 + each % 250}" for each in range(1, number))]
    made.tell(WEB, *(Forward(each, "TCP", 80, "shop/many") for each in addresses[1:]))
    all_of_them = frozenset(addresses)
    for what in EVENTS:
        _lost(made, all_of_them, what)


def _lost(made: TwoGateways, all_of_them: frozenset[str], what: str) -> None:
    event, healed = EVENTS[what]
    waiting.until(lambda: all(each.stale() for each in made.agents), seconds=15, what="both to be equal")
    settled(made, all_of_them)
    first = made.holder()
    (other,) = (each for each in made.agents if each is not first)
    with made.program("gap.py", VIPS[4], "80") as asking:
        assert asking.hear() == "ready"
        waiting.until(lambda: bool(made.asked("tcp", VIPS[4], 80)), seconds=5, what="an answer")
        before = first.keepalived()
        event(made, first)
        if what == KILLED:  # the agent has it back so soon that either may win
            waiting.until(lambda: first.keepalived() not in {0, before}, seconds=10, what="another keepalived")
            settled(made, all_of_them)
        else:
            waiting.until(lambda: all_of_them <= other.addresses(), seconds=30, what=f"the other one, after {what}")
        waiting.until(lambda: "silence" not in made.asked("tcp", VIPS[4], 80), seconds=10, what="an answer")
        found = json.loads(asking.end()[-1])
    healed(made, first)
    settled(made, all_of_them)
    print(f"{what}, {len(all_of_them)} addresses: {found['longest']} s without an answer, {found}")  # noqa: T201 - figures
    assert found["answered"] > 0


def _upgraded(agent: Agent) -> None:
    agent.kill(signal.SIGTERM)
    agent.start()
    waiting.until(lambda: not agent.stale(), seconds=10, what=f"{agent.name} to be fresh")


def test_agents_are_restarted_one_after_the_other_and_nobody_notices(made: TwoGateways) -> None:
    """As in an upgrade: also by the signal that systemd sends."""
    wanted = made.tell(WEB)
    one, other = made.agents
    with one.heartbeats(wanted), other.heartbeats(wanted), made.program("gap.py", VIPS[4], "80") as asking:
        waiting.until(lambda: not any(each.stale() for each in made.agents), seconds=10, what="both to be fresh")
        settled(made, frozenset({VIPS[4]}))
        first = made.holder()
        assert asking.hear() == "ready"
        for agent in made.agents:
            _upgraded(agent)
        assert made.holder() is first
        found = json.loads(asking.end()[-1])
    assert found["answered"] == found["asked"], found
