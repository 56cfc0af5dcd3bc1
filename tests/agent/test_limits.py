"""What somebody can take from an agent by sending much, deep or slowly, by many connections: a little, not for long.

The slow ones know no secret: they are connections to the agent's port that never get through the handshake, and to its
page for monitoring. Who has a controller's certificate is told to hurry too.
"""

import asyncio
import io
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import msgspec
import prometheus_client
import pytest

from mooring.agent.app import LARGEST_DOCUMENT, SLOWEST, Limits, app
from mooring.agent.counting import Counting
from mooring.agent.gateway import Choices, Gateway
from mooring.agent.metrics import GatewayCollector, Metrics
from mooring.core import gateway_document
from mooring.host.certificates import Role
from mooring.model.gateway import Backend, Forward, Refusal, State
from mooring.wire import serving
from mooring.wire.serving import MOST_STRANGERS, PATIENCE
from tests.agent.agents import SETTINGS, Certificates, Running, client, client_tls
from tests.patience import until
from tests.silent import SILENT
from tests.simulation.host import Machine

SLOW = 500
HURRY = 1.0
"""Seconds that the slow get here, in place of the usual ones."""
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
HONEST = 2.0
"""Seconds in which an honest request is answered, on a machine that has other things to do too."""


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


@asynccontextmanager
async def limited(
    certificates: Certificates, *, largest: int = LARGEST_DOCUMENT, slowest: float = HURRY
) -> AsyncIterator[Running]:
    """An agent over a host in memory that is in a hurry."""
    own = certificates.issued(Role.AGENT, "gw1")
    tls = serving.server_tls(*(str(own / name) for name in ("ca.crt", "tls.crt", "tls.key")))
    machine = Machine(lambda _: None)
    gateway = Gateway(machine.host, SETTINGS, Choices(version="1"), log=SILENT, clock=time.monotonic)
    gateway.start()
    registry = prometheus_client.CollectorRegistry()
    metrics = Metrics(registry)
    counting = Counting(gateway.rules, machine.kernel)
    registry.register(GatewayCollector(gateway, counting, certificate_ends=lambda: 0.0))
    monitoring = serving.monitoring(registry, gateway.ready)
    with ThreadPoolExecutor(1) as hand:
        served = app(gateway, hand, metrics, counting, Limits(largest, slowest))
        async with (
            serving.serving(served, "127.0.0.1:0", tls=tls, patience=HURRY) as port,
            serving.serving(monitoring, "127.0.0.1:0", patience=HURRY) as plain,
        ):
            yield Running(gateway, machine, f"https://127.0.0.1:{port}", f"http://127.0.0.1:{plain}")


def test_the_usual_limits_are_short() -> None:
    assert PATIENCE <= 10
    assert SLOWEST <= 60
    assert MOST_STRANGERS <= 100


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(("size", "status"), [(10_000, 422), (10_001, 413), (3_000_000, 413)])
def test_a_body_may_have_just_so_many_bytes(certificates: Certificates, method: str, size: int, status: int) -> None:
    """What is too large is told so, however large, and the connection goes on."""

    async def scene() -> None:
        async with limited(certificates, largest=10_000) as agent, client(certificates) as session:
            url = f"{agent.url}/v1/document"
            async with session.request(method, url, data=io.BytesIO(b" " * size)) as response:
                assert response.status == status
                told = msgspec.json.decode(await response.read(), type=Refusal)
            assert told.reason == ("TooLarge" if status == 413 else "NotUnderstood")
            assert await honest(certificates, session, agent) < HONEST

    asyncio.run(scene())


def test_much_that_is_too_large_is_not_kept(certificates: Certificates) -> None:
    piece, count = b" " * (1 << 20), 150

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(count):
            yield piece

    async def scene() -> None:
        async with limited(certificates, largest=1 << 20, slowest=30.0) as agent, client(certificates) as session:
            await honest(certificates, session, agent)
            before = resident()
            forget_the_most()
            async with session.put(f"{agent.url}/v1/document", data=pieces()) as response:
                assert response.status == 413
            assert most_resident() - before < 32 << 20
            assert await honest(certificates, session, agent) < HONEST

    asyncio.run(scene())


