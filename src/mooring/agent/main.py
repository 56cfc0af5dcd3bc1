"""One agent: builds its parts, brings back what it was told, serves until it is told to end.

When it ends, rules and keepalived stay as they are: packets do not need it.
"""

import asyncio
import contextlib
import signal
import ssl
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import prometheus_client
from cryptography import x509
from structlog.typing import FilteringBoundLogger

from mooring.agent.app import app
from mooring.agent.gateway import Gateway
from mooring.agent.host import Host
from mooring.agent.metrics import GatewayCollector, Metrics
from mooring.core.vrrp import Vrrp as VrrpSettings
from mooring.host import settings
from mooring.host.connections import Connections
from mooring.host.disk import Folder
from mooring.host.errors import HostError
from mooring.host.journal import Journal
from mooring.host.keepalived import Keepalived
from mooring.host.nftables import Nftables
from mooring.model.config import Config
from mooring.model.errors import StartRefused
from mooring.wire import serving

TICK = 0.25
TEND = 1.0
VERSION = metadata.version("mooring")
SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def run(config: Config, log: FilteringBoundLogger) -> None:
    """Serve until SIGTERM or SIGINT, or until cancelled."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, ended.set)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="gateway") as hand:
            await _serve(config, log, hand, ended)
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _serve(config: Config, log: FilteringBoundLogger, hand: Executor, ended: asyncio.Event) -> None:
    tls = Certificates(config)
    gateway = build(config, log)
    try:
        await asyncio.get_running_loop().run_in_executor(hand, gateway.start)
        changes = settings.apply()  # after the rules: with them comes the kernel's module that has the settings
    except HostError as error:
        raise StartRefused(str(error)) from error
    for change in changes:
        log.info("setting changed", name=change.name, before=change.before, now=change.now)
    registry = prometheus_client.CollectorRegistry()
    metrics = Metrics(registry)
    registry.register(GatewayCollector(gateway, certificate_ends=lambda: tls.ends))
    async with (
        serving.serving(serving.monitoring(registry, gateway.ready), config.agent.monitoring),
        serving.serving(app(gateway, hand, metrics), config.agent.listen, tls=tls.context),
    ):
        log.info("serving", listen=config.agent.listen, monitoring=config.agent.monitoring, version=VERSION)
        loops: tuple[asyncio.Task[Any], ...] = (
            asyncio.create_task(_tick(gateway)),
            asyncio.create_task(_tend(gateway, hand, metrics)),
            asyncio.create_task(_renew(tls, log)),
            asyncio.create_task(ended.wait()),
        )
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in loops:
                each.cancel()
        for each in done:
            each.result()  # a loop never ends but by an error of ours
        log.info("ending; rules and keepalived stay")


def build(config: Config, log: FilteringBoundLogger) -> Gateway:
    """The gateway over the real host. Nothing is touched yet."""
    folder = Path(config.agent.state).absolute()
    wanted = config.vrrp
    daemon = Keepalived(folder, interface=wanted.interface, address=wanted.address)
    others = tuple((address, interface) for address, _, interface in (each.partition(" dev ") for each in wanted.also))
    vrrp = VrrpSettings(
        wanted.interface,
        wanted.router_id,
        wanted.interval,
        wanted.address,
        str(daemon.files.stale),
        others,
        str(daemon.files.reload),
        str(daemon.files.script),
    )
    host = Host(Journal(Folder(folder)), Nftables(), daemon, Connections())
    return Gateway(host, vrrp, log=log, clock=time.monotonic, version=VERSION)


class Certificates:
    """The agent's certificates. Those that lie in the files now are used for every new connection."""

    def __init__(self, config: Config) -> None:
        self._files = config.tls
        self.context = self._loaded()
        self._written = self._times()
        self.ends = self._expiry()

    def renew(self) -> bool:
        """Whether there were new ones."""
        written = self._times()
        if written == self._written:
            return False
        self._loaded()  # half of a pair would spoil what is in use
        self.context.load_verify_locations(self._files.ca)
        self.context.load_cert_chain(self._files.certificate, self._files.key)
        self._written, self.ends = written, self._expiry()
        return True

    def _loaded(self) -> ssl.SSLContext:
        return serving.server_tls(self._files.ca, self._files.certificate, self._files.key)

    def _times(self) -> tuple[int, ...]:
        files = self._files
        return tuple(Path(each).stat().st_mtime_ns for each in (files.ca, files.certificate, files.key))

    def _expiry(self) -> float:
        certificate = x509.load_pem_x509_certificate(Path(self._files.certificate).read_bytes())
        return certificate.not_valid_after_utc.timestamp()


async def _tick(gateway: Gateway) -> None:
    while True:
        gateway.tick()
        await asyncio.sleep(TICK)


async def _tend(gateway: Gateway, hand: Executor, metrics: Metrics) -> None:
    loop = asyncio.get_running_loop()
    tend: Callable[[], bool] = gateway.tend
    while True:
        if await loop.run_in_executor(hand, tend):
            metrics.vrrp_starts.inc()
        await asyncio.sleep(TEND)


async def _renew(tls: Certificates, log: FilteringBoundLogger) -> None:
    while True:
        await asyncio.sleep(10 * TEND)
        with contextlib.suppress(FileNotFoundError):  # while they are being replaced
            try:
                if tls.renew():
                    log.info("certificates renewed", seconds_left=round(tls.ends - time.time()))
            except (serving.CannotServe, ValueError) as error:
                log.warning("new certificates not used", error=str(error))
