"""The controller as a whole: follow the Services always, lead whenever it is our turn."""

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import datetime

from mooring.cloud.api import Cloud
from mooring.controller.agents import Agents
from mooring.controller.fence import Fenced
from mooring.controller.leader import Leader, Times
from mooring.controller.ports import Place, Ports
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.kinds import SERVICES
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.model.kubernetes import Name, Service
from mooring.wire.http import Transport

LEASE = Name("mooring-system", "mooring-controller")


class Controller:
    """Built from its ways to the outside. `leader` is the work of the term under way."""

    def __init__(  # noqa: PLR0913 - its ways to the outside, its clock and its chance
        self,
        kube: Transport,
        cloud: Transport,
        agents: Mapping[str, Transport],
        place: Place,
        identity: str,
        *,
        clock: Callable[[], datetime],
        chance: random.Random,
        times: Times,
        lease_seconds: float = 15.0,
        renewal_seconds: float = 5.0,
    ) -> None:
        self._kube = kube
        self._cloud = cloud
        self._agents = agents
        self._place = place
        self._chance = chance
        self._times = times
        self._services: Store[Service] = Store()
        self._reflector = Reflector(Api(kube), SERVICES, self._services, chance)
        self._election = Election(
            Api(kube), LEASE, identity, clock, chance, duration=lease_seconds, renewal=renewal_seconds
        )
        self.leader: Leader | None = None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._reflector.run())
            tasks.create_task(self._election.run(self._lead))

    async def _lead(self, term: Term) -> None:
        self.leader = Leader(
            Api(Fenced(self._kube, term)),
            self._services,
            Ports(Cloud(Fenced(self._cloud, term)), self._place),
            Agents({name: Fenced(each, term) for name, each in self._agents.items()}),
            term,
            raise_epoch=self._election.raise_epoch,
            times=self._times,
            chance=self._chance,
        )
        try:
            await self.leader.run()
        finally:
            self.leader = None
