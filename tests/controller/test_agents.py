"""Which gateways are live, and what all of them hold, on virtual time."""

import asyncio
import hashlib
import random

import msgspec
from msgspec import Struct

from mooring.controller.agents import GRACE, Agents
from mooring.controller.fence import FencedSender, LeaseLost
from mooring.core import gateway_document
from mooring.core.history import History
from mooring.kube.election import Term
from mooring.model.gateway import Backend, Document, Forward, Held, Vrrp
from mooring.wire.http import NotSent, Request, Response
from tests.silent import SILENT
from tests.simulation.gateway import GatewayTwin
from tests.simulation.loop import run_virtually

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web")
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns")


def document(generation: int, *forwards: Forward, epoch: int = 1) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=7)


class Wire:
    """The way to a gateway; `down` cuts it, `garbled` spoils what comes back."""

    def __init__(self, name: str) -> None:
        self.twin = GatewayTwin(name, random.Random(1))  # noqa: S311 - it has to be repeatable
        self.down = False
        self.garbled = False
        self.asked: list[str] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request.what)
        if self.down:
            raise NotSent("down")
        response = self.twin.handle(request)
        return Response(response.status, body=b"<html>") if self.garbled else response


def two() -> tuple[Agents, Wire, Wire]:
    first, second = Wire("g1"), Wire("g2")
    return Agents({"g1": first, "g2": second}, SILENT), first, second


def test_a_document_that_all_hold_is_held_and_not_sent_again() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        wanted = document(1, WEB)
        assert not agents.hold(wanted)
        assert await agents.push(wanted, History())
        assert agents.hold(wanted)
        assert await agents.push(wanted, History())
        assert first.asked == ["put document"]

    run_virtually(scene())


def test_a_gateway_that_does_not_answer_counts_for_a_time_of_grace() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.down = True
        wanted = document(1, WEB)
        assert not await agents.push(wanted, History())
        assert not agents.hold(wanted)
        await asyncio.sleep(GRACE)
        assert agents.hold(wanted)
        assert agents.live()

    run_virtually(scene())


def test_one_that_comes_back_counts_again_and_lacks_the_document() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.down = True
        wanted = document(1, WEB)
        await agents.push(wanted, History())
        await asyncio.sleep(GRACE)
        first.down = False
        await agents.ask()
        assert not agents.hold(wanted)
        assert await agents.push(wanted, History())
        assert agents.hold(wanted)

    run_virtually(scene())


def test_no_live_gateway_at_all() -> None:
    async def scene() -> None:
        agents, first, second = two()
        first.down = second.down = True
        await agents.push(document(1, WEB), History())
        await asyncio.sleep(GRACE)
        assert not agents.live()
        assert not Agents({}, SILENT).live()

    run_virtually(scene())


