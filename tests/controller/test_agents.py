"""Which gateways are live, and what all of them hold, on virtual time."""

import asyncio
import contextlib
import hashlib
import itertools
import random
from collections.abc import AsyncIterator

import msgspec
import pytest
from msgspec import Struct

from mooring.controller.agents import FIRST_PAUSE, LONGEST_PAUSE, Agents, Errands
from mooring.controller.fence import GuardedSender, Lead, LeaseLost
from mooring.controller.gateway import MOST_UNANSWERED, PUT_SECONDS
from mooring.core import editions, gateway_document
from mooring.core.roster import DISPUTED, GRACE
from mooring.kube.election import Term
from mooring.model.gateway import Backend, Document, Forward, Held, Probes, Vrrp
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender
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


@contextlib.asynccontextmanager
async def at_work(agents: Agents, *, every: float = 1.0) -> AsyncIterator[list[float]]:
    """Tells the gateways, on virtual time; gives the times at which something was heard of them."""
    heard: list[float] = []
    loop = asyncio.get_running_loop()
    work = asyncio.create_task(agents.run(lambda: heard.append(loop.time()), every=every))
    try:
        yield heard
    finally:
        work.cancel()
        await asyncio.wait((work,))


async def tell(agents: Agents, document: Document) -> None:
    """All that answers at once has been told afterwards."""
    agents.tell(editions.of(document))
    await asyncio.sleep(0.1)


async def told_by_another(document: Document, **wires: Sender) -> None:
    other = Agents(wires, SILENT)
    async with at_work(other):
        await tell(other, document)


def documents(wire: Wire) -> list[str]:
    return [each for each in wire.asked if each.endswith("document")]


WEB_PLACES = {"shop/web": frozenset({WEB.place})}


def test_a_document_that_all_hold_is_acknowledged_and_not_sent_again() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        async with at_work(agents) as heard:
            agents.tell(editions.of(document(1, WEB)))
            assert agents.acknowledged() is None, "nobody has answered yet"
            await asyncio.sleep(0.1)
            assert agents.acknowledged() == WEB_PLACES
            assert heard
            await asyncio.sleep(10.0)
            assert documents(first) == ["put document"]
            assert agents.settled()

    run_virtually(scene())


def test_a_gateway_that_does_not_answer_counts_for_a_time_of_grace() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.down = True
        async with at_work(agents) as heard:
            await tell(agents, document(1, WEB))
            assert agents.acknowledged() is None, "it may serve anything"
            heard.clear()
            await asyncio.sleep(GRACE + LONGEST_PAUSE)
            assert agents.acknowledged() == WEB_PLACES
            assert agents.live()
            assert any(GRACE <= when < GRACE + LONGEST_PAUSE for when in heard), "who waits for that is told"

    run_virtually(scene())


def test_one_that_comes_back_counts_again_and_is_told() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.down = True
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            await asyncio.sleep(10 * GRACE)
            first.down = False
            await asyncio.sleep(1.1)
            assert first.twin.document == document(1, WEB)
            assert agents.acknowledged() == WEB_PLACES

    run_virtually(scene())


def test_no_live_gateway_at_all() -> None:
    async def scene() -> None:
        agents, first, second = two()
        first.down = second.down = True
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            await asyncio.sleep(GRACE)
            assert not agents.live()
        assert not Agents({}, SILENT).live()

    run_virtually(scene())


class Hanging(Wire):
    """Takes some requests, and never answers them."""

    def __init__(self, name: str, *methods: str) -> None:
        super().__init__(name)
        self.methods = methods

    async def send(self, request: Request) -> Response:
        if request.method not in self.methods:
            return await super().send(request)
        self.asked.append(request.what)
        await asyncio.sleep(request.seconds)
        raise NoAnswer("no answer in time")


@pytest.mark.parametrize("methods", [("PUT", "PATCH"), ("POST",), ("PUT", "PATCH", "POST", "GET")])
def test_a_gateway_that_hangs_delays_nobody(methods: tuple[str, ...]) -> None:
    """Documents or heartbeats or all: the other one has each change at once, for minutes."""

    async def scene() -> None:
        well, sick = Wire("g1"), Hanging("g2", *methods)
        sick.twin.machine.daemon.vrrp = Vrrp.BACKUP
        sick.twin.start()
        agents = Agents({"g1": well, "g2": sick}, SILENT)
        async with at_work(agents):
            for generation in range(1, 120):
                await tell(agents, document(generation, WEB if generation % 2 else DNS))
                assert well.twin.document.generation == generation
                await asyncio.sleep(1.0)
            assert agents.acknowledged() == WEB_PLACES, "who hangs gives way, and does not count"
            sick.methods = ()
            await asyncio.sleep(PUT_SECONDS + LONGEST_PAUSE + 1.0)
            assert sick.twin.document == well.twin.document
            assert agents.settled()

    run_virtually(scene())