def test_who_goes_away_in_the_middle_is_no_error(certificates: Certificates, caplog: pytest.LogCaptureFixture) -> None:
    own = certificates.issued(Role.CONTROLLER, "controller")

    async def scene() -> None:
        async with limited(certificates) as agent, client(certificates) as session:
            host, _, port = agent.url.removeprefix("https://").rpartition(":")
            tls = client_tls(own / "ca.crt", own)
            for _ in range(3):
                _, writer = await asyncio.open_connection(host, int(port), ssl=tls, server_hostname=host)
                writer.write(BODY)
                await writer.drain()
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
            assert await honest(certificates, session, agent) < HONEST

    asyncio.run(scene())
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'{"epoch":1,"generation":1,"digest":"","forwards":' + b"[" * 500_000,
        b'{"epoch":1,"generation":1,"digest":"","forwards":[],"x":' + b'{"x":[' * 200_000,
        b'{"epoch":1,"generation":1,"digest":"","forwards":[' + b",".join([b"{}"] * 1_000_000) + b"]}",
        b'{"epoch":1,"generation":1,"digest":"","forwards":[' + b",".join([b"[]"] * 1_000_000) + b"]}",
    ],
    ids=["lists", "objects", "within", "unknown", "a million objects", "a million lists"],
)
def test_bombs_are_refused_quickly(certificates: Certificates, body: bytes) -> None:
    async def scene() -> None:
        async with limited(certificates) as agent, client(certificates) as session:
            begin = time.monotonic()
            async with session.put(f"{agent.url}/v1/document", data=io.BytesIO(body)) as response:
                assert response.status == 422
                assert len(await response.read()) < 1000
            assert time.monotonic() - begin < 5
            assert await honest(certificates, session, agent) < HONEST

    asyncio.run(scene())


async def honest(certificates: Certificates, session: aiohttp.ClientSession, agent: Running) -> float:
    """Seconds until a heartbeat on a connection that is there, one on a new one, and monitoring are answered."""
    begin = time.monotonic()
    async with session.post(f"{agent.url}/v1/heartbeat", data=b'{"epoch":1,"generation":1}') as response:
        assert response.status == 200
    async with client(certificates) as other:
        async with other.get(f"{agent.url}/v1/state") as response:
            assert response.status == 200
        async with other.get(f"{agent.monitoring}/healthz") as response:
            assert response.status == 200
    return time.monotonic() - begin


class Slow:
    """A connection that says its part byte by byte, and never all of it."""

    def __init__(self, url: str, said: bytes, tls: ssl.SSLContext | None = None) -> None:
        host, _, port = url.rpartition("//")[2].rpartition(":")
        self._where = host, int(port)
        self._said = said
        self._tls = tls
        self.ended = False

    async def live(self) -> None:
        try:
            await self._dribble()
        except OSError:
            pass
        finally:
            self.ended = True

    async def _dribble(self) -> None:
        name = self._where[0] if self._tls else None
        reader, writer = await asyncio.open_connection(*self._where, ssl=self._tls, server_hostname=name)
        end = asyncio.create_task(reader.read())
        try:
            whole = len(self._said) - 40 if len(self._said) > 40 else 0
            writer.write(self._said[:whole])
            for at in range(whole, len(self._said)):
                writer.write(self._said[at : at + 1])
                await writer.drain()
                done, _ = await asyncio.wait((end,), timeout=HURRY / 5)
                if done:
                    return
            await end
        finally:
            end.cancel()
            writer.transport.abort()


HELLO = bytes.fromhex("1603010200010001fc0303") + b"\0" * 40
HEAD = b"GET /healthz HTTP/1.1\r\nHost: gw1\r\nX: " + b"x" * 60
BODY = b"PUT /v1/document HTTP/1.1\r\nHost: gw1\r\nContent-Length: 1000\r\n\r\n" + b" " * 60

