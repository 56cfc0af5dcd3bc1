"""The controller as a whole: follow the Services always, lead whenever it is our turn."""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct

from mooring.cloud.api import Cloud
from mooring.controller.agents import Agents
from mooring.controller.fence import FencedSender, FencedTransport
from mooring.controller.leader import Leader, Times
from mooring.controller.ports import Place, Ports
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.kinds import SERVICES
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.model.kubernetes import Name, Service
from mooring.wire.calls import Calls
from mooring.wire.http import Sender, Transport
from mooring.wire.patient import PatientSender, PatientTransport

LEASE = Name("mooring-system", "mooring-controller")


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
    """Follows the Services always, leads sometimes. `leader` is the work of the term under way.

    `trouble` is told what did not work, and of what: everything that is told is tried again.
    """

    def __init__(  # noqa: PLR0913 - its ways to the outside, its clock and its chance
        self,
        outside: Outside,
        place: Place,
        identity: str,
        *,
        clock: Callable[[], datetime],
        chance: random.Random,
        times: Times,
        lease_seconds: float = 15.0,
        renewal_seconds: float = 5.0,
        trouble: Callable[[str, Exception], None] = lambda _what, _error: None,
    ) -> None:
        self._outside = outside
        self._place = place
        self._chance = chance
        self._times = times
        self._trouble = trouble
        self._services: Store[Service] = Store()
        api = Api(PatientTransport(outside.kube, outside.kube_calls))
        self._reflector = Reflector(
            api, SERVICES, self._services, chance, trouble=lambda error: trouble("following Services", error)
        )
        self._election = Election(
            api,
            LEASE,
            identity,
            clock,
            chance,
            duration=lease_seconds,
            renewal=renewal_seconds,
            trouble=lambda error: trouble("leading", error),
        )
        self.leader: Leader | None = None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reflector.run())
            tasks.create_task(self._election.run(self._lead))

    async def _lead(self, term: Term) -> None:
        outside = self._outside.fenced(term)
        self.leader = Leader(
            Api(outside.kube),
            self._services,
            Ports(Cloud(outside.cloud), self._place),
            Agents(outside.agents),
            term,
            raise_epoch=self._election.raise_epoch,
            times=self._times,
            chance=self._chance,
            trouble=lambda item, error: self._trouble(str(item), error),
        )
        try:
            await self.leader.run()
        finally:
            self.leader = None