def test_who_is_told_something_is_told_the_newest_next_and_nothing_in_between() -> None:
    class Slow(Wire):
        async def send(self, request: Request) -> Response:
            if request.method in {"PUT", "PATCH"}:
                await asyncio.sleep(1.0)
            return await super().send(request)

    async def scene() -> None:
        slow = Slow("g1")
        agents = Agents({"g1": slow}, SILENT)
        async with at_work(agents):
            for generation in range(1, 10):
                await tell(agents, document(generation, WEB if generation % 2 else DNS))
            await asyncio.sleep(3.0)
            assert documents(slow) == ["put document", "patch document"]
            assert slow.twin.document.generation == 9

    run_virtually(scene())


def test_who_is_told_while_it_answers_is_told_again_without_a_pause() -> None:
    class Slow(Wire):
        async def send(self, request: Request) -> Response:
            response = await super().send(request)
            await asyncio.sleep(0.008 if request.method in {"PUT", "PATCH"} else 0.0)
            return response

    async def scene() -> None:
        slow = Slow("g1")
        agents = Agents({"g1": slow}, SILENT)
        async with at_work(agents):
            for generation in range(1, 100):
                agents.tell(editions.of(document(generation, WEB if generation % 2 else DNS)))
                await asyncio.sleep(0.005)
                assert slow.twin.document.generation >= generation - 2, "it is never far behind"

    run_virtually(scene())


class Mute(Wire):
    """Does what it is told and does not say so, `mute` times; then it cannot be reached."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.mute = 0

    async def send(self, request: Request) -> Response:
        response = await super().send(request)
        if self.mute and request.method in {"PUT", "PATCH"}:
            self.mute -= 1
            self.down = not self.mute
            raise NoAnswer("the connection broke")
        return response


def test_what_was_sent_before_and_not_answered_may_be_what_it_does() -> None:
    """It is told that something goes and that it is there again: which of both it does, nobody knows."""

    async def scene() -> None:
        well, mute = Wire("g1"), Mute("g2")
        agents = Agents({"g1": well, "g2": mute}, SILENT)
        async with at_work(agents):
            await tell(agents, document(1, WEB, DNS))
            assert (agents.acknowledged() or {})["shop/web"] == {WEB.place}
            mute.mute = 1
            await tell(agents, document(2, DNS))
            assert mute.twin.document.generation == 2
            await tell(agents, document(3, WEB, DNS))
            await asyncio.sleep(FIRST_PAUSE)
            assert (agents.acknowledged() or {})["shop/web"] == DISPUTED
            assert (agents.acknowledged() or {})["shop/dns"] == {DNS.place}, "which was in all of them"
            mute.down = False
            await asyncio.sleep(2.0)
            assert (agents.acknowledged() or {})["shop/web"] == {WEB.place}

    run_virtually(scene())


def test_of_one_that_answers_nothing_for_long_nothing_is_known() -> None:
    async def scene() -> None:
        holder = Hanging("g1")
        agents = Agents({"g1": holder}, SILENT)
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            holder.methods = ("PUT", "PATCH")
            for generation in range(2, MOST_UNANSWERED + 2):
                agents.tell(editions.of(document(generation, WEB, DNS)))
                await asyncio.sleep(PUT_SECONDS + LONGEST_PAUSE)
            assert (agents.acknowledged() or {})["shop/web"] == {WEB.place}
            agents.tell(editions.of(document(MOST_UNANSWERED + 2, WEB, DNS)))
            await asyncio.sleep(PUT_SECONDS + LONGEST_PAUSE)
            assert agents.acknowledged() is None
            holder.methods = ()
            await asyncio.sleep(PUT_SECONDS + LONGEST_PAUSE)
            assert (agents.acknowledged() or {})["shop/dns"] == {DNS.place}

    run_virtually(scene())


def test_what_it_refused_it_does_not_do() -> None:
    async def scene() -> None:
        refusing = Refusing("g1")
        agents = Agents({"g1": refusing}, SILENT)
        async with at_work(agents):
            for generation in range(1, 2 * MOST_UNANSWERED):
                await tell(agents, document(generation, WEB))
                await asyncio.sleep(LONGEST_PAUSE)
            assert refusing.times
            assert agents.gateways["g1"].telling == ()

    run_virtually(scene())


def test_one_that_fails_is_told_again_later_and_later() -> None:
    async def scene() -> None:
        sick = Refusing("g1")
        agents = Agents({"g1": sick}, SILENT)
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            await asyncio.sleep(60.0)
            gaps = [after - before for before, after in itertools.pairwise(sick.times)]
            assert gaps == sorted(gaps)
            assert (gaps[0], gaps[-1]) == (FIRST_PAUSE, LONGEST_PAUSE)

    run_virtually(scene())


class Refusing(Wire):
    """A gateway that answers, and whose disk is full."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.times: list[float] = []

    async def send(self, request: Request) -> Response:
        if request.method != "PUT":
            return await super().send(request)
        self.times.append(asyncio.get_running_loop().time())
        return Response(500, body=b'{"reason": "DiskRefused", "message": "no space left"}')


