"""Looking at a cluster and its cloud with a doctor's eyes: what there is, and nothing of what to think of it.

Whatever does not answer keeps nothing else from being looked at. Nothing is changed; whether the gateways' ports may
be, is told by a change that comes too late for any of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib import metadata
from typing import TypeVar

import msgspec

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError, Forbidden, NotFound, RevisionMismatch
from mooring.cloud.kinds import NETWORKS, PORTS, ROUTERS, SECURITY_GROUPS
from mooring.controller import marked, permissions, survey
from mooring.controller.looking import CLOUD_SECONDS
from mooring.controller.permissions import Permission
from mooring.controller.survey import CannotLook, Sources
from mooring.core import cloud_findings, doctoring
from mooring.core.cloud_findings import InCloud
from mooring.core.doctoring import Clock, Facts, Right
from mooring.core.surveyed import Owned
from mooring.kube.api import Api
from mooring.kube.errors import KubeError
from mooring.kube.kinds import ACCESS_REVIEWS
from mooring.model.cloud import Port, PortId, ProjectId, SecurityGroup
from mooring.model.config import Config
from mooring.model.kubernetes import AccessReview, AccessReviewSpec, ResourceAttributes
from mooring.model.reports import DoctorReport
from mooring.wire.http import Request, Response, Sender

T = TypeVar("T")

KUBERNETES = "Kubernetes"
NOBODY = "nobody could be asked"
NEVER = 0
"""Neutron counts revisions from 1."""
RELEASE = metadata.version("mooring")


class Dated:
    """A way to a server, whose answers say what its clock says."""

    def __init__(self, name: str, sender: Sender, clock: Callable[[], datetime]) -> None:
        self._name = name
        self._sender = sender
        self._clock = clock
        self.seen: Clock | None = None

    async def send(self, request: Request) -> Response:
        begin = self._clock()
        response = await self._sender.send(request)
        self.seen = dated(self._name, response.headers.get("date", ""), begin, self._clock())
        return response


async def examine(config: Config) -> DoctorReport:
    """By the controller's configuration. Who cannot even begin to ask is told so, as a finding."""
    try:
        async with survey.opened(config) as sources:
            return doctoring.report(await facts(sources, permissions.CONTROLLER))
    except CannotLook as error:
        unasked = {"extensions": "was not asked: there is no way to Kubernetes"}
        cloud = InCloud(unseen=unasked, asked=not config.addresses.static)
        return doctoring.report(Facts(None, cloud, unseen=str(error), rights_unseen=NOBODY, release=RELEASE))


async def facts(sources: Sources, wanted: Sequence[Permission]) -> Facts:
    """All that there is to see. `wanted`: the rights that a controller needs."""
    agents = {name: Dated(name, each, sources.clock) for name, each in sources.agents.items()}
    begin = sources.clock()
    try:
        about = await sources.api.about()
    except KubeError as error:
        cloud = await _in_cloud(sources, None)
        return Facts(None, cloud, unseen=str(error), rights_unseen=NOBODY, release=RELEASE)
    clock = dated(KUBERNETES, about.date, begin, sources.clock())
    rights, unasked = await _rights(sources.api, wanted)
    found, unseen = None, ""
    try:
        found = await survey.survey(msgspec.structs.replace(sources, agents=agents, around=True))
    except CannotLook as error:  # who lacks a right is told so, and which
        unseen = str(error)
    return Facts(
        found,
        await _in_cloud(sources, found.sights.owned if found else None),
        unseen=unseen,
        kubernetes=about.version,
        rights=rights,
        rights_unseen=unasked,
        clocks=tuple(each for each in (clock, *(agent.seen for agent in agents.values())) if each is not None),
        release=RELEASE,
    )


def dated(of: str, date: str, begin: datetime, end: datetime) -> Clock | None:
    """What a clock said in an answer's header; None, where it said nothing that is a time."""
    try:
        said = parsedate_to_datetime(date)
    except ValueError:
        return None
    return Clock(of, said.timestamp(), begin.timestamp(), end.timestamp()) if said.tzinfo else None


