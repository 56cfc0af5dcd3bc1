"""The controller as a whole: follow Services and what is behind them always, lead whenever it is our turn."""

import asyncio
import functools
import random
from collections.abc import Callable
from datetime import datetime

import msgspec
from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.controller.agenda import Times
from mooring.controller.agents import Agents
from mooring.controller.fence import FencedSender, FencedTransport
from mooring.controller.followed import BY_NAMESPACE, BY_SERVICE, Followed
from mooring.controller.leader import Leader
from mooring.controller.members import Members
from mooring.controller.ports import Ports
from mooring.controller.pushing import Pushing
from mooring.core import claims, endpoints, gateway_document, roster
from mooring.core.addresses import Addresses, Place
from mooring.core.picture import Picture
from mooring.core.roster import Roster
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES
from mooring.kube.recorder import Recorder
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.model import names
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy
from mooring.wire.calls import Calls
from mooring.wire.http import Sender, Transport
from mooring.wire.patient import PatientSender, PatientTransport

LEASE = Name("mooring-system", "mooring-controller")
REPORTER = "openstack.org/mooring"


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

    def fenced(self, term: Term) -> "Outside":
        """The same for one term. The fence stands next to the wire: what waited for its turn is checked last."""
        return Outside(
            PatientTransport(FencedTransport(self.kube, term), self.kube_calls),
            PatientSender(FencedSender(self.cloud, term), self.cloud_calls),
            lambda agent: PatientSender(FencedSender(self.reach(agent), term), self.agent_calls, patience=0.0),
            self.kube_calls,
            self.cloud_calls,
            self.agent_calls,
        )


class Controller:
    """Follows always, leads sometimes. `leader` is the work of the term under way."""

    def __init__(  # noqa: PLR0913 - its ways to the outside, its clock and its chance
        self,
        outside: Outside,
        place: Place,
        gateways: Roster,
        identity: str,
        *,
        clock: Callable[[], datetime],
        chance: random.Random,
        times: Times,
        log: FilteringBoundLogger,
        lease_seconds: float = 15.0,
        renewal_seconds: float = 5.0,
    ) -> None:
        self._outside = outside
        self._place = place
        self._gateways = gateways
        self._configured = asyncio.Event()
        self._identity = identity
        self._clock = clock
        self._chance = chance
        self._times = times
        self._log = log
        settle = functools.partial(claims.settled, wanted=place.services)
        self.followed = followed = Followed(
            Store(taken_as=settle), Store({BY_SERVICE: _service_of}), Store(), Store({BY_NAMESPACE: _namespace_of})
        )
        api = Api(PatientTransport(outside.kube, outside.kube_calls))
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
        self.agents: Agents | None = None

    @property
    def known(self) -> bool:
        """Whether everything that it follows has been seen once."""
        return self.followed.complete

    def reconfigure(self, place: Place, gateways: Roster) -> None:
        """Go on with other gateways, or another place. A term under way begins its work anew, and stays."""
        self._place, self._gateways = place, gateways
        self._configured.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for each in self._reflectors:
                tasks.create_task(each.run())
            tasks.create_task(self._election.run(self._lead))

    async def _lead(self, term: Term) -> None:
        """Until the term ends. What is configured anew is worked on from the beginning, as by another leader."""
        while True:
            self._configured.clear()
            work = asyncio.create_task(self._work(term))
            configured = asyncio.create_task(self._configured.wait())
            try:
                await asyncio.wait((work, configured), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in (work, configured):
                    each.cancel()
                await asyncio.wait((work, configured))
            if not work.cancelled():
                work.result()

    async def _work(self, term: Term) -> None:
        log = self._log.bind(epoch=term.epoch)
        outside = self._outside.fenced(term)
        api = Api(outside.kube)
        leaving = roster.leaving(roster.load(term.notes.get(names.GATEWAYS, "")), self._gateways)
        everybody = {**self._gateways, **leaving}
        senders = {name: outside.reach(each.agent) for name, each in everybody.items() if each.agent}
        agents = Agents(senders, log, leaving=frozenset(leaving))
        ports = tuple(each.port for each in everybody.values())
        picture = Picture(Addresses(msgspec.structs.replace(self._place, gateways=ports)))
        self.agents = agents
        self.leader = Leader(
            api,
            self.followed,
            picture=picture,
            ports=Ports(Cloud(outside.cloud), picture.addresses),
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
            recorder=Recorder(api, REPORTER, self._identity, self._clock, self._chance),
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

    def _trouble(self, what: str) -> Callable[[Exception], None]:
        return lambda error: self._log.warning("failed", what=what, why=str(error))


def _service_of(found: EndpointSlice) -> tuple[Name, ...]:
    name = endpoints.service_of(found)
    return (name,) if name else ()


def _namespace_of(found: NetworkPolicy) -> tuple[str, ...]:
    return (found.metadata.namespace,)