def test_a_backup_that_refuses_everything_holds_nobody_up_for_long() -> None:
    """It gives way by itself. The one that has the addresses counts, whatever it says: packets go there."""

    async def scene() -> None:
        well, sick = Wire("g1"), Refusing("g2")
        sick.twin.machine.daemon.vrrp = Vrrp.BACKUP
        sick.twin.start()
        agents = Agents({"g1": well, "g2": sick}, SILENT)
        await agents.ask()
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            assert agents.acknowledged() == {"shop/web": DISPUTED}
            await asyncio.sleep(GRACE)
            assert agents.acknowledged() == WEB_PLACES
            assert agents.holder()
            sick.twin.machine.daemon.vrrp = Vrrp.MASTER
            sick.twin.start()
            await asyncio.sleep(2.0)
            assert agents.acknowledged() == {"shop/web": DISPUTED}

    run_virtually(scene())


def test_somebody_has_to_hold_the_addresses() -> None:
    async def scene() -> None:
        agents, first, second = two()
        for each in (first, second):
            each.twin.machine.daemon.vrrp = Vrrp.BACKUP
            each.twin.start()
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            assert agents.live()
            assert not agents.holder()

    run_virtually(scene())


def test_nonsense_is_no_answer() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        first.garbled = True
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            assert agents.acknowledged() is None

    run_virtually(scene())


def test_a_refusal_tells_a_higher_epoch() -> None:
    async def scene() -> None:
        agents, first, second = two()
        await told_by_another(document(1, WEB, epoch=7), g1=first, g2=second)
        async with at_work(agents):
            await tell(agents, document(1))
            assert agents.ahead() == 7
            assert agents.acknowledged() is None

    run_virtually(scene())


def test_what_another_leader_of_the_same_epoch_told_is_known_by_its_generation() -> None:
    async def scene() -> None:
        agents, first, second = two()
        await told_by_another(document(4, WEB, epoch=1), g1=first, g2=second)
        async with at_work(agents):
            await tell(agents, document(2, epoch=1))
            assert agents.ahead() == 1
            agents.tell(editions.of(document(1, epoch=2)))
            await asyncio.sleep(LONGEST_PAUSE)
            assert agents.ahead() is None

    run_virtually(scene())


def test_the_highest_epoch_is_asked_of_all() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        await told_by_another(document(1, epoch=4), g1=first)
        assert await agents.ask() == 4

    run_virtually(scene())


def test_a_write_after_the_end_of_the_term_is_not_sent_and_blames_nobody() -> None:
    async def scene() -> None:
        wire = Wire("g1")
        term = Term(1, "1", ends=10.0)
        agents = Agents({"g1": GuardedSender(wire, Lead(term))}, SILENT)
        async with at_work(agents):
            await tell(agents, document(1))
            await asyncio.sleep(10.0)
            wire.asked.clear()
            await tell(agents, document(2, WEB))
            await asyncio.sleep(GRACE)
            assert wire.asked == []
            assert agents.live()
            await agents.ask()
            assert wire.asked == ["get state"]

    run_virtually(scene())


def test_the_fence_says_why() -> None:
    async def scene() -> str:
        sender = GuardedSender(Wire("g1"), Lead(Term(1, "1", ends=0.0)))
        try:
            await sender.send(Request("put document", "PUT", "/v1/document"))
        except LeaseLost as error:
            return str(error)
        return ""

    assert "lead" in run_virtually(scene())


def test_who_holds_one_document_is_told_what_differs_in_the_next() -> None:
    async def scene() -> None:
        agents, first, second = two()
        async with at_work(agents):
            await tell(agents, document(1, WEB))
            await tell(agents, document(2, DNS))
            assert documents(first) == documents(second) == ["put document", "patch document"]
            assert first.twin.document == document(2, DNS)

    run_virtually(scene())


def test_who_turns_out_to_hold_something_else_is_told_everything() -> None:
    async def scene() -> None:
        agents, first, _ = two()
        async with at_work(agents, every=100.0):
            await tell(agents, document(1, WEB))
            await told_by_another(document(1, epoch=2), g1=first)
            await tell(agents, document(1, DNS, epoch=3))
            assert documents(first)[-2:] == ["patch document", "put document"]
            assert first.twin.document == document(1, DNS, epoch=3)

    run_virtually(scene())