class Refusing:
    """A gateway that answers, and whose disk is full."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def send(self, request: Request) -> Response:
        if request.method != "PUT":
            return await self._wire.send(request)
        return Response(500, body=b'{"reason": "DiskRefused", "message": "no space left"}')


def test_a_backup_that_refuses_everything_holds_nobody_up_for_long() -> None:
    """It gives way by itself. The one that has the addresses counts, whatever it says: packets go there."""

    async def scene() -> None:
        well, sick = Wire("g1"), Wire("g2")
        sick.twin.machine.daemon.vrrp = Vrrp.BACKUP
        sick.twin.start()
        agents = Agents({"g1": well, "g2": Refusing(sick)}, SILENT)
        wanted = document(1, WEB)
        await agents.ask()
        assert not await agents.push(wanted, History())
        assert not agents.hold(wanted)
        await asyncio.sleep(GRACE)
        await agents.ask()
        assert agents.hold(wanted)
        assert agents.holder()
        sick.twin.machine.daemon.vrrp = Vrrp.MASTER
        sick.twin.start()
        await agents.ask()
        assert not agents.hold(wanted)

    run_virtually(scene())


def test_somebody_has_to_hold_the_addresses() -> None:
    async def scene() -> None:
        agents, first, second = two()
        for each in (first, second):
            each.twin.machine.daemon.vrrp = Vrrp.BACKUP
            each.twin.start()
        await agents.push(document(1, WEB), History())
        assert agents.live()
        assert not agents.holder()

    run_virtually(scene())


def test_nonsense_is_no_answer() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.garbled = True
        wanted = document(1, WEB)
        assert not await agents.push(wanted, History())
        assert not agents.hold(wanted)

    run_virtually(scene())


def test_a_refusal_tells_a_higher_epoch() -> None:
    async def scene() -> None:
        agents, first, second = two()
        await Agents({"g1": first, "g2": second}, SILENT).push(document(1, WEB, epoch=7), History())
        assert not await agents.push(document(1), History())
        assert agents.ahead_of(document(1)) == 7

    run_virtually(scene())


def test_what_another_leader_of_the_same_epoch_told_is_known_by_its_generation() -> None:
    async def scene() -> None:
        agents, first, second = two()
        await Agents({"g1": first, "g2": second}, SILENT).push(document(4, WEB, epoch=1), History())
        mine = document(2, epoch=1)
        await agents.push(mine, History())
        assert agents.ahead_of(mine) == 1
        newer = document(1, epoch=2)
        await agents.push(newer, History())
        assert agents.ahead_of(newer) is None

    run_virtually(scene())


def test_the_highest_epoch_is_asked_of_all() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        await Agents({"g1": first}, SILENT).push(document(1, epoch=4), History())
        assert await agents.ask() == 4

    run_virtually(scene())


def test_a_write_after_the_end_of_the_term_is_not_sent_and_blames_nobody() -> None:
    async def scene() -> None:
        wire = Wire("g1")
        term = Term(1, "1", ends=10.0)
        agents = Agents({"g1": FencedSender(wire, term)}, SILENT)
        await agents.push(document(1), History())
        await asyncio.sleep(10.0)
        await agents.push(document(2, WEB), History())
        await asyncio.sleep(GRACE)
        assert wire.asked == ["put document"]
        assert agents.live()
        await agents.ask()
        assert wire.asked == ["put document", "get state"]

    run_virtually(scene())


def test_the_fence_says_why() -> None:
    async def scene() -> str:
        sender = FencedSender(Wire("g1"), Term(1, "1", ends=0.0))
        try:
            await sender.send(Request("put document", "PUT", "/v1/document"))
        except LeaseLost as error:
            return str(error)
        return ""

    assert "lead" in run_virtually(scene())


def test_who_holds_one_document_is_told_what_differs_in_the_next() -> None:
    async def scene() -> None:
        agents, first, second = two()
        history = History()
        one, other = document(1, WEB), document(2, DNS)
        history.add(one)
        await agents.push(one, history)
        history.add(other)
        assert await agents.push(other, history)
        assert first.asked == second.asked == ["put document", "patch document"]
        assert first.twin.document == other

    run_virtually(scene())


def test_who_turns_out_to_hold_something_else_is_told_everything() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        history = History()
        one, mine = document(1, WEB), document(1, DNS, epoch=3)
        history.add(one)
        await agents.push(one, history)
        await Agents({"g1": first}, SILENT).push(document(1, epoch=2), History())
        history.add(mine)
        assert await agents.push(mine, history)
        assert first.asked[-2:] == ["patch document", "put document"]
        assert first.twin.document == mine

    run_virtually(scene())


def test_what_a_gateway_leaves_out_is_known_and_the_rest_is_held() -> None:
    async def scene() -> None:
        agents, _, _ = two()
        bad = Forward("10.0.0.7", "ICMP", 1, "shop/bad")
        wanted = document(1, WEB, bad)
        assert await agents.push(wanted, History())
        assert agents.hold(wanted)
        gateway, found = agents.left_out(wanted)["shop/bad"]
        assert (gateway, found.reason) == ("g1", "BadProtocol")
        assert "shop/web" not in agents.left_out(wanted)
        beat = asyncio.create_task(agents.beat(lambda: wanted, lambda: None, every=1.0))
        await asyncio.sleep(2.5)
        assert set(agents.left_out(wanted)) == {"shop/bad"}, "an answer to a heartbeat does not repeat it"
        beat.cancel()

    run_virtually(scene())


class OldForward(Struct, frozen=True, order=True):
    """What a version of ours knew before `affinity` and `sources`."""

    address: str
    protocol: str
    port: int
    service: str
    backends: tuple[Backend, ...] = ()


class OldDocument(Struct, frozen=True):
    epoch: int
    generation: int
    digest: str
    forwards: tuple[OldForward, ...]
    seed: int = 0


class OldAgent:
    """Checks a document as that version did, and knows no deltas. Its state says nothing of versions."""

    def __init__(self) -> None:
        self.document = OldDocument(0, 0, "", ())

    async def send(self, request: Request) -> Response:
        assert request.method in {"GET", "PUT", "POST"}
        if request.method == "PUT":
            new = msgspec.json.decode(request.body, type=OldDocument)
            total = int.from_bytes(hashlib.sha256(b"seed %d" % new.seed).digest(), "big")
            total += sum(int.from_bytes(hashlib.sha256(_as_told(each)).digest(), "big") for each in new.forwards)
            if f"{total % (1 << 256):064x}" != new.digest:
                return Response(422, body=b'{"reason": "OtherDigest", "message": "it is another one"}')
            self.document = new
        held = Held(self.document.epoch, self.document.generation, self.document.digest)
        return Response(200, body=msgspec.json.encode({"held": held, "vrrp": "master", "version": "0.0.9"}))


def _as_told(forward: OldForward) -> bytes:
    return msgspec.json.encode(Forward(*(getattr(forward, name) for name in forward.__struct_fields__)))


def test_an_agent_of_an_older_version_is_told_what_it_understands() -> None:
    async def scene() -> None:
        old = OldAgent()
        agents = Agents({"g1": old, "g2": Wire("g2")}, SILENT)
        await agents.ask()
        sticky = msgspec.structs.replace(DNS, affinity=60)
        history = History()
        for generation in (1, 2):
            wanted = document(generation, WEB, sticky)
            history.add(wanted)
            assert await agents.push(wanted, history)
            assert agents.hold(wanted)
        assert [each.service for each in old.document.forwards] == ["shop/web"]
        gateway, found = agents.left_out(wanted)["shop/dns"]
        assert (gateway, found.reason) == ("g1", "AgentTooOld")
        assert "0.0.9" in found.message
        plain = document(3, WEB, DNS)
        history.add(plain)
        assert await agents.push(plain, history)
        assert len(old.document.forwards) == 2
        assert agents.left_out(plain) == {}

    run_virtually(scene())


def test_a_controller_of_an_older_version_is_understood() -> None:
    """It sends whole documents without what it does not know, and one of a newer version adds something unknown."""
    wire = Wire("g1")
    whole = document(1, WEB)
    body = msgspec.json.decode(msgspec.json.encode(whole))
    assert set(body["forwards"][0]) == {"address", "protocol", "port", "service"}
    request = Request("put document", "PUT", "/v1/document", body=msgspec.json.encode({**body, "new": [1]}))
    response = wire.twin.handle(request)
    assert response.status == 200
    assert wire.twin.document == whole
