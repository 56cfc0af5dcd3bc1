"""What the one leading controller does: Services get ports, gateways get the document, the world gets addresses.

One worker takes names from one queue. For a Service it looks, decides the next step (`core.explaining.decide`), does
it, and looks again, until there is nothing to do or something to wait for. Everything is derived anew from what is
seen, so it does not matter where the leader before was interrupted. Another worker makes what the gateways are told:
endpoints are followed also while OpenStack lets the first one wait.

Nothing is pushed and nothing is cleaned up before Services, endpoints, nodes and ports are completely known.
"""

import asyncio
import enum
import random
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.cloud.errors import CloudError
from mooring.controller import troubles
from mooring.controller.agents import Agents
from mooring.controller.deeds import Deeds
from mooring.controller.housekeeping import Housekeeping
from mooring.controller.members import Members
from mooring.controller.ports import Ports
from mooring.controller.pushing import Pushing
from mooring.controller.service_writes import ServiceWrites
from mooring.core import claims, endpoints, explaining, mapping, nodes
from mooring.core.backends import Known
from mooring.core.mapping import Seen
from mooring.core.picture import Picture
from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES
from mooring.kube.queue import WorkQueue
from mooring.kube.recorder import Recorder
from mooring.kube.store import Store
from mooring.model import names
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy, Node, Service
from mooring.model.reasons import Trouble
from mooring.model.steps import Annotate, MakePort, Push, Rest, Tell

BY_SERVICE = "by service"
BY_NAMESPACE = "by namespace"
BEGIN_AGAIN = 5.0
"""Nothing else is done before the beginning has succeeded: it does not wait for long."""
LONGEST_PUSH_RETRY = 1.0
PASSING = 10.0
"""What passes by itself is worth telling only when it lasts, in seconds."""


class Chore(enum.Enum):
    """What is to be done beside the Services."""

    BEGIN = "begin"
    PUSH = "push"
    HEARD = "hear the gateways"
    AUDIT = "audit"


Item = Name | Chore


class Times(Struct, frozen=True):
    """How long things take, in seconds."""

    audit: float = 60.0
    clean_up: float = 1.0
    heartbeat: float = 1.0
    before_deletion: float = 90.0
    """Longer than a lease and the longest request, signing in included: what was under way at the tagging has ended."""
    first_retry: float = 0.5
    longest_retry: float = 60.0


class Followed(Struct, frozen=True):
    """What the controller follows, leading or not."""

    services: Store[Service]
    slices: Store[EndpointSlice]
    nodes: Store[Node]
    policies: Store[NetworkPolicy]

    @property
    def complete(self) -> bool:
        return all(each.complete for each in (self.services, self.slices, self.nodes, self.policies))

    async def filled(self) -> None:
        await self.services.filled()
        await self.slices.filled()
        await self.nodes.filled()
        await self.policies.filled()

    def slices_of(self, name: Name) -> tuple[EndpointSlice, ...]:
        return self.slices.by(BY_SERVICE, name)

    def policies_of(self, name: Name) -> tuple[NetworkPolicy, ...]:
        return self.policies.by(BY_NAMESPACE, name.namespace)


