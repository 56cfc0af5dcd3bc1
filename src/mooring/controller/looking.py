"""Looking at OpenStack and at the agents without touching anything. What does not answer is told as missing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError, NotFound
from mooring.cloud.kinds import FLOATING_IPS, PORTS, SECURITY_GROUPS, SUBNETS
from mooring.controller import marked
from mooring.controller.agents import Agents
from mooring.controller.gateway import Gateway
from mooring.core.addresses import Place
from mooring.core.surveyed import Around, Asked, Owned
from mooring.model.cloud import Port, Quota, SecurityGroup
from mooring.model.errors import StartRefused
from mooring.model.gateway import Counted, Counters
from mooring.model.reports import Missing
from mooring.wire.http import NoAnswer, NotSent, Request, Sender

CLOUD_SECONDS = 15.0
COUNTERS_SECONDS = 10.0

SILENT: FilteringBoundLogger = structlog.wrap_logger(
    structlog.PrintLogger(), wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL)
)
"""What does not answer is told in what is returned."""

Find = Callable[[], Awaitable[Place]]


async def owned(cloud: Cloud, find: Find, *, around: bool = False, groups: bool = False) -> Owned | Missing:
    """What is ours in OpenStack; `around`: with what others have; `groups`: with our security groups."""
    try:
        async with asyncio.timeout(CLOUD_SECONDS):
            place = await find()
            if place.static:
                return Owned(place)
            found = await marked.everything(cloud, place)
            gateways = await cloud.list(PORTS, id=place.gateways) if place.gateways else ()
            quota = await _quota(cloud, (*found.ports, *gateways))
            beside = await _around(cloud, place) if around else None
            guards = await _groups(cloud, place) if groups else ()
    except (CloudError, StartRefused) as error:
        return Missing("OpenStack", str(error))
    except TimeoutError:
        return Missing("OpenStack", f"no answer within {CLOUD_SECONDS:g} s")
    return Owned(place, found.ports, found.floating_ips, gateways, beside, quota, guards, found.borrowed)


async def _quota(cloud: Cloud, beside: Sequence[Port]) -> Quota | None:
    """What the project of these ports may still have; None, where somebody may not know that."""
    try:
        return await cloud.quota(beside[0].project_id) if beside else None
    except CloudError:
        return None


async def _groups(cloud: Cloud, place: Place) -> tuple[SecurityGroup, ...]:
    try:
        return await marked.every(cloud, SECURITY_GROUPS, place.mark)
    except NotFound:  # this Neutron has no such thing
        return ()


async def _around(cloud: Cloud, place: Place) -> Around:
    return Around(
        await cloud.list(PORTS, network_id=place.network),
        await cloud.list(FLOATING_IPS),
        await cloud.list(SUBNETS, network_id=place.network),
    )


async def asked(senders: Mapping[str, Sender], *, counters: bool = False) -> tuple[Asked, ...]:
    """What each agent answers, by the controller's own idea of an answer; `counters`: and what it has counted."""
    agents = Agents(senders, SILENT)
    await agents.ask()

    async def answered(gateway: Gateway) -> Asked:
        if gateway.failing_since is not None:
            return Asked(gateway.name, failure=f"its agent does not answer: {gateway.failure}")
        return Asked(gateway.name, gateway.state, counted=await _counted(gateway.sender) if counters else None)

    return tuple(await asyncio.gather(*map(answered, agents.gateways.values())))


async def _counted(agent: Sender) -> tuple[Counted, ...] | None:
    """None, if it does not say; an older agent does not know the question."""
    try:
        response = await agent.send(Request("get counters", "GET", "/v1/counters", seconds=COUNTERS_SECONDS))
        return msgspec.json.decode(response.body, type=Counters).counted if response.status == HTTPStatus.OK else None
    except (NotSent, NoAnswer, msgspec.DecodeError):
        return None
