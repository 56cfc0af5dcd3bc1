"""The agent's interface over TLS on loopback: what it answers to whom."""

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiohttp
import msgspec
import pytest

from mooring.agent.app import LARGEST_CLIENTS, Turns
from mooring.core import gateway_document
from mooring.host.keepalived import KeepalivedError
from mooring.host.nftables import NftError
from mooring.model.gateway import (
    Backend,
    Clients,
    Counted,
    Counters,
    Document,
    Forward,
    Heartbeat,
    Held,
    Refusal,
    Remembered,
    State,
)
from tests.agent.agents import Certificates, Running, client, running
from tests.patience import until

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns")

Scene = Callable[[aiohttp.ClientSession, Running], Awaitable[None]]


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def document(generation: int, *forwards: Forward) -> Document:
    return gateway_document.document(forwards, epoch=1, generation=generation, seed=7)


def play(certificates: Certificates, scene: Scene) -> None:
    async def whole() -> None:
        async with running(certificates, largest=10_000) as agent, client(certificates) as session:
            await scene(session, agent)

    asyncio.run(whole())


async def put(session: aiohttp.ClientSession, agent: Running, body: bytes) -> tuple[int, bytes]:
    async with session.put(f"{agent.url}/v1/document", data=body) as response:
        return response.status, await response.read()


def test_each_answer(certificates: Certificates) -> None:
    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        first, second = document(1, WEB), document(2, WEB, DNS)
        async with session.get(f"{agent.url}/v1/state") as response:
            assert msgspec.json.decode(await response.read(), type=State).held.epoch == 0
        for wanted, status, held in (
            (second, 200, second),
            (second, 200, second),
            (first, 409, second),
            (document(2, WEB), 409, second),
        ):
            found, body = await put(session, agent, msgspec.json.encode(wanted))
            assert found == status
            assert msgspec.json.decode(body, type=State).held == held.held
        for beat, status in ((Heartbeat(1, 2), 200), (Heartbeat(0, 9), 409)):
            async with session.post(f"{agent.url}/v1/heartbeat", data=msgspec.json.encode(beat)) as response:
                assert response.status == status
                assert msgspec.json.decode(await response.read(), type=State).held == second.held
        async with session.get(f"{agent.url}/v1/document") as response:
            assert response.status == 405

    play(certificates, scene)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 422, "NotUnderstood"),
        (b"<html>", 422, "NotUnderstood"),
        (b'{"epoch": "one"}', 422, "NotUnderstood"),
        (b'{"epoch":1,"deep":' + b"[" * 9_000, 422, "NotUnderstood"),
        (msgspec.json.encode(document(1, WEB, WEB)), 422, "Twice"),
        (msgspec.json.encode(msgspec.structs.replace(document(1, WEB), digest="0")), 422, "OtherDigest"),
        (b" " * 10_001, 413, "TooLarge"),
    ],
)
def test_nonsense_is_refused_and_said_why(certificates: Certificates, body: bytes, status: int, reason: str) -> None:
    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        found, told = await put(session, agent, body)
        assert found == status
        assert msgspec.json.decode(told, type=Refusal).reason == reason
        assert agent.gateway.document.epoch == 0
        async with session.get(f"{agent.url}/v1/state") as response:
            trouble = msgspec.json.decode(await response.read(), type=State).trouble
        assert trouble == msgspec.json.decode(told, type=Refusal).message

    play(certificates, scene)


def test_what_the_host_refuses_is_told(certificates: Certificates) -> None:
    refuses = False

    def point(kind: str) -> None:
        if refuses and kind == "rules":
            raise NftError("no memory")

    async def scene() -> None:
        nonlocal refuses
        async with running(certificates, point) as agent, client(certificates) as session:
            refuses = True
            status, body = await put(session, agent, msgspec.json.encode(document(1, WEB)))
            assert status == 500
            assert msgspec.json.decode(body, type=Refusal) == Refusal("RulesRefused", "no memory")
            async with session.get(f"{agent.monitoring}/readyz") as response:
                assert response.status == 503
                assert await response.text() == "the last document could not be applied: no memory\n"

    asyncio.run(scene())


