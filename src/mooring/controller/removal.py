"""The eyes and the hand of `mooring uninstall`: everything that may be ours, and the call, or few, of each step."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec
from msgspec import Struct

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError
from mooring.controller import looking, survey
from mooring.controller.controller import LEASE, Outside
from mooring.controller.gateway import JSON, PUT_SECONDS, STATES, holds, refusal
from mooring.controller.ports import Ports
from mooring.controller.security import Security
from mooring.controller.service_writes import ServiceWrites
from mooring.controller.survey import CannotLook
from mooring.core import editions, gateway_document, removing, roster
from mooring.core.addresses import Addresses, Place
from mooring.core.cleaning import GiveBack, Remove, Unpair
from mooring.core.editions import Edition
from mooring.core.removing import Deed, Empty, Stage
from mooring.core.roster import Roster
from mooring.core.security_group import Guard, RemoveGroup
from mooring.core.surveyed import Owned, Sights, Survey
from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.election import Term
from mooring.kube.kinds import LEASES, SERVICES
from mooring.kube.store import Store
from mooring.model import names
from mooring.model.errors import StartRefused
from mooring.model.gateway import State
from mooring.model.kubernetes import Lease
from mooring.model.reports import Missing
from mooring.model.steps import Clear, Forget, Keep, LetGo, Tell
from mooring.wire.http import NoAnswer, NotSent, Request, Sender

Find = Callable[[Api, Cloud], Awaitable[tuple[Place, Roster]]]


class NotDone(Exception):
    """A gateway did not do what it was told."""


class Scene(Struct, frozen=True):
    """All that was seen: `senders` lead to those gateways that answer."""

    survey: Survey
    place: Place
    senders: dict[str, Sender]

    def stages(self, *, keep: bool) -> tuple[Stage, ...]:
        return removing.stages(self.survey, keep=keep)

    @property
    def highest_epoch(self) -> int:
        return max((state.held.epoch for _, state in self.survey.answering), default=0)


class Hand:
    """What does the steps of one stage."""

    def __init__(self, scene: Scene, outside: Outside, term: Term, clock: Callable[[], datetime]) -> None:
        owned = scene.survey.sights.owned or Owned(scene.place)
        known = Addresses(scene.place)
        known.replace(owned.ports, owned.floating_ips, owned.gateways)
        self._scene = scene
        self._term = term
        self._writes = ServiceWrites(Api(outside.kube), Store(), clock)
        self._ports = Ports(Cloud(outside.cloud), known)
        self._security = Security(Cloud(outside.cloud), self._ports, known, looking.SILENT)
        self._security.know(owned.groups)

    async def do(self, deed: Deed) -> None:
        match deed.step:
            case Clear() if deed.service:
                await self._writes.clear(deed.service, ())
            case Tell() if deed.service:
                await self._writes.tell(deed.service, ())
            case Forget() if deed.service:
                await self._writes.forget(deed.service)
            case LetGo() if deed.service:
                await self._writes.let_go(deed.service)
            case Empty():
                await self._empty(deed.about.removeprefix("gateway "))
            case Keep(floating_ip):
                await self._ports.keep(floating_ip)
            case Unpair() | Remove() | GiveBack() as step:
                await self._ports.carry_out(step)
            case Guard() | RemoveGroup() as step:
                await self._security.carry_out(step)
            case step:
                raise TypeError(step)

    async def _empty(self, gateway: str) -> None:
        seed = gateway_document.seed(self._scene.place.cluster)
        nothing = editions.none(seed).next({}, epoch=self._term.epoch)
        request = Request("put document", "PUT", "/v1/document", headers=JSON, body=nothing.body, seconds=PUT_SECONDS)
        try:
            answer = await self._scene.senders[gateway].send(request)
            if answer.status not in STATES:
                raise NotDone(refusal(answer))
            _check_empty(msgspec.json.decode(answer.body, type=State), nothing)
        except (NotSent, NoAnswer, msgspec.DecodeError) as error:
            raise NotDone(str(error)) from error


def _check_empty(state: State, nothing: Edition) -> None:
    if not holds(state, nothing):
        raise NotDone(f"it holds epoch {state.held.epoch}, generation {state.held.generation}, and keeps that")


async def look(outside: Outside, find: Find, clock: Callable[[], datetime]) -> Scene:
    """Everything that may be ours. Gateways are those of the configuration, and those that the Lease remembers."""
    api, cloud = Api(outside.kube), Cloud(outside.cloud)
    try:
        lease = await _lease(api)
        services = (await api.list(SERVICES)).items
        place, wanted = await find(api, cloud)
    except (errors.KubeError, CloudError) as error:
        raise CannotLook(f"Not everything can be looked at: {error}. Nothing is removed without that") from error
    except StartRefused as error:
        raise CannotLook(str(error)) from error
    recorded = roster.load(lease.metadata.annotations.get(names.GATEWAYS, "")) if lease else {}
    everybody = {**wanted, **roster.leaving(recorded, wanted)}
    there = msgspec.structs.replace(place, gateways=tuple(each.port for each in everybody.values()))

    async def found() -> Place:
        return there

    senders = {name: outside.reach(each.agent) for name, each in everybody.items() if each.agent}
    ours, agents = await asyncio.gather(looking.owned(cloud, found, groups=True), looking.asked(senders))
    if isinstance(ours, Missing):
        raise CannotLook(f"What is Mooring's cannot be told without OpenStack: {ours.why}. Nothing is removed")
    sights = Sights(
        now=clock(),
        leader=survey.leader(lease),
        services=services,
        slices=(),
        agents=agents,
        owned=ours,
        wanted=place.services,
    )
    return Scene(Survey(sights), there, senders)


async def _lease(api: Api) -> Lease | None:
    with contextlib.suppress(errors.NotFound):
        return await api.get(LEASES, LEASE)
    return None
