"""An agent's interface on loopback, over a host in memory, with certificates that are made for it."""

import datetime as dt
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import prometheus_client
from msgspec import Struct

from mooring.agent.app import LARGEST_DOCUMENT, Limits, app
from mooring.agent.counting import Counting
from mooring.agent.gateway import Choices, Gateway
from mooring.agent.metrics import GatewayCollector, Metrics
from mooring.core.vrrp import Vrrp
from mooring.host.certificates import Authority, Role
from mooring.wire import serving
from tests.silent import SILENT
from tests.simulation.host import Machine, Point

SETTINGS = Vrrp("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")
LIFE = dt.timedelta(days=2)


class Certificates:
    """An authority and what it signs, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = Authority(folder / "authority")
        self._authority.create()

    def issued(self, role: Role, name: str) -> Path:
        folder = self._folder / name
        if not folder.exists():
            addresses = ["127.0.0.1"] if role is Role.AGENT else []
            self._authority.issue_to(folder, role, name, addresses=addresses, life=LIFE)
        return folder


def client_tls(ca: Path, own: Path | None) -> ssl.SSLContext:
    """A client that trusts an authority and shows a certificate, or none."""
    context = ssl.create_default_context(cafile=str(ca))
    if own is not None:
        context.load_cert_chain(own / "tls.crt", own / "tls.key")
    return context


class Running(Struct, frozen=True):
    gateway: Gateway
    machine: Machine
    url: str
    monitoring: str


@asynccontextmanager
async def running(
    certificates: Certificates, point: Point = lambda _: None, *, largest: int = LARGEST_DOCUMENT
) -> AsyncIterator[Running]:
    """The agent's two servers, as its main starts them."""
    own = certificates.issued(Role.AGENT, "gw1")
    tls = serving.server_tls(str(own / "ca.crt"), str(own / "tls.crt"), str(own / "tls.key"))
    machine = Machine(point)
    gateway = Gateway(machine.host, SETTINGS, Choices(version="1"), log=SILENT, clock=lambda: 0.0)
    gateway.start()
    registry = prometheus_client.CollectorRegistry()
    metrics = Metrics(registry)
    counting = Counting(gateway.rules, machine.kernel)
    registry.register(GatewayCollector(gateway, counting, certificate_ends=lambda: 0.0))
    with ThreadPoolExecutor(1) as hand:
        async with (
            serving.serving(app(gateway, hand, metrics, counting, Limits(largest)), "127.0.0.1:0", tls=tls) as port,
            serving.serving(serving.monitoring(registry, gateway.ready), "127.0.0.1:0") as plain,
        ):
            yield Running(gateway, machine, f"https://127.0.0.1:{port}", f"http://127.0.0.1:{plain}")


@asynccontextmanager
async def client(certificates: Certificates) -> AsyncIterator[aiohttp.ClientSession]:
    """A controller's."""
    own = certificates.issued(Role.CONTROLLER, "controller")
    connector = aiohttp.TCPConnector(ssl=client_tls(own / "ca.crt", own))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session