def test_heartbeats_are_answered_while_a_document_is_applied(certificates: Certificates) -> None:
    entered, free = threading.Event(), threading.Event()

    def point(kind: str) -> None:
        if kind == "disk":
            entered.set()
            assert free.wait(10)

    async def scene() -> None:
        async with running(certificates, point) as agent, client(certificates) as session:
            wanted = document(1, WEB)
            task = asyncio.create_task(put(session, agent, msgspec.json.encode(wanted)))
            await until(entered.is_set, what="the document to be written")
            async with session.post(f"{agent.url}/v1/heartbeat", data=b'{"epoch":1,"generation":1}') as response:
                assert msgspec.json.decode(await response.read(), type=State).held.epoch == 0
            assert not task.done()
            free.set()
            assert (await task)[0] == 200

    asyncio.run(scene())


def test_what_is_monitored(certificates: Certificates) -> None:
    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        await put(session, agent, msgspec.json.encode(document(2, WEB, DNS)))
        await put(session, agent, msgspec.json.encode(document(1)))
        texts = {}
        for page in ("healthz", "readyz", "metrics"):
            async with session.get(f"{agent.monitoring}/{page}") as response:
                assert response.status == 200
                texts[page] = await response.text()
        lines = texts["metrics"].splitlines()
        for line in (
            "mooring_agent_held_epoch 1.0",
            "mooring_agent_held_generation 2.0",
            "mooring_agent_forwards 2.0",
            "mooring_agent_backends 1.0",
            "mooring_agent_addresses 2.0",
            'mooring_agent_documents_total{outcome="applied"} 1.0',
            'mooring_agent_documents_total{outcome="older"} 1.0',
            'mooring_agent_vrrp_state{state="master"} 1.0',
            'mooring_agent_vrrp_state{state="backup"} 0.0',
        ):
            assert line in lines
        helped = {line.split()[2] for line in lines if line.startswith("# HELP")}
        assert {line.split()[2] for line in lines if line.startswith("# TYPE")} == helped

    play(certificates, scene)


def test_a_gateway_whose_vrrp_has_ended_is_not_ready(certificates: Certificates) -> None:
    ended = False

    def point(kind: str) -> None:
        if ended and kind == "vrrp":
            raise KeepalivedError("it does not start")

    async def scene() -> None:
        nonlocal ended
        async with running(certificates, point) as agent, client(certificates) as session:
            ended, agent.machine.daemon.alive = True, False
            agent.gateway.tend()
            async with session.get(f"{agent.monitoring}/readyz") as response:
                assert response.status == 503
                assert await response.text() == "keepalived does not run\n"

    asyncio.run(scene())


def test_what_differs_is_taken_and_what_differs_from_something_else_is_not(certificates: Certificates) -> None:
    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        first, second = document(1, WEB), document(2, WEB, DNS)
        await put(session, agent, msgspec.json.encode(first))
        delta = gateway_document.delta(first.held, second.held, [DNS.place], {DNS.place: DNS})
        for sent, status in ((msgspec.structs.replace(delta, base=Held(1, 7, "x")), 409), (delta, 200)):
            async with session.patch(f"{agent.url}/v1/document", data=msgspec.json.encode(sent)) as response:
                assert response.status == status
                held = msgspec.json.decode(await response.read(), type=State).held
                assert held == (second if status == 200 else first).held

    play(certificates, scene)


