"""Which gateways are live, and what all of them hold, on virtual time."""

import asyncio
import random

from mooring.controller.agents import GRACE, Agents
from mooring.controller.fence import FencedSender, LeaseLost
from mooring.core import gateway_document
from mooring.kube.election import Term
from mooring.model.gateway import Document, Forward, Vrrp
from mooring.wire.http import NotSent, Request, Response
from tests.silent import SILENT
from tests.simulation.gateway import GatewayTwin
from tests.simulation.loop import run_virtually

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web")


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
        assert await agents.push(wanted)
        assert agents.hold(wanted)
        assert await agents.push(wanted)
        assert first.asked == ["put document"]

    run_virtually(scene())


def test_a_gateway_that_does_not_answer_counts_for_a_time_of_grace() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.down = True
        wanted = document(1, WEB)
        assert not await agents.push(wanted)
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
        await agents.push(wanted)
        await asyncio.sleep(GRACE)
        first.down = False
        await agents.ask()
        assert not agents.hold(wanted)
        assert await agents.push(wanted)
        assert agents.hold(wanted)

    run_virtually(scene())


def test_no_live_gateway_at_all() -> None:
    async def scene() -> None:
        agents, first, second = two()
        first.down = second.down = True
        await agents.push(document(1, WEB))
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
        assert not await agents.push(wanted)
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
        await agents.push(document(1, WEB))
        assert agents.live()
        assert not agents.holder()

    run_virtually(scene())


def test_nonsense_is_no_answer() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.garbled = True
        wanted = document(1, WEB)
        assert not await agents.push(wanted)
        assert not agents.hold(wanted)

    run_virtually(scene())


def test_a_refusal_tells_a_higher_epoch() -> None:
    async def scene() -> None:
        agents, first, second = two()
        await Agents({"g1": first, "g2": second}, SILENT).push(document(1, WEB, epoch=7))
        assert not await agents.push(document(1))
        assert agents.ahead_of(document(1)) == 7

    run_virtually(scene())


def test_what_another_leader_of_the_same_epoch_told_is_known_by_its_generation() -> None:
    async def scene() -> None:
        agents, first, second = two()
        await Agents({"g1": first, "g2": second}, SILENT).push(document(4, WEB, epoch=1))
        mine = document(2, epoch=1)
        await agents.push(mine)
        assert agents.ahead_of(mine) == 1
        newer = document(1, epoch=2)
        await agents.push(newer)
        assert agents.ahead_of(newer) is None

    run_virtually(scene())


def test_the_highest_epoch_is_asked_of_all() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        await Agents({"g1": first}, SILENT).push(document(1, epoch=4))
        assert await agents.ask() == 4

    run_virtually(scene())


def test_a_write_after_the_end_of_the_term_is_not_sent_and_blames_nobody() -> None:
    async def scene() -> None:
        wire = Wire("g1")
        term = Term(1, "1", ends=10.0)
        agents = Agents({"g1": FencedSender(wire, term)}, SILENT)
        await agents.push(document(1))
        await asyncio.sleep(10.0)
        await agents.push(document(2, WEB))
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