def test_what_a_gateway_leaves_out_is_known_and_the_rest_is_held() -> None:
    async def scene() -> None:
        agents, _, _ = two()
        bad = Forward("10.0.0.7", "ICMP", 1, "shop/bad")
        async with at_work(agents):
            await tell(agents, document(1, WEB, bad))
            assert agents.settled()
            gateway, found = agents.left_out()["shop/bad"]
            assert (gateway, found.reason) == ("g1", "BadProtocol")
            assert "shop/web" not in agents.left_out()
            await asyncio.sleep(2.5)
            assert set(agents.left_out()) == {"shop/bad"}, "an answer to a heartbeat does not repeat it"

    run_virtually(scene())


def test_gateways_ask_whom_they_are_told_to_also_after_a_restart() -> None:
    async def scene() -> None:
        agents, first, second = two()
        node = Backend("10.1.0.1", 10256)
        wanted = Errands(probes=Probes((node,)))
        heard: list[None] = []
        work = asyncio.create_task(agents.run(lambda: heard.append(None), lambda: wanted, every=1.0))
        await tell(agents, document(1, WEB))
        await asyncio.sleep(3.5)
        assert [each.asked.count("put probes") for each in (first, second)] == [1, 1]
        second.twin.start()
        await asyncio.sleep(2.5)
        assert [each.asked.count("put probes") for each in (first, second)] == [1, 2]
        for each in (first, second):
            assert agents.silent() == frozenset(), "one alone is not believed"
            each.twin.machine.unreached.add(node.address)
            await each.twin.probe()
            await asyncio.sleep(1.0)
        before = len(heard)
        assert agents.silent() == {"10.1.0.1"}
        wanted = Errands()
        await asyncio.sleep(2.5)
        assert agents.gateways["g1"].state.probes == ""
        assert len(heard) > before
        work.cancel()

    run_virtually(scene())


def test_a_gateway_that_knows_of_no_probes_is_told_once() -> None:
    class Older(Wire):
        async def send(self, request: Request) -> Response:
            response = await super().send(request)
            return Response(404) if request.what == "put probes" else response

    async def scene() -> None:
        older = Older("g1")
        agents = Agents({"g1": older}, SILENT)
        wanted = Errands(probes=Probes((Backend("10.1.0.1", 10256),)))
        work = asyncio.create_task(agents.run(lambda: None, lambda: wanted, every=1.0))
        await tell(agents, document(1, WEB))
        await asyncio.sleep(5.0)
        assert older.asked.count("put probes") == 1
        assert agents.live()
        work.cancel()

    run_virtually(scene())


def test_a_drained_gateway_gives_way_and_is_told_documents_all_the_same() -> None:
    async def scene() -> None:
        agents, first, second = two()
        drained = Errands(frozenset({"g2"}))
        work = asyncio.create_task(agents.run(lambda: None, lambda: drained, every=1.0))
        await tell(agents, document(1, WEB))
        await asyncio.sleep(1.0)
        assert [each.twin.machine.daemon.lowered() for each in (first, second)] == [False, True]
        assert agents.gateways["g2"].state.drained
        await tell(agents, document(2, DNS))
        assert second.twin.document == document(2, DNS)
        second.twin.start()
        assert second.twin.machine.daemon.lowered(), "a restart of the agent does not undo it"
        drained = Errands()
        await asyncio.sleep(1.0)
        assert not second.twin.machine.daemon.lowered()
        work.cancel()

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
        async with at_work(agents):
            for generation in (1, 2):
                await tell(agents, document(generation, WEB, sticky))
                assert agents.settled()
            assert [each.service for each in old.document.forwards] == ["shop/web"]
            gateway, found = agents.left_out()["shop/dns"]
            assert (gateway, found.reason) == ("g1", "AgentTooOld")
            assert "0.0.9" in found.message
            await tell(agents, document(3, WEB, DNS))
            assert len(old.document.forwards) == 2
            assert agents.left_out() == {}

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


class Late(Wire):
    """What it says of itself in a heartbeat comes back when it is no longer so."""

    async def send(self, request: Request) -> Response:
        response = await super().send(request)
        if request.what == "heartbeat":
            await asyncio.sleep(0.5)
        return response


def test_an_answer_that_was_overtaken_says_nothing() -> None:
    async def scene() -> None:
        late = Late("g1")
        agents = Agents({"g1": late}, SILENT)
        await told_by_another(document(1, WEB), g1=late)
        late.asked.clear()
        agents.tell(editions.of(document(2, WEB, DNS)))
        async with at_work(agents, every=30.0):
            await asyncio.sleep(5.0)
            assert agents.settled(), "the heartbeat was sent first, and answered last"
        assert documents(late) == ["put document"]

    run_virtually(scene())
