"""Real agents with a real kernel and keepalived: packets reach backends, whatever happens to the agents."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.lab import callers, waiting
from mooring.model.gateway import Backend, Document, Forward, Refusal, State, Vrrp
from tests.lab import steadily
from tests.lab.two_gateways import BACKENDS, GATEWAYS, PROGRAMS, PYTHON, VIPS, Agent, TwoGateways, document

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables and keepalived


def forward(version: int, protocol: str, *, count: int = 2) -> Forward:
    backends = tuple(Backend(address, 8080) for address in BACKENDS[version][:count])
    return Forward(VIPS[version], protocol, 80, f"shop/{protocol.lower()}{version}", backends)


LONG = 9.0
"""Seconds after which a gateway without an agent has surely given way."""
WEB = forward(4, "TCP")
ALL = document(2, *(forward(version, protocol) for version in (4, 6) for protocol in ("TCP", "UDP")))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TwoGateways]:
    world = TwoGateways(tmp_path)
    try:
        world.create()
        yield world
    finally:
        world.end()


@pytest.fixture
def agent(world: TwoGateways) -> Agent:
    """One of the gateways, alone; it holds the addresses."""
    first = world.agents[0]
    first.start()
    waiting.until(lambda: first.vrrp() is Vrrp.MASTER, seconds=10, what="it to be master")
    return first


def told(agent: Agent, wanted: Document) -> None:
    answer = agent.put(wanted)
    assert isinstance(answer, State), answer
    assert answer.held == wanted.held


@contextmanager
def both_led(world: TwoGateways) -> Iterator[Agent]:
    """Both gateways have the same document and hear of a leader; the second one is backup."""
    first, other = world.agents
    other.start()
    for each in world.agents:
        told(each, ALL)
    with first.heartbeats(ALL), other.heartbeats(ALL):
        waiting.until(lambda: not any(each.stale() for each in world.agents), seconds=10, what="both to be fresh")
        assert VIPS[4] not in other.addresses()
        yield other


@contextmanager
def asking(world: TwoGateways) -> Iterator[list[str]]:
    """A client that asks all the time; its answers are there when the block has ended."""
    answers: list[str] = []
    command = [*world.spaces.enter("client"), PYTHON, str(PROGRAMS / "ask.py"), "tcp", VIPS[4], "80", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        try:
            yield answers
        finally:
            answers += client.communicate()[0].splitlines()


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_packets_reach_all_backends_and_come_from_the_address(
    world: TwoGateways, agent: Agent, version: int, protocol: str
) -> None:
    told(agent, ALL)
    answers = world.asked(protocol, VIPS[version], 80, count=40)
    assert set(answers) == {f"{backend} {VIPS[version]}" for backend in BACKENDS[version]}


def test_an_answer_means_that_the_addresses_have_come_or_gone(agent: Agent) -> None:
    many = tuple(Forward(f"10.1.1.{number}", "TCP", 80, "shop/many") for number in range(1, 201))
    addresses = {each.address for each in many}
    told(agent, document(1, *many))
    assert addresses <= agent.addresses()
    told(agent, document(2, WEB))
    assert not addresses & agent.addresses()


@pytest.mark.parametrize("version", [4, 6])
def test_what_is_not_served_is_refused_at_once(world: TwoGateways, agent: Agent, version: int) -> None:
    told(agent, ALL)
    assert world.asked("tcp", VIPS[version], 81) == ["refused"]
    assert world.asked("udp", VIPS[version], 81) == ["refused"]


def test_an_agent_that_is_killed_leaves_everything_and_remembers(world: TwoGateways, agent: Agent) -> None:
    told(agent, ALL)
    keepalived = agent.keepalived()
    assert keepalived
    agent.kill()
    assert "silence" not in world.asked("tcp", VIPS[4], 80, count=10)
    agent.start()
    assert agent.keepalived() == keepalived
    assert "silence" not in world.asked("tcp", VIPS[6], 80, count=10)
    answer = agent.put(document(1))
    assert isinstance(answer, State)
    assert answer.held == ALL.held
    assert world.asked("tcp", VIPS[4], 81) == ["refused"]


def test_a_host_that_forgot_everything_gets_it_back_from_the_journal(world: TwoGateways, agent: Agent) -> None:
    told(agent, ALL)
    agent.end()
    for family in ("ip", "ip6"):
        agent.nft("delete", "table", family, agent.table())
    world.spaces.run(agent.name, ["ip", "address", "del", f"{VIPS[4]}/32", "dev", "eth0"])
    agent.start()
    waiting.until(lambda: VIPS[4] in agent.addresses(), seconds=10, what="the address to be back")
    assert set(world.asked("tcp", VIPS[4], 80, count=40)) == {f"{each} {VIPS[4]}" for each in BACKENDS[4]}


def test_it_ends_politely_when_it_is_told_to(agent: Agent) -> None:
    told(agent, ALL)
    assert agent.kill(signal.SIGTERM) == 0
    assert agent.keepalived()
    assert VIPS[4] in agent.addresses()


def test_a_change_of_addresses_under_load_loses_nothing(world: TwoGateways, agent: Agent) -> None:
    told(agent, document(1, WEB))
    with asking(world) as answers:
        for generation in range(2, 14):
            more = (forward(6, "TCP"), forward(4, "UDP")) if generation % 2 else ()
            told(agent, document(generation, forward(4, "TCP", count=1 + generation % 2), *more))
    assert len(answers) > 100
    assert [each for each in answers if each.split()[-1] != VIPS[4]] == []


@pytest.mark.parametrize("version", [4, 6])
def test_a_flow_does_not_go_on_to_a_backend_that_is_gone(world: TwoGateways, agent: Agent, version: int) -> None:
    both = forward(version, "UDP")
    told(agent, document(1, both))
    command = [*world.spaces.enter("client"), PYTHON, str(PROGRAMS / "flow.py"), "udp", both.address, str(both.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as flow:
        assert flow.stdin is not None
        assert flow.stdout is not None
        print(file=flow.stdin)
        first = flow.stdout.readline().split()[0]
        left = tuple(each for each in both.backends if each.address != first)
        told(agent, document(2, Forward(both.address, "UDP", both.port, both.service, left)))
        print(file=flow.stdin)
        assert flow.stdout.readline().split()[0] == left[0].address


def test_a_keepalived_that_ends_is_started_again(agent: Agent) -> None:
    told(agent, ALL)
    before = agent.keepalived()
    state = agent.folder / "state"
    for file in ("keepalived.vrrp.pid", "keepalived.pid"):
        os.kill(int((state / file).read_text()), signal.SIGKILL)
    waiting.until(lambda: agent.keepalived() not in (0, before), seconds=10, what="another keepalived")
    waiting.until(lambda: agent.monitored("readyz") == "ok\n", seconds=10, what="the agent to be ready")
    counted = "mooring_agent_vrrp_restarts_total 1.0"
    waiting.until(lambda: counted in agent.monitored("metrics"), seconds=10, what="it to be counted")
    waiting.until(lambda: VIPS[4] in agent.addresses(), seconds=10, what="the address to be back")


def test_a_keepalived_that_hangs_is_ended_and_started_again(agent: Agent) -> None:
    told(agent, ALL)
    before = agent.keepalived()
    asked = agent.folder / "state" / "asked"
    waiting.until(asked.exists, seconds=10, what="keepalived to ask whether the agent lives")
    os.kill(int((agent.folder / "state" / "keepalived.vrrp.pid").read_text()), signal.SIGSTOP)
    waiting.until(lambda: agent.keepalived() not in (0, before), seconds=40, what="another keepalived")
    waiting.until(lambda: VIPS[4] in agent.addresses(), seconds=10, what="the address")
    assert "vrrp hangs and is ended" in agent.log()


def test_an_address_of_the_gateway_itself_hurts_nobody(world: TwoGateways, agent: Agent) -> None:
    own = Forward("10.1.0.11", "TCP", 22, "shop/evil", WEB.backends)
    answer = agent.put(document(1, WEB, own))
    assert isinstance(answer, State)
    assert [(each.service, each.reason) for each in answer.left_out] == [("shop/evil", "UnfitAddress")]
    assert "silence" not in world.asked("tcp", VIPS[4], 80, count=5)
    told(agent, document(2, WEB))


def test_a_document_that_comes_while_keepalived_ends_is_taken(agent: Agent) -> None:
    told(agent, document(1, WEB))
    os.kill(agent.keepalived(), signal.SIGTERM)
    told(agent, ALL)
    waiting.until(lambda: set(VIPS.values()) <= agent.addresses(), seconds=10, what="the addresses")


def test_rules_that_a_firewall_flushed_are_loaded_again(world: TwoGateways, agent: Agent) -> None:
    told(agent, ALL)
    world.spaces.run(agent.name, ["nft", "flush", "ruleset"])
    waiting.until(lambda: "they are loaded again" in agent.log(), seconds=10, what="the agent to see it")
    assert set(world.asked("tcp", VIPS[4], 80, count=40)) == {f"{each} {VIPS[4]}" for each in BACKENDS[4]}
    told(agent, document(3, WEB))


def test_what_keepalived_refuses_changes_nothing(agent: Agent) -> None:
    told(agent, document(1, WEB))
    rules = agent.nft("list", "table", "ip", agent.table())
    configuration = agent.folder / "state" / "keepalived.conf"
    journal = agent.folder / "state" / "document.json"
    before = configuration.read_text(), journal.read_text()
    draft = agent.folder / "state" / "keepalived.new"
    draft.mkdir()
    answer = agent.put(ALL)
    assert isinstance(answer, Refusal)
    assert answer.reason == "VrrpRefused"
    draft.rmdir()
    state = agent.state()
    assert state is not None
    assert state.trouble == answer.message
    assert "could not be applied" in agent.monitored("readyz")
    told(agent, document(1, WEB))
    waiting.until(lambda: agent.monitored("readyz") == "ok\n", seconds=10, what="the agent to be ready")
    assert agent.nft("list", "table", "ip", agent.table()) == rules
    assert journal.read_text() == before[1]
    assert VIPS[6] not in agent.addresses()
    told(agent, ALL)


def test_connections_move_to_another_gateway_when_one_hears_no_leader(world: TwoGateways, agent: Agent) -> None:
    _, other = world.agents
    other.start()
    for each in world.agents:
        told(each, ALL)
    command = [*world.spaces.enter("client"), PYTHON, str(callers.PROGRAMS / "connections.py"), VIPS[4], "80", "20"]
    with (
        other.heartbeats(ALL),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client,
    ):
        assert client.stdin is not None
        assert client.stdout is not None
        with agent.heartbeats(ALL):
            assert client.stdout.readline() == "20\n"
            assert other.vrrp() is Vrrp.BACKUP
        waiting.until(lambda: other.vrrp() is Vrrp.MASTER, seconds=15, what="the other one to be master")
        client.stdin.write("check\n")
        client.stdin.flush()
        assert client.stdout.readline() == "20\n"
        waiting.until(lambda: "connections forgotten count=20" in agent.log(), seconds=10, what="them to be forgotten")
        assert VIPS[4] not in agent.addresses()
        listed = ["conntrack", "-L", "--orig-dst", VIPS[4]]
        assert world.spaces.run(agent.name, listed) == ""
        assert len(world.spaces.run(other.name, listed).splitlines()) == 20


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_gateway_whose_agent_is_gone_or_hangs_gives_way(world: TwoGateways, agent: Agent, number: int) -> None:
    with both_led(world) as other:
        agent.send(number)
        waiting.until(lambda: VIPS[4] in other.addresses(), seconds=10, what="the other one to take over")
        waiting.until(lambda: VIPS[4] not in agent.addresses(), seconds=1, what="the first one to let go")
        told(other, document(3, forward(4, "TCP", count=1)))
        assert set(world.asked("tcp", VIPS[4], 80, count=20)) == {f"{BACKENDS[4][0]} {VIPS[4]}"}


def test_an_agent_that_is_started_again_moves_nothing_and_loses_nothing(world: TwoGateways, agent: Agent) -> None:
    with both_led(world) as other:
        with asking(world) as answers:
            agent.kill()
            steadily.throughout(lambda: VIPS[4] in agent.addresses(), seconds=1, what="it keeps them without its agent")
            agent.start()
            steadily.throughout(lambda: VIPS[4] in agent.addresses(), seconds=LONG, what="it keeps the addresses")
        assert "state=master" not in other.log()
        assert len(answers) > 100
        assert [each for each in answers if each.split()[-1] != VIPS[4]] == []


def test_nothing_moves_when_all_agents_are_gone(world: TwoGateways, agent: Agent) -> None:
    with both_led(world) as other, asking(world) as answers:
        for each in world.agents:
            each.kill()
        steadily.throughout(
            lambda: VIPS[4] in agent.addresses() and VIPS[4] not in other.addresses(),
            seconds=LONG,
            what="the first gateway has the addresses",
        )
    assert len(answers) > 100
    assert [each for each in answers if each.split()[-1] != VIPS[4]] == []


def test_a_damaged_journal_gives_way_to_others_until_all_is_sent_again(world: TwoGateways, agent: Agent) -> None:
    with both_led(world) as other:
        agent.kill()
        (agent.folder / "state" / "document.json").write_text("{")
        agent.start()
        waiting.until(lambda: VIPS[4] in other.addresses(), seconds=10, what="the other one to take over")
        assert (agent.folder / "state" / "document.damaged").read_text() == "{"
        assert "silence" not in world.asked("tcp", VIPS[4], 80, count=10)
        told(agent, ALL)


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("gateway", [0, 1])
def test_the_gateways_own_ports_cannot_be_put_on_an_address(world: TwoGateways, version: int, gateway: int) -> None:
    own = f"10.2.0.{11 + gateway}" if version == 4 else f"fd02::{11 + gateway}"
    world.serve(GATEWAYS[gateway], own)
    evil = Forward(VIPS[version], "TCP", 80, "shop/evil", (Backend(own, 8080),))
    with both_led(world):
        for each in world.agents:
            told(each, document(3, evil, forward(version, "UDP")))
        assert world.asked("tcp", VIPS[version], 80) == ["silence"]
        assert "silence" not in world.asked("udp", VIPS[version], 80, count=5)
        assert "silence" not in world.asked("tcp", own, 8080, who="backends"), (
            "that it is an address of ours is no crime"
        )


def test_translations_of_others_are_left_alone(world: TwoGateways, agent: Agent) -> None:
    told(agent, ALL)
    foreign = (
        "table ip foreign {\n chain pre {\n type nat hook prerouting priority dstnat - 1;\n"
        f"ip daddr 10.1.0.11 tcp dport 90 dnat to {BACKENDS[4][0]}:8080\n }}\n }}\n"
    )
    world.spaces.run(agent.name, ["nft", "-f", "-"], stdin=foreign)
    world.spaces.run("backends", ["ip", "route", "add", "10.1.0.0/24", "via", "10.2.0.11"])
    assert world.asked("tcp", "10.1.0.11", 90) == [f"{BACKENDS[4][0]} 10.1.0.2"]
