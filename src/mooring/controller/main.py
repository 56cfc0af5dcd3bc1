"""One controller: builds its parts, finds what the configuration names, works until it is told to end.

When it ends, everything stays as it is: the next one goes on where this one was.
"""

import asyncio
import random
import signal
import socket
from datetime import UTC, datetime

import prometheus_client
from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.controller import finding, wiring
from mooring.controller.agenda import Times
from mooring.controller.controller import Controller, Find, Outside
from mooring.controller.metrics import ControllerCollector
from mooring.controller.reloading import Reloading, Source
from mooring.controller.wiring import AgentWays, Ways
from mooring.core.addresses import Place
from mooring.core.roster import Roster
from mooring.kube.api import Api
from mooring.model.config import Config
from mooring.wire import serving
from mooring.wire.calls import MeteredCalls
from mooring.wire.patient import PatientSender, PatientTransport


async def run(config: Config, log: FilteringBoundLogger, source: Source) -> None:
    """Work until SIGTERM or SIGINT, or until cancelled. SIGHUP has the configuration read anew."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    agents = AgentWays(config.tls)
    ways = wiring.ways(config, agents)
    work = asyncio.create_task(_work(config, source, ways, agents, log))
    waiting = asyncio.create_task(ended.wait())
    try:
        await asyncio.wait((work, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        log.info("ending; addresses and gateways stay as they are")
        for each in (work, waiting):
            each.cancel()
        await asyncio.wait((work, waiting))
        await ways.close()
    if not work.cancelled():
        work.result()


async def _work(config: Config, source: Source, ways: Ways, agents: AgentWays, log: FilteringBoundLogger) -> None:
    registry = prometheus_client.CollectorRegistry()
    outside = _outside(ways, agents, registry)
    at_work: list[Controller] = []

    def ready() -> str | None:
        if not at_work:
            return "not started yet: Kubernetes or OpenStack does not answer"
        return None if at_work[0].known else "Services, endpoints, nodes and policies are not all known yet"

    async with serving.serving(serving.monitoring(registry, ready), config.controller.monitoring):
        log.info("starting", monitoring=config.controller.monitoring, gateways=sorted(config.gateways))
        if not config.acts:
            log.info('only observing, by controller.reconcile = "observe": nothing is written')
        api = Api(PatientTransport(outside.kube, outside.kube_calls))
        cloud = Cloud(PatientSender(outside.cloud, outside.cloud_calls))
        place = await finding.place_patiently(config, api, cloud, log, lenient=True)
        in_force = [config]

        async def find() -> tuple[Place, Roster]:
            there = await finding.place(in_force[-1], api, cloud, missing=finding.telling(log))
            return there, finding.gateways(in_force[-1], there)

        controller = _controller(outside, place, finding.gateways(config, place), find, acts=config.acts, log=log)
        registry.register(ControllerCollector(controller))
        at_work.append(controller)

        async def use(new: Config) -> None:
            finding.refuse_another_source(place, new)
            there = await finding.place_patiently(new, api, cloud, log)
            controller.reconfigure(there, finding.gateways(new, there), acts=new.acts)
            in_force[:] = [new]

        reloading = Reloading(config, source, agents, use, registry=registry, log=log)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloading.asked.set)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reloading.run())
            tasks.create_task(controller.run())


def _controller(  # noqa: PLR0913 - all that it works with
    outside: Outside, place: Place, gateways: Roster, find: Find, *, acts: bool, log: FilteringBoundLogger
) -> Controller:
    chance = random.Random()  # noqa: S311 - it spreads retries; nobody gains by guessing it
    identity = f"{socket.gethostname()}_{chance.getrandbits(48):012x}"
    log.info("found", cluster=place.cluster, network=place.network, subnet=place.subnet, identity=identity)
    return Controller(
        outside,
        place,
        gateways,
        identity,
        find=find,
        clock=lambda: datetime.now(UTC),
        chance=chance,
        times=Times(),
        log=log,
        acts=acts,
    )


def _outside(ways: Ways, agents: AgentWays, registry: prometheus_client.CollectorRegistry) -> Outside:
    return Outside(
        ways.kube,
        ways.cloud,
        agents.reach,
        MeteredCalls("kubernetes", registry),
        MeteredCalls("neutron", registry),
        MeteredCalls("gateway", registry),
    )
