"""Looking at everything without touching anything: Kubernetes, Neutron and the agents, whoever leads, if anybody does.

Without Kubernetes there is nothing to tell. What else does not answer is told as missing.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from mooring.cloud.api import Cloud
from mooring.controller import finding, looking, wiring
from mooring.controller.controller import LEASE
from mooring.core import roster
from mooring.core.surveyed import Asked, Leader, Owned, Sights, Survey
from mooring.kube import election
from mooring.kube.api import Api
from mooring.kube.errors import KubeError, NotFound
from mooring.kube.kinds import ENDPOINT_SLICES, LEASES, NETWORK_POLICIES, NODES, SERVICES
from mooring.model import names
from mooring.model.config import Config, Services
from mooring.model.errors import StartRefused
from mooring.model.kubernetes import Lease
from mooring.model.reports import Missing
from mooring.wire.calls import CountedCalls
from mooring.wire.http import Sender
from mooring.wire.patient import PatientSender, PatientTransport

PATIENCE = 10.0
LOOKS = 3
PAUSE = 1.0


class CannotLook(Exception):
    """Kubernetes cannot be asked; the text says why and what to do."""


class Sources(Struct, frozen=True):
    """The ways to everything, and the time. `silent` are gateways that cannot even be asked, and why.

    `around`: what others have beside ours in OpenStack is looked at, too; `counters`: what gateways have counted, too.
    `acts`: what the controller is configured to do, be it that none runs. `holders`: how many gateways hold addresses
    at once, by the configuration.
    """

    api: Api
    cloud: Cloud
    find: looking.Find
    agents: Mapping[str, Sender]
    clock: Callable[[], datetime]
    silent: Mapping[str, str] = {}
    wanted: Services = Services()
    around: bool = False
    counters: bool = False
    acts: bool = True
    holders: int = 1
    openstack: bool = True
    """Not, where addresses are a list."""


async def look(config: Config) -> Survey:
    """A survey by the controller's configuration. Who may not read the agents' certificates still sees the rest."""
    async with opened(config) as sources:
        return await survey(sources)


async def look_around(config: Config) -> Survey:
    """The same with what others have in the network of the addresses."""
    async with opened(config) as sources:
        return await survey(msgspec.structs.replace(sources, around=True))


async def look_closely(config: Config) -> Survey:
    """The same with what the gateways have counted."""
    async with opened(config) as sources:
        return await survey(msgspec.structs.replace(sources, around=True, counters=True))


@contextlib.asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Sources]:
    """The ways to everything, by the controller's configuration."""
    refused, agents = "", None
    try:
        agents = wiring.AgentWays(config.tls)
    except StartRefused as error:
        refused = str(error)
    try:
        ways = wiring.ways(config, agents)
    except StartRefused as error:
        raise CannotLook(str(error)) from error
    try:
        api = Api(PatientTransport(ways.kube, CountedCalls(), patience=PATIENCE))
        cloud = Cloud(PatientSender(ways.cloud, CountedCalls(), patience=PATIENCE))
        listed = {name: agents.reach(each.agent) for name, each in config.gateways.items()} if agents else {}
        silent = {name: refused for name in config.gateways if name not in listed}
        find = functools.partial(finding.place, config, api, cloud, missing=lambda _: None)  # the doctor tells
        asks = not config.addresses.static
        yield Sources(
            api,
            cloud,
            find,
            listed,
            _now,
            silent,
            config.services,
            acts=config.acts,
            holders=config.vrrp.instances,
            openstack=asks,
        )
    finally:
        await ways.close()


async def survey(sources: Sources) -> Survey:
    """Everything as it is now.

    Things are asked one beside the other while the controller goes on: a gateway that seems to be behind may only have
    been asked before it was told. Therefore it is looked again, a few times, while there is somebody who tells it.
    """
    found = Survey(await _sights(sources))
    for _ in range(LOOKS - 1):
        if not found.lacking or not found.leads:
            break
        await asyncio.sleep(PAUSE)
        found = Survey(await _sights(sources))
    return found


async def _sights(sources: Sources) -> Sights:
    now = sources.clock()  # the Lease is read at once; who answers late must not make it look old
    try:
        async with asyncio.TaskGroup() as tasks:
            services = tasks.create_task(sources.api.list(SERVICES))
            slices = tasks.create_task(sources.api.list(ENDPOINT_SLICES))
            nodes = tasks.create_task(sources.api.list(NODES))
            policies = tasks.create_task(sources.api.list(NETWORK_POLICIES))
            lease = tasks.create_task(_lease(sources.api))
            owned = tasks.create_task(looking.owned(sources.cloud, sources.find, around=sources.around))
            asked = tasks.create_task(looking.asked(sources.agents, counters=sources.counters))
    except ExceptionGroup as failed:
        refused = [each for each in failed.exceptions if isinstance(each, KubeError)]
        if len(refused) < len(failed.exceptions):
            raise
        raise CannotLook(
            f"Kubernetes cannot be looked at: {refused[0]}. See that kubernetes.kubeconfig, or KUBECONFIG, names a "
            "cluster that answers, and a user who may list Services, EndpointSlices, nodes and NetworkPolicies"
        ) from failed
    unasked = (Asked(name, failure=why) for name, why in sources.silent.items())
    ours = owned.result()
    return Sights(
        now=now,
        leader=leader(lease.result()),
        services=services.result().items,
        slices=slices.result().items,
        agents=tuple(sorted((*asked.result(), *unasked), key=lambda each: each.name)),
        owned=ours if isinstance(ours, Owned) else None,
        missing=(ours,) if isinstance(ours, Missing) else (),
        wanted=sources.wanted,
        nodes=nodes.result().items,
        policies=policies.result().items,
        acts=sources.acts,
        holders=sources.holders,
    )


def _now() -> datetime:
    return datetime.now(UTC)


async def _lease(api: Api) -> Lease | None:
    try:
        return await api.get(LEASES, LEASE)
    except NotFound:
        return None


def leader(lease: Lease | None) -> Leader:
    if lease is None:
        return Leader()
    spec = lease.spec
    return Leader(
        identity=spec.holder_identity or "",
        since=_time(spec.acquire_time),
        renewed=_time(spec.renew_time),
        seconds=float(spec.lease_duration_seconds or 0),
        epoch=election.epoch_of(lease),
        drained=roster.load_names(lease.metadata.annotations.get(names.DRAINED, "")),
    )


def _time(text: str | None) -> datetime | None:
    """A time of a Lease; others may have written something else there."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else None
