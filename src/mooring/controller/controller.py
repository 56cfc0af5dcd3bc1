"""The controller as a whole: follow Services and what is behind them always, lead whenever it is our turn.

One that is configured to observe takes part in no election: it looks and tells, and nothing else gets through its door.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import QUESTION, Cloud
from mooring.cloud.errors import CloudError
from mooring.controller.agenda import Times
from mooring.controller.agents import Agents
from mooring.controller.fence import GuardedSender, GuardedTransport, Lead, Stance
from mooring.controller.followed import BY_NAMESPACE, BY_SERVICE, Followed
from mooring.controller.leader import Leader
from mooring.controller.members import Members
from mooring.controller.observer import Observer
from mooring.controller.ports import Ports
from mooring.controller.pushing import Pushing
from mooring.controller.security import Security
from mooring.core import claims, endpoints, gateway_document, roster
from mooring.core.addresses import Addresses, Place
from mooring.core.picture import Picture
from mooring.core.roster import Roster
from mooring.kube import remembering
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.errors import KubeError
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES
from mooring.kube.recorder import Recorder, Told
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.model import names
from mooring.model.errors import StartRefused
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy
from mooring.wire.calls import Calls
from mooring.wire.http import Sender, Transport
from mooring.wire.patient import PatientSender, PatientTransport
from mooring.wire.wary import WarySender

LEASE = Name("mooring-system", "mooring-controller")
REPORTER = "openstack.org/mooring"

Find: TypeAlias = Callable[[], Awaitable[tuple[Place, Roster]]]


class Outside(Struct, frozen=True):
    """The ways to everything that a controller touches, and who counts the calls on each.

    `reach` gives the way to the agent that listens somewhere.
    """

    kube: Transport
    cloud: Sender
    reach: Callable[[str], Sender]
    kube_calls: Calls
    cloud_calls: Calls
    agent_calls: Calls

    def guarded(self, check: Callable[[], None]) -> "Outside":
        """The same behind a door that asks before every write."""
        return msgspec.structs.replace(
            self,
            kube=GuardedTransport(self.kube, check),
            cloud=GuardedSender(self.cloud, check),
            reach=lambda agent: GuardedSender(self.reach(agent), check),
        )

    def patient(self) -> "Outside":
        """The same with the limits that the servers set. Doors stand behind it: what waited for its turn asks last."""
        return Outside(
            PatientTransport(self.kube, self.kube_calls),
            WarySender(PatientSender(self.cloud, self.cloud_calls), QUESTION),
            lambda agent: PatientSender(self.reach(agent), self.agent_calls, patience=0.0),
            self.kube_calls,
            self.cloud_calls,
            self.agent_calls,
        )


class Controller:
    """Follows always, leads sometimes, or only observes. `find`: what the configuration names, as it is now.

    `leader` is the work of the term under way, `observer` that of one that observes.
    """

    def __init__(  # noqa: PLR0913 - its ways to the outside, its clock and its chance
        self,
        outside: Outside,
        place: Place,
        gateways: Roster,
        identity: str,
        *,
        find: Find,
        clock: Callable[[], datetime],
        chance: random.Random,
        times: Times,
        log: FilteringBoundLogger,
        acts: bool = True,
        lease_seconds: float = 15.0,
        renewal_seconds: float = 5.0,
    ) -> None:
        self._stance = Stance(acts=acts)
        self._outside = outside.guarded(self._stance)
        self._place = place
        self._gateways = gateways
        self._find = find
        self._outdated = asyncio.Event()
        self._configured = asyncio.Event()
        self._turned = asyncio.Event()
        self._identity = identity
        self._clock = clock
        self._chance = chance
        self._times = times
        self._log = log
        self.followed = followed = Followed(
            Store(taken_as=lambda each: remembering.service(claims.settled(each, place.services))),
            Store({BY_SERVICE: _service_of}, taken_as=remembering.endpoint_slice),
            Store(),
            Store({BY_NAMESPACE: _namespace_of}),
        )
        followed.services.listen(followed.let_go.see)
        api = Api(self._outside.patient().kube)
        self._reflectors = (
            Reflector(api, SERVICES, followed.services, chance, trouble=self._trouble("following Services")),
            Reflector(api, ENDPOINT_SLICES, followed.slices, chance, trouble=self._trouble("following endpoints")),
            Reflector(api, NODES, followed.nodes, chance, trouble=self._trouble("following nodes")),
            Reflector(api, NETWORK_POLICIES, followed.policies, chance, trouble=self._trouble("following policies")),
        )
        self._election = Election(
            api,
            LEASE,
            identity,
            clock,
            chance,
            duration=lease_seconds,
            renewal=renewal_seconds,
            trouble=self._trouble("being elected"),
        )
        self.leader: Leader | None = None
        self.observer: Observer | None = None
        self.agents: Agents | None = None

    @property
    def known(self) -> bool:
        """Whether everything that it follows has been seen once."""
        return self.followed.complete

    def reconfigure(self, place: Place, gateways: Roster, *, acts: bool = True) -> None:
        """Go on with other gateways, or another place. A term under way begins its work anew, and stays.

        Who is not to act any more writes nothing from now on, its Lease included, which runs out: another one, which
        may not have read the configuration yet, does not lead before that. What is as it was changes nothing.
        """
        if (place, gateways, acts) == (self._place, self._gateways, self._stance.acts):
            return
        self._place, self._gateways = place, gateways
        if acts != self._stance.acts:
            self._stance.acts = acts
            self._turned.set()
        self._configured.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for each in self._reflectors:
                tasks.create_task(each.run())
            tasks.create_task(self._act_or_observe())
            tasks.create_task(self._find_again())

    async def _find_again(self) -> None:
        """A gateway's port that was made anew has another id, and the same name."""
        while True:
            await self._outdated.wait()
            self._outdated.clear()
            before = self._place, self._gateways
            try:
                found = await self._find()
            except (KubeError, CloudError, StartRefused) as error:
                self._log.warning("not found again", why=str(error), again="with the next audit")
                continue
            if (self._place, self._gateways) == before != found:
                self._log.info("found again", gateways={name: each.port for name, each in found[1].items()})
                self.reconfigure(*found, acts=self._stance.acts)

    async def _act_or_observe(self) -> None:
        while True:
            self._turned.clear()
            await _until(self._turned, self._election.run(self._lead) if self._stance.acts else self._observe())

    async def _observe(self) -> None:
        """What is configured anew is looked at anew."""
        while True:
            self._configured.clear()
            await _until(self._configured, self._look())

    async def _look(self) -> None:
        outside = self._outside.patient()
        senders = {name: outside.reach(each.agent) for name, each in self._gateways.items()}
        self.observer = Observer(
            Api(outside.kube),
            self.followed,
            Cloud(outside.cloud),
            self._place,
            senders,
            clock=self._clock,
            times=self._times,
            log=self._log,
        )
        try:
            await self.observer.run()
        finally:
            self.observer = None

    async def _lead(self, term: Term) -> None:
        """Until the term ends. What is configured anew is worked on from the beginning, as by another leader."""
        while True:
            self._configured.clear()
            await _until(self._configured, self._work(term))

    async def _work(self, term: Term) -> None:
        log = self._log.bind(epoch=term.epoch)
        outside = self._outside.guarded(Lead(term)).patient()
        api = Api(outside.kube)
        leaving = roster.leaving(roster.load(term.notes.get(names.GATEWAYS, "")), self._gateways)
        everybody = {**self._gateways, **leaving}
        senders = {name: outside.reach(each.agent) for name, each in everybody.items() if each.agent}
        agents = Agents(senders, log, leaving=frozenset(leaving))
        gateways = tuple(each.port for each in everybody.values())
        picture = Picture(Addresses(msgspec.structs.replace(self._place, gateways=gateways)))
        cloud = Cloud(outside.cloud)
        ports = Ports(cloud, picture.addresses)
        self.agents = agents
        self.leader = Leader(
            api,
            self.followed,
            picture=picture,
            ports=ports,
            security=Security(cloud, ports, picture.addresses, log),
            agents=agents,
            members=Members(
                self._gateways,
                leaving,
                agents=agents,
                addresses=picture.addresses,
                term=term,
                note=self._election.note,
                log=log,
            ),
            pushing=Pushing(agents, term, self._election.raise_epoch, seed=gateway_document.seed(self._place.cluster)),
            outdated=self._outdated.set,
            recorder=Recorder(api, REPORTER, self._identity, self._clock, self._chance, refused=self._event_refused),
            clock=self._clock,
            times=self._times,
            chance=self._chance,
            log=log,
        )
        try:
            await self.leader.run()
        finally:
            self.leader = self.agents = None
            log.info("no longer leading")

    def _event_refused(self, told: Told, error: KubeError) -> None:
        about = f"{told.regarding.namespace}/{told.regarding.name}"
        self._log.warning("event refused", about=about, reason=told.reason, note=told.note, why=str(error))

    def _trouble(self, what: str) -> Callable[[Exception], None]:
        return lambda error: self._log.warning("failed", what=what, why=str(error))


async def _until(something: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Work until something has happened, or until the work fails."""
    task, happened = asyncio.create_task(work), asyncio.create_task(something.wait())
    try:
        await asyncio.wait((task, happened), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (task, happened):
            each.cancel()
        await asyncio.wait((task, happened))
    if not task.cancelled():
        task.result()


def _service_of(found: EndpointSlice) -> tuple[Name, ...]:
    name = endpoints.service_of(found)
    return (name,) if name else ()


def _namespace_of(found: NetworkPolicy) -> tuple[str, ...]:
    return (found.metadata.namespace,)