class Leader:
    """One term's work. Made anew for each term: what an earlier one knew is worth nothing."""

    def __init__(  # noqa: PLR0913 - everything that it stands on
        self,
        api: Api,
        followed: Followed,
        *,
        picture: Picture,
        ports: Ports,
        agents: Agents,
        members: Members,
        pushing: Pushing,
        recorder: Recorder,
        clock: Callable[[], datetime],
        times: Times,
        chance: random.Random,
        log: FilteringBoundLogger,
    ) -> None:
        self._api = api
        self._services = followed.services
        self._followed = followed
        self._picture = picture
        self._ports = ports
        self._agents = agents
        self._members = members
        self._pushing = pushing
        self._recorder = recorder
        self._wanted = picture.addresses.place.services
        self._writes = ServiceWrites(api, followed.services, clock, ip_mode=self._wanted.ip_mode)
        self._deeds = Deeds(picture, ports, self._writes, recorder, log)
        self._house = Housekeeping(picture, ports, log, before_deletion=times.before_deletion)
        self._times = times
        self._log = log
        self._queue: WorkQueue[Item] = WorkQueue(chance, first=times.first_retry, longest=times.longest_retry)
        self._pushes: WorkQueue[Item] = WorkQueue(chance, first=times.first_retry, longest=LONGEST_PUSH_RETRY)
        self._nodes: tuple[nodes.Usable, ...] = ()
        self._waiting: set[Name] = set()  # for the gateways
        self._live = True, True  # whether there was a gateway, and a holder, when they were last heard
        self._acknowledged: object = None  # what they had acknowledged then
        self._troubles: dict[Name, Trouble] = {}
        self._wishing: set[Name] = set()  # for an address that cannot be had now
        self._failing: dict[Item, float] = {}  # since when each has been tried in vain
        self._stop_listening: list[Callable[[], None]] = []
        self.audits = 0

    @property
    def idle(self) -> bool:
        """Nothing is to be done but the next audit, and nothing is on its way out."""
        resting = self._queue.only(Chore.AUDIT) and self._pushes.only(Chore.AUDIT)
        told = not self._waiting and self._agents.settled()
        return self.audits > 0 and resting and told and self._house.done and not self._members.leaving

    @property
    def backlog(self) -> int:
        """How many things wait to be looked at."""
        return len(self._queue)

    @property
    def addresses(self) -> int:
        return len(self._picture.addresses.ports)

    @property
    def generation(self) -> int:
        return self._pushing.document.generation

    async def run(self) -> None:
        """Until cancelled. Waits for everything to be known first."""
        await self._followed.filled()
        self._queue.add(Chore.BEGIN)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._agents.run(self._hear_gateways, self._drained, every=self._times.heartbeat))
                tasks.create_task(self._work(self._pushes))
                await self._work(self._queue)
        finally:
            for stop in self._stop_listening:
                stop()

    async def _work(self, queue: WorkQueue[Item]) -> None:
        while True:
            item = await queue.get()
            began = asyncio.get_running_loop().time()
            try:
                again = await self._handle(item)
            except (errors.KubeError, CloudError) as error:
                self._failed(queue, item, error)
                if isinstance(item, Name) and isinstance(error, CloudError):
                    await self._troubled(item, troubles.trouble(error), since=self._failing.setdefault(item, began))
            else:
                self._failing.pop(item, None)
                if again is None:
                    queue.done(item)
                else:
                    queue.again(item, again)

    def _failed(self, queue: WorkQueue[Item], item: Item, error: Exception) -> None:
        """It comes back by itself, or with the next audit where it is of no use to try earlier."""
        if isinstance(item, Name) and isinstance(error, troubles.HOPELESS):
            queue.done(item)
            self._log.warning("failed", what=_called(item), why=str(error), again="with the next audit")
            return
        delay = queue.failed(item, not_before=getattr(error, "retry_after", None) or 0.0)
        if item is Chore.BEGIN:
            delay = min(delay, BEGIN_AGAIN)
            queue.add_after(item, delay)
        self._log.warning("failed", what=_called(item), why=str(error), again_in=round(delay, 1))

    def _tell_gateways(self) -> None:
        self._pushes.add(Chore.PUSH)

    def _hear_gateways(self) -> None:
        self._pushes.add(Chore.HEARD)

    def _drained(self) -> frozenset[str]:
        return self._members.drained(self._pushing.document)

    async def _handle(self, item: Item) -> float | None:
        """The work on one item; what is returned is after how long it wants to be looked at again."""
        match item:
            case Chore.BEGIN:
                await self._begin()
                return None
            case Chore.PUSH:
                self._push()
                return None
            case Chore.HEARD:
                await self._heard()
                return None
            case Chore.AUDIT:
                return await self._audit()
            case Name():
                await self._serve(item)
                return None

    async def _begin(self) -> None:
        """Learn what there is. What is owned is loaded before anything new is given out.

        Until this has succeeded, nothing else is looked at: no Service is heard of, so none can take what another has.
        """
        await self._members.begin()
        await self._pushing.begin()
        await self._relist()  # the watch may lag behind what the leader before us has written
        await self._house.refresh()
        services = sorted(self._services.all(), key=mapping.precedence)
        for service in services:
            self._picture.claim(service)
        self._nodes = nodes.all_usable(self._followed.nodes.all())
        self._stop_listening = [
            self._services.listen(self._changed),
            self._followed.slices.listen(self._endpoints_changed),
            self._followed.nodes.listen(self._node_changed),
            self._followed.policies.listen(self._policy_changed),
        ]
        self._log.info("leading", services=len(services), addresses=len(self._picture.addresses.ports))
        self._tell_gateways()
        for service in services:
            self._queue.add(service.name)
        self._queue.add(Chore.AUDIT)

    def _changed(self, before: Service | None, after: Service | None) -> None:
        """A Service is not as it was."""
        if after is not None:
            self._picture.claim(after)
            self._queue.add(after.name)
            if before is not None and _wishes(before) != _wishes(after) and mapping.mapped(after):
                self._tell_gateways()  # such as of who may call it
        elif before is not None:
            self._picture.release(before.name)
            self._troubles.pop(before.name, None)
            self._wishing.discard(before.name)
            if self._pushing.serves(before.name):
                self._tell_gateways()
        self._freed(before, after)

    def _freed(self, before: Service | None, after: Service | None) -> None:
        """What a Service had and has no more is there for those who wait for it; nobody may need it any more."""
        had, has = (set(mapping.ports_of(each)) if each else set() for each in (before, after))
        if not had & self._picture.addresses.ports.keys() or (before and after and _has_as_before(before, after)):
            return
        left = had - has
        for name in sorted(self._wishing.union(self._troubles)):
            self._queue.add(name)
        if left - self._picture.used():
            self._queue.add_after(Chore.AUDIT, self._times.clean_up)

    def _endpoints_changed(self, before: EndpointSlice | None, after: EndpointSlice | None) -> None:
        """Endpoints of a Service came or went."""
        for name in {endpoints.service_of(each) for each in (before, after) if each is not None}:
            service = self._services.get(name) if name else None
            if service is not None and mapping.mapped(service):
                self._tell_gateways()
                self._queue.add(service.name)

    def _node_changed(self, before: Node | None, after: Node | None) -> None:
        """A node came or went, or says that it lives, which it does every few seconds and which costs nothing."""
        if nodes.usable(before) == nodes.usable(after):
            return
        self._nodes = nodes.all_usable(self._followed.nodes.all())
        concerned = [
            each for each in self._services.all() if self._picture.layer(each) == "node" and mapping.mapped(each)
        ]
        for service in concerned:
            self._queue.add(service.name)
        if concerned:
            self._tell_gateways()

    def _policy_changed(self, before: NetworkPolicy | None, after: NetworkPolicy | None) -> None:
        """What is to be told about Services of its namespace may be something else."""
        if before is not None and after is not None and before.spec == after.spec:
            return
        namespace = (after or before or NetworkPolicy()).metadata.namespace
        for service in self._services.all():
            if service.metadata.namespace == namespace and mapping.mapped(service):
                self._queue.add(service.name)

    async def _serve(self, name: Name) -> None:
        while service := self._services.get(name):
            if not self._ports.known:
                await self._house.refresh()
            seen = self._seen(service)
            (self._wishing.add if seen.denied else self._wishing.discard)(name)
            step = explaining.decide(seen, self._troubles.get(name))
            if isinstance(step, Rest):
                self._troubles.pop(name, None)
                return
            if isinstance(step, Push):
                self._waiting.add(name)
                self._tell_gateways()
                return
            try:
                await self._deeds.do(service, step)
            except errors.Conflict:
                await self._writes.look_again(service)
            except errors.NotFound:
                return  # it is gone; the watch will tell
            if isinstance(step, MakePort | Annotate):
                self._troubles.pop(name, None)
            if isinstance(step, MakePort):
                self._queue.add_after(Chore.AUDIT, self._times.clean_up)  # which puts our tag on it

    async def _troubled(self, name: Name, trouble: Trouble, *, since: float) -> None:
        """Say on a Service what went wrong with it; where that does not work either, the next try will."""
        service = self._services.get(name)
        if service is None:
            return
        if trouble.reason in troubles.PASSING and asyncio.get_running_loop().time() < since + PASSING:
            return
        self._troubles[name] = trouble
        step = explaining.decide(self._seen(service), trouble)
        if isinstance(step, Tell):
            try:
                await self._deeds.do(service, step)
            except errors.KubeError as error:
                self._log.warning("could not be told", service=str(name), why=str(error))

    def _seen(self, service: Service) -> Seen:
        name = service.name
        known = Known(self._followed.slices_of(name), self._nodes, self._followed.policies_of(name))
        return self._picture.seen(service, known, self._pushing.gateways())

    def _push(self) -> None:
        """Have the gateways told what is wanted. What OpenStack has was known once, and is enough."""
        wanted = [
            each
            for service in self._services.all()
            for each in self._picture.forwards(service, Known(self._followed.slices_of(service.name), self._nodes))
        ]
        self._pushing.push(wanted)
        self._hear_gateways()

    async def _heard(self) -> None:
        """The gateways hold something else, or are not what they were: Services that waited for that go on."""
        if await self._pushing.overtaken():
            self._tell_gateways()
        gateways = self._pushing.gateways()
        live = gateways.live, gateways.holder
        if gateways.acknowledged is not self._acknowledged or live != self._live:
            for name in sorted(self._waiting):
                self._queue.add(name)
            self._waiting.clear()
        if live != self._live:
            for service in self._services.all():
                self._queue.add(service.name)
        self._acknowledged, self._live = gateways.acknowledged, live
        if self._members.let_go():
            self._queue.add(Chore.AUDIT)

    async def _audit(self) -> float:
        """Compare everything with what is really there; clean up what nobody needs."""
        self._agents.look_again()
        await self._house.refresh()
        services = await self._relist()
        needed = {port for service in services for port in mapping.ports_of(service)}
        needed |= self._picture.asked_for(services)
        needed |= self._picture.begun_for(each for name in self._troubles if (each := self._services.get(name)))
        await self._house.clean_up(frozenset(needed))
        await self._members.left()
        for service in self._services.all():
            self._queue.add(service.name)
        self._tell_gateways()
        self.audits += 1
        due = self._house.next_due()
        return self._times.audit if due is None else min(self._times.audit, max(due, self._times.clean_up))

    async def _relist(self) -> tuple[Service, ...]:
        """All Services and what is behind them as they are now, whatever the watch has told so far."""
        found = await self._api.list(NODES)
        self._followed.nodes.replace(found.items, found.version)
        policies = await self._api.list(NETWORK_POLICIES)
        self._followed.policies.replace(policies.items, policies.version)
        slices = await self._api.list(ENDPOINT_SLICES)
        self._followed.slices.replace(slices.items, slices.version)
        services = await self._api.list(SERVICES)
        settled = tuple(claims.settled(each, self._wanted) for each in services.items)
        self._services.replace(settled, services.version)
        return settled


def _has_as_before(before: Service, after: Service) -> bool:
    return (mapping.ports_of(before), mapping.keys(before)) == (mapping.ports_of(after), mapping.keys(after))


def _wishes(service: Service) -> tuple[object, ...]:
    """What its owner wants of the gateways."""
    return service.spec, service.metadata.annotations.get(names.LAYER)


def _called(item: Item) -> str:
    return str(item) if isinstance(item, Name) else item.value