async def _rights(api: Api, wanted: Sequence[Permission]) -> tuple[tuple[Right, ...], str]:
    """Whether our user may do each thing; or why that cannot be told."""
    asked = [each for permission in wanted for each in _attributes(permission)]
    reviews = (api.create(ACCESS_REVIEWS, AccessReview(spec=AccessReviewSpec(each))) for each in asked)
    try:
        answers = await asyncio.gather(*reviews)
    except KubeError as error:
        return (), str(error)
    return tuple(Right(_told(each), one.status.allowed) for each, one in zip(asked, answers, strict=True)), ""


def _attributes(permission: Permission) -> Iterator[ResourceAttributes]:
    kind = permission.kind
    for verb in permission.verbs:
        for name in permission.names or ("",):
            yield ResourceAttributes(verb, kind.group, kind.plural, permission.subresource, permission.namespace, name)


def _told(wanted: ResourceAttributes) -> str:
    part = f"/{wanted.subresource}" if wanted.subresource else ""
    where = f" in {wanted.namespace}" if wanted.namespace else ""
    return f"{wanted.verb} {wanted.resource}{part}{where}"


async def _in_cloud(sources: Sources, owned: Owned | None) -> InCloud:
    """What OpenStack has to offer to what is ours. One after the other: who is slow is slow for all."""
    if not sources.openstack:
        return InCloud(asked=False)
    cloud = sources.cloud
    unseen: dict[str, str] = {}

    async def asked(field: str, call: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(CLOUD_SECONDS):
                return await call
        except CloudError as error:
            unseen[field] = str(error)
        except TimeoutError:
            unseen[field] = f"no answer within {CLOUD_SECONDS:g} s"
        return None

    extensions = await asked("extensions", cloud.extensions())
    aliases = None if extensions is None else frozenset(each.alias for each in extensions)
    if owned is None or aliases is None:
        return InCloud(aliases, unseen=unseen)
    place = owned.place
    ids = [each for each in (place.network, place.floating_network) if each]
    routers = sorted({each.device_id for each in cloud_findings.router_ports(owned)})
    return InCloud(
        aliases,
        await asked("networks", cloud.list(NETWORKS, id=ids)),
        await asked("routers", cloud.list(ROUTERS, id=routers)) if routers else (),
        await asked("groups", _groups(cloud, owned)),
        await asked("quota", cloud.quota(_project(owned))),
        unseen,
        denied=await asked("rights", _denied(cloud, owned.gateways)),
    )


async def _denied(cloud: Cloud, gateways: Iterable[Port]) -> dict[PortId, str]:
    """The ports that we may not change. They are not: the change is for a revision that no port has."""
    denied: dict[PortId, str] = {}
    for port in gateways:
        pairs = [{"ip_address": each.ip_address} for each in port.allowed_address_pairs]
        try:
            await cloud.update(PORTS, port.id, {"allowed_address_pairs": pairs}, revision=NEVER)
        except RevisionMismatch:
            continue
        except (Forbidden, NotFound) as error:  # Neutron hides from some what they may not change
            denied[port.id] = str(error)
    return denied


async def _groups(cloud: Cloud, owned: Owned) -> tuple[SecurityGroup, ...]:
    """Those on the gateways' ports, and those of ours."""
    ids = sorted({each for port in owned.gateways for each in port.security_groups})
    on = await cloud.list(SECURITY_GROUPS, id=ids) if ids else ()
    ours = await marked.every(cloud, SECURITY_GROUPS, owned.place.mark)
    return tuple({each.id: each for each in (*on, *ours)}.values())


def _project(owned: Owned) -> ProjectId:
    """Whose quota counts: that of the project of what is ours, or will be, beside the gateways."""
    return next(each.project_id for each in (*owned.ports, *owned.gateways))