def test_of_those_that_wait_the_last_one_is_served(certificates: Certificates) -> None:
    entered, free = threading.Event(), threading.Event()

    def point(kind: str) -> None:
        if kind == "disk":
            entered.set()
            assert free.wait(10)

    async def scene() -> None:
        async with running(certificates, point) as agent, client(certificates) as session:
            tasks = []
            for generation in range(1, 5):
                body = msgspec.json.encode(document(generation, WEB))
                tasks.append(asyncio.create_task(put(session, agent, body)))
                await until(entered.is_set, what="the first one to be applied")
                await until(lambda: sum(each.done() for each in tasks) == max(0, len(tasks) - 2), what="the one before")
            free.set()
            answers = [await each for each in tasks]
            assert [status for status, _ in answers] == [200, 409, 409, 200]
            assert agent.gateway.document == document(4, WEB)

    asyncio.run(scene())


def test_one_that_goes_away_while_it_waits_holds_nobody_up() -> None:
    async def scene() -> None:
        turns = Turns()
        assert await turns.wait((1, 1))
        gone = asyncio.create_task(turns.wait((1, 2)))
        await asyncio.sleep(0)
        turns.pass_on()
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        assert await asyncio.wait_for(turns.wait((1, 3)), 1)

    asyncio.run(scene())


def test_an_older_one_does_not_take_the_turn_of_a_newer_that_waits() -> None:
    async def scene() -> None:
        turns = Turns()
        assert await turns.wait((1, 1))
        newer = asyncio.create_task(turns.wait((1, 7)))
        await asyncio.sleep(0)
        assert not await turns.wait((1, 6))
        turns.pass_on()
        assert await newer

    asyncio.run(scene())


def test_the_rest_is_told_where_the_kernel_does_not_say_what_it_counted(certificates: Certificates) -> None:
    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        await put(session, agent, msgspec.json.encode(document(1, WEB)))
        agent.machine.kernel.spoil({})
        async with session.get(f"{agent.monitoring}/metrics") as response:
            told = await response.text()
        assert "mooring_agent_forwards 1.0" in told
        assert "mooring_service_connections_total{" not in told

    play(certificates, scene)


STICKY = msgspec.structs.replace(WEB, affinity=600)


def test_counters_are_told_or_why_not(certificates: Certificates) -> None:
    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        async def counters() -> tuple[int, bytes]:
            async with session.get(f"{agent.url}/v1/counters") as response:
                return response.status, await response.read()

        assert await counters() == (200, b'{"counted":[]}')
        await put(session, agent, msgspec.json.encode(document(1, WEB)))
        agent.machine.kernel.passed = 7
        status, body = await counters()
        assert status == 200
        [counted] = msgspec.json.decode(body, type=Counters).counted
        assert counted == Counted(WEB.service, WEB.address, WEB.protocol, WEB.port, 7)
        agent.machine.kernel.spoil({})
        status, body = await counters()
        assert status == 500
        assert msgspec.json.decode(body, type=Refusal).reason == "RulesRefused"

    play(certificates, scene)


def test_clients_are_told_and_taken(certificates: Certificates) -> None:
    told = Clients((Remembered(*STICKY.place, STICKY.backends[0], (("203.0.113.9", 300),)),))

    async def scene(session: aiohttp.ClientSession, agent: Running) -> None:
        await put(session, agent, msgspec.json.encode(document(1, STICKY)))
        url = f"{agent.url}/v1/clients"
        async with session.get(url) as response:
            assert (response.status, await response.read()) == (200, b'{"remembered":[]}')
        for body, status, reason in (
            (msgspec.json.encode(told), 200, ""),
            (b"nonsense", 422, "NotUnderstood"),
            (b" " * (LARGEST_CLIENTS + 1), 413, "TooLarge"),
        ):
            async with session.put(url, data=io.BytesIO(body)) as response:
                assert response.status == status
                answer = await response.read()
                if reason:
                    assert msgspec.json.decode(answer, type=Refusal).reason == reason
                else:
                    assert msgspec.json.decode(answer, type=State).held == document(1, STICKY).held
        assert len([each for each in agent.machine.kernel.in_force if each.set == "affinity"]) == 1

    play(certificates, scene)
