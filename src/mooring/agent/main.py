"""One agent: builds its parts, brings back what it was told, serves until it is told to end.

When it ends, rules and keepalived stay as they are: packets do not need it.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import prometheus_client
from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.agent.app import app
from mooring.agent.certificates import Certificates
from mooring.agent.counting import Counting
from mooring.agent.gateway import Choices, Gateway
from mooring.agent.host import Connections as ConnectionsOf
from mooring.agent.host import Filter, Host
from mooring.agent.memory import Memory
from mooring.agent.metrics import GatewayCollector, Metrics
from mooring.agent.record import restored
from mooring.agent.standing import Standing
from mooring.core import agent_choices, vrrp
from mooring.core.ruleset import Mode
from mooring.host import locking, settings
from mooring.host.connections import Connections
from mooring.host.disk import Disk, Folder
from mooring.host.errors import HostError
from mooring.host.hosted_keepalived import Hosted, HostedKeepalived
from mooring.host.journal import Journal
from mooring.host.keepalived import Instances, Keepalived
from mooring.host.keepalived_files import Files
from mooring.host.nftables import Nftables
from mooring.model.config import Config
from mooring.model.errors import Hindered, StartRefused
from mooring.model.gateway import Held
from mooring.wire import serving

TICK = 0.25
TEND = 1.0
VERSION = metadata.version("mooring")
SIGNALS = (signal.SIGTERM, signal.SIGINT)
NO_CERTIFICATES = (
    "Make them where the authority is, with `mooring pki issue agent NAME --address ADDRESS`, and copy tls.crt, "
    "tls.key and ca.crt to this host, to where section tls names them"
)


class Parts(Struct, frozen=True):
    """What touches the host. A test that ends the agent between two effects has others, which do the same."""

    disk: Callable[[Path], Disk] = Folder
    filter: Callable[[], Filter] = Nftables
    daemon: Callable[[Path, Instances], Keepalived] = Keepalived
    connections: Callable[[], ConnectionsOf] = Connections


REAL = Parts()


async def run(config: Config, log: FilteringBoundLogger, parts: Parts = REAL) -> None:
    """Serve until SIGTERM or SIGINT, or until cancelled."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, ended.set)
    try:
        tls = _certificates(config)
        with alone(config):
            await _serve(build(config, log, parts), config, tls, log, ended)
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def alone(config: Config) -> Iterator[None]:
    try:
        with locking.held(Path(config.agent.state).absolute()):
            yield
    except locking.Locked as error:
        raise Hindered(str(error)) from error


def _certificates(config: Config) -> Certificates:
    try:
        return Certificates(config)
    except serving.CannotServe as error:
        raise StartRefused(f"{error}. {NO_CERTIFICATES}") from error


def reset_epoch(config: Config) -> Held:
    """Let a gateway forget whose document it holds, so that it takes that of any leader. Returns whose it was.

    What it serves stays; it gives way to others until a leader has told it something.
    """
    folder = Path(config.agent.state).absolute()
    try:
        _lines(Journal(Folder(folder)), folder)  # before there is a lock, which would be the only file
        with alone(config):
            journal = Journal(Folder(folder))
            told = restored(_lines(journal, folder))
            document = msgspec.structs.replace(told.document, epoch=0, generation=0)
            journal.prepare(msgspec.json.encode(document))
            journal.commit()
    except HostError as error:
        raise Hindered(str(error)) from error
    return told.held


def _lines(journal: Journal, folder: Path) -> tuple[bytes, ...]:
    lines = journal.read()
    if lines is None:
        raise StartRefused(f"there is nothing to reset: the agent of {folder} was never told anything, and takes any")
    return lines


