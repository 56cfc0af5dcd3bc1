"""The controller as a whole: follow Services and what is behind them always, lead whenever it is our turn."""

import asyncio
import functools
import random
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.controller.agents import Agents
from mooring.controller.fence import FencedSender, FencedTransport
from mooring.controller.leader import BY_NAMESPACE, BY_SERVICE, Followed, Leader, Times
from mooring.controller.ports import Ports
from mooring.controller.pushing import Pushing
from mooring.core import claims, endpoints, gateway_document
from mooring.core.addresses import Addresses, Place
from mooring.core.picture import Picture
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES
from mooring.kube.recorder import Recorder
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy
from mooring.wire.calls import Calls
from mooring.wire.http import Sender, Transport
from mooring.wire.patient import PatientSender, PatientTransport

LEASE = Name("mooring-system", "mooring-controller")
REPORTER = "openstack.org/mooring"


class Outside(Struct, frozen=True):
    """The ways to everything that a controller touches, and who counts the calls on each."""

    kube: Transport
    cloud: Sender
    agents: Mapping[str, Sender]
    kube_calls: Calls
    cloud_calls: Calls
    agent_calls: Calls

    def fenced(self, term: Term) -> "Outside":
        """The same for one term. The fence stands next to the wire: what waited for its turn is checked last."""
        return Outside(
            PatientTransport(FencedTransport(self.kube, term), self.kube_calls),
            PatientSender(FencedSender(self.cloud, term), self.cloud_calls),
            {
                name: PatientSender(FencedSender(each, term), self.agent_calls, patience=0.0)
                for name, each in self.agents.items()
            },
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

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for each in self._reflectors:
                tasks.create_task(each.run())
            tasks.create_task(self._election.run(self._lead))

    async def _lead(self, term: Term) -> None:
        log = self._log.bind(epoch=term.epoch)
        outside = self._outside.fenced(term)
        api = Api(outside.kube)
        agents = Agents(outside.agents, log)
        picture = Picture(Addresses(self._place))
        self.agents = agents
        self.leader = Leader(
            api,
            self.followed,
            picture=picture,
            ports=Ports(Cloud(outside.cloud), picture.addresses),
            agents=agents,
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
