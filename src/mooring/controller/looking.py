"""Looking at OpenStack and at the agents without touching anything. What does not answer is told as missing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog
from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError, NotFound
from mooring.cloud.kinds import FLOATING_IPS, PORTS, SECURITY_GROUPS, SUBNETS
from mooring.controller.agents import Agents
from mooring.core.addresses import Place
from mooring.core.surveyed import Around, Asked, Owned
from mooring.model.cloud import Port, Quota, SecurityGroup
from mooring.model.errors import StartRefused
from mooring.model.reports import Missing
from mooring.wire.http import Sender

CLOUD_SECONDS = 15.0

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
            ports = await cloud.list(PORTS, description=place.mark)
            floating_ips = await cloud.list(FLOATING_IPS, description=place.mark)
            gateways = await cloud.list(PORTS, id=place.gateways) if place.gateways else ()
            quota = await _quota(cloud, (*ports, *gateways))
            beside = await _around(cloud, place) if around else None
            guards = await _groups(cloud, place) if groups else ()
    except (CloudError, StartRefused) as error:
        return Missing("OpenStack", str(error))
    except TimeoutError:
        return Missing("OpenStack", f"no answer within {CLOUD_SECONDS:g} s")
    return Owned(place, ports, floating_ips, gateways, beside, quota, guards)


async def _quota(cloud: Cloud, beside: Sequence[Port]) -> Quota | None:
    """What the project of these ports may still have; None, where somebody may not know that."""
    try:
        return await cloud.quota(beside[0].project_id) if beside else None
    except CloudError:
        return None


async def _groups(cloud: Cloud, place: Place) -> tuple[SecurityGroup, ...]:
    try:
        return await cloud.list(SECURITY_GROUPS, description=place.mark)
    except NotFound:  # this Neutron has no such thing
        return ()


async def _around(cloud: Cloud, place: Place) -> Around:
    return Around(
        await cloud.list(PORTS, network_id=place.network),
        await cloud.list(FLOATING_IPS),
        await cloud.list(SUBNETS, network_id=place.network),
    )


async def asked(senders: Mapping[str, Sender]) -> tuple[Asked, ...]:
    """What each agent answers, by the controller's own idea of an answer."""
    agents = Agents(senders, SILENT)
    await agents.ask()
    return tuple(
        Asked(each.name, each.state)
        if each.failing_since is None
        else Asked(each.name, failure=f"its agent does not answer: {each.failure}")
        for each in agents.gateways.values()
    )