Target = Callable[[Running, ssl.SSLContext], Slow]
TARGETS: dict[str, tuple[int, Target]] = {
    "silent, at the agent's port": (SLOW, lambda agent, _: Slow(agent.url, b"")),
    "a slow handshake": (SLOW, lambda agent, _: Slow(agent.url, HELLO)),
    "silent, at the page for monitoring": (SLOW, lambda agent, _: Slow(agent.monitoring, b"")),
    "a slow head": (SLOW, lambda agent, _: Slow(agent.monitoring, HEAD)),
    "a controller's slow head": (20, lambda agent, tls: Slow(agent.url, HEAD, tls)),
    "a controller's slow body": (20, lambda agent, tls: Slow(agent.url, BODY, tls)),
}


@pytest.mark.parametrize(("count", "target"), TARGETS.values(), ids=TARGETS)
def test_the_slow_are_ended_and_the_honest_are_served(
    certificates: Certificates, count: int, target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    own = certificates.issued(Role.CONTROLLER, "controller")
    tls = client_tls(own / "ca.crt", own)

    async def scene() -> None:
        async with limited(certificates) as agent, client(certificates) as session:
            usual = max([await honest(certificates, session, agent) for _ in range(5)])
            before = resident()
            slow = [target(agent, tls) for _ in range(count)]
            async with asyncio.TaskGroup() as group:
                for each in slow:
                    group.create_task(each.live())
                longest = max([await honest(certificates, session, agent) for _ in range(5)])
                grown = resident() - before
                await until(lambda: all(each.ended for each in slow), seconds=20, what="the slow to be ended")
            figures = f"honest {longest * 1000:.0f} ms at most, {usual * 1000:.0f} before; memory {grown / before:+.0%}"
            print(f"ran {count} of {count} slow ones: {figures}")  # noqa: T201 - it is what the run is for
            assert longest < HONEST
            assert grown < before / 2
            assert await honest(certificates, session, agent) < HONEST

    asyncio.run(scene())
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_a_connection_that_is_used_again_has_the_same_limits(certificates: Certificates) -> None:
    """After one whole request, the head of the next one does not come."""

    async def scene() -> None:
        async with limited(certificates) as agent:
            whole = b"GET /healthz HTTP/1.1\r\nHost: gw1\r\n\r\n"
            slow = Slow(agent.monitoring, whole + HEAD)
            await asyncio.wait_for(slow.live(), 20)
            assert slow.ended

    asyncio.run(scene())


@pytest.mark.long
def test_ten_thousand_services_with_a_hundred_endpoints_are_taken(certificates: Certificates) -> None:
    pods = [tuple(Backend(f"10.128.{some}.{number}", 8080) for number in range(1, 101)) for some in range(200)]
    forwards = [
        Forward(
            f"10.{number >> 8}.{number & 255}.1", "TCP", 80, f"team-{number % 100}/app-{number}", pods[number % 200]
        )
        for number in range(10_000)
    ]
    whole = msgspec.json.encode(gateway_document.document(forwards, epoch=1, generation=1, seed=7))

    async def scene() -> None:
        async with limited(certificates, slowest=SLOWEST) as agent, client(certificates) as session:
            begin = time.monotonic()
            async with session.put(f"{agent.url}/v1/document", data=io.BytesIO(whole)) as response:
                assert response.status == 200
                state = msgspec.json.decode(await response.read(), type=State)
            took = time.monotonic() - begin
            assert state.left_out == ()
            assert agent.gateway.told.backends == 100 * len(forwards)
            sizes = f"{len(forwards)} Services, {agent.gateway.told.backends} endpoints, {len(whole) >> 20} MB"
            print(f"{sizes}: {took:.1f} s over a host in memory")  # noqa: T201 - it is what the run is for
            assert len(whole) < LARGEST_DOCUMENT

    asyncio.run(scene())


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) << 12


def forget_the_most() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def most_resident() -> int:
    """The most that this process had at a time since that was forgotten."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