async def _serve(
    gateway: Gateway, config: Config, tls: Certificates, log: FilteringBoundLogger, ended: asyncio.Event
) -> None:
    hand = ThreadPoolExecutor(1, thread_name_prefix="gateway")
    try:
        await asyncio.get_running_loop().run_in_executor(hand, gateway.start)
        _settings(config, log)  # after the rules: with them comes the kernel's module that has the settings
    except HostError as error:
        raise Hindered(str(error)) from error
    registry = prometheus_client.CollectorRegistry()
    metrics = Metrics(registry)
    gateway.certificate_ends = lambda: tls.ends
    scraped, asked = (Counting(gateway.rules, Nftables()) for _ in range(2))  # neither waits for the other
    registry.register(GatewayCollector(gateway, scraped, certificate_ends=lambda: tls.ends))
    async with (
        serving.serving(serving.monitoring(registry, gateway.ready), config.agent.monitoring),
        serving.serving(app(gateway, hand, metrics, asked), config.agent.listen, tls=tls.context),
    ):
        log.info("serving", listen=config.agent.listen, monitoring=config.agent.monitoring, version=VERSION)
        loops: tuple[asyncio.Task[Any], ...] = (
            asyncio.create_task(_tick(gateway)),
            asyncio.create_task(_tend(gateway, hand, metrics)),
            asyncio.create_task(_recall(gateway.memory)),
            asyncio.create_task(_renew(tls, log)),
            asyncio.create_task(gateway.probing.run()),
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


def _settings(config: Config, log: FilteringBoundLogger) -> None:
    if config.agent.kernel == "check":
        for told in settings.check(config.vrrp.interface):
            log.warning("setting is not as it has to be", told=told)
        return
    for change in settings.apply(config.vrrp.interface):
        log.info("setting changed", name=change.name, before=change.before, now=change.now)


def build(config: Config, log: FilteringBoundLogger, parts: Parts = REAL) -> Gateway:
    """The gateway over the real host. Nothing is touched yet."""
    folder = Path(config.agent.state).absolute()
    agent = msgspec.structs.replace(config.agent, state=str(folder))
    problem = agent_choices.problem(msgspec.structs.replace(config, agent=agent))
    if problem is not None:
        raise StartRefused(problem)
    wanted = _vrrp(config)
    daemon = keepalived(config, parts)
    host = Host(Journal(parts.disk(folder)), parts.filter(), daemon, parts.connections(), Nftables())
    return Gateway(host, wanted, choices(config), log=log, clock=time.monotonic)


def _vrrp(config: Config) -> vrrp.Vrrp:
    files = Files(Path(config.agent.state).absolute())
    return vrrp.settings(
        config.vrrp,
        stale_file=str(files.stale),
        reload_file=str(files.reload),
        alive_script=str(files.script),
        fifo=str(files.fifo),
    )


def keepalived(config: Config, parts: Parts = REAL) -> Keepalived:
    """Keepalived of our own, or a part of the host's."""
    folder, ours, wanted = Path(config.agent.state).absolute(), config.vrrp, _vrrp(config)
    address, *further = vrrp.advertised(wanted)
    instances = Instances(
        ours.interface, address, tuple(further), lambda each: vrrp.instance_of(each, wanted.instances)
    )
    if ours.daemon == "own":
        return parts.daemon(folder, instances)
    hosted = Hosted(Path(ours.file), Path(ours.main), Path(ours.pid_file), ours.reload)
    return HostedKeepalived(folder, instances, hosted)


def choices(config: Config) -> Choices:
    wanted = config.forwarding
    ended = frozenset({"UDP", "TCP", "SCTP"}) if wanted.removed == "end" else frozenset({"UDP"})
    return Choices(Mode(wanted.snat, wanted.denied, wanted.counters), ended, VERSION)


async def _tick(gateway: Gateway) -> None:
    while True:
        gateway.tick()
        await asyncio.sleep(TICK)


async def _recall(memory: Memory) -> None:
    """See which clients others have to know of, while there may be any."""
    while True:
        if memory.due():
            await asyncio.to_thread(memory.look)
        await asyncio.sleep(TICK)


async def _tend(gateway: Gateway, hand: Executor, metrics: Metrics) -> None:
    """Once a second, and as soon as VRRP says that something has changed."""
    loop = asyncio.get_running_loop()
    turned = asyncio.Event()
    with _listening(gateway.standing, turned.set):
        while True:
            turned.clear()
            if await loop.run_in_executor(hand, gateway.tend):
                metrics.vrrp_starts.inc()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(turned.wait(), TEND)


@contextlib.contextmanager
def _listening(standing: Standing, turned: Callable[[], None]) -> Iterator[None]:
    """Have something called when VRRP says that something has changed."""
    descriptor = standing.changes()
    if descriptor is None:
        yield
        return

    def heard() -> None:
        standing.heard()
        turned()

    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, heard)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)


async def _renew(tls: Certificates, log: FilteringBoundLogger) -> None:
    while True:
        await asyncio.sleep(10 * TEND)
        with contextlib.suppress(FileNotFoundError):  # while they are being replaced
            try:
                if tls.renew():
                    log.info("certificates renewed", seconds_left=round(tls.ends - time.time()))
            except (serving.CannotServe, ValueError) as error:
                log.warning("new certificates not used", error=str(error))
