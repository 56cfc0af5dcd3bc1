"""What the one leading controller does: Services get ports, gateways get the document, the world gets addresses.

One worker takes names from one queue. For a Service it looks, decides the next step (`core.explaining.decide`), does
it, and looks again, until there is nothing to do or something to wait for. Everything is derived anew from what is
seen, so it does not matter where the leader before was interrupted. Another worker makes what the gateways are told:
endpoints are followed also while OpenStack lets the first one wait.

Nothing is pushed and nothing is cleaned up before Services, endpoints, nodes and ports are completely known.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime

from structlog.typing import FilteringBoundLogger

from mooring.cloud.errors import CloudError
from mooring.controller import troubles
from mooring.controller.agenda import Agenda, Chore, Item, Times
from mooring.controller.agents import Agents, Errands
from mooring.controller.deeds import IN_CLOUD, Deeds
from mooring.controller.followed import Followed
from mooring.controller.housekeeping import Housekeeping
from mooring.controller.members import Members
from mooring.controller.ports import NoGatewayPort, Ports
from mooring.controller.pushing import Pushing
from mooring.controller.security import Security
from mooring.controller.service_writes import ServiceWrites
from mooring.core import explaining, mapping
from mooring.core.mapping import Seen
from mooring.core.picture import Picture
from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.queue import WorkQueue
from mooring.kube.recorder import Recorder
from mooring.model.kubernetes import Name, Service
from mooring.model.reasons import Trouble
from mooring.model.steps import Annotate, MakePort, Publish, Push, Rest, Step, Tell

BEGIN_AGAIN = 5.0
"""Nothing else is done before the beginning has succeeded: it does not wait for long."""
COMES_IN = (Push, Publish, Rest)
"""What is done for a Service whose packets come: before that they are let in."""
PASSING = 10.0
"""What passes by itself is worth telling only when it lasts, in seconds."""


class Leader:
    """One term's work. Made anew for each term: what an earlier one knew is worth nothing."""

    def __init__(  # noqa: PLR0913 - everything that it stands on
        self,
        api: Api,
        followed: Followed,
        *,
        picture: Picture,
        ports: Ports,
        security: Security,
        agents: Agents,
        members: Members,
        pushing: Pushing,
        recorder: Recorder,
        outdated: Callable[[], None],
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
        self._security = security
        self._agents = agents
        self._members = members
        self._pushing = pushing
        self._recorder = recorder
        self._outdated = outdated
        ip_mode = picture.addresses.place.services.ip_mode
        self._writes = ServiceWrites(api, followed.services, clock, ip_mode=ip_mode)
        self._deeds = Deeds(picture, ports, self._writes, recorder, log)
        self._house = Housekeeping(picture, ports, log, before_deletion=times.before_deletion)
        self._times = times
        self._log = log
        self._agenda = Agenda(followed, picture, times, chance)
        self._queue = self._agenda.queue
        self._live: tuple[object, ...] = True, True  # whether there was a gateway, and a holder; who did not obey
        self._acknowledged: object = None  # what they had acknowledged then
        self._failing: dict[Item, float] = {}  # since when each has been tried in vain
        self._stop_listening: list[Callable[[], None]] = []
        self.audits = 0

    @property
    def idle(self) -> bool:
        """Nothing is to be done but the next audit, and nothing is on its way out."""
        told = self._agenda.resting and self._agents.settled()
        return self.audits > 0 and told and self._house.done and not self._members.leaving

    @property
    def backlog(self) -> int:
        """How many things wait to be looked at."""
        return len(self._queue)

    @property
    def addresses(self) -> int:
        return len(self._picture.addresses.ports)

    @property
    def held_back(self) -> int:
        """How much that nobody needs is not cleaned up before a person says so."""
        return self._house.held_back

    @property
    def generation(self) -> int:
        return self._pushing.edition.held.generation

    async def run(self) -> None:
        """Until cancelled. Waits for everything to be known first."""
        await self._followed.filled()
        self._queue.add(Chore.BEGIN)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(
                    self._agents.run(self._agenda.hear_gateways, self._errands, every=self._times.heartbeat)
                )
                tasks.create_task(self._work(self._agenda.pushes))
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
                if isinstance(error, NoGatewayPort):
                    self._outdated()
                if isinstance(item, Name) and isinstance(error, CloudError):
                    await self._troubled(item, troubles.trouble(error), since=self._failing.setdefault(item, began))
            except Exception as error:  # a defect of ours, or something that cannot be: it must not stop the others
                if not isinstance(item, Name):
                    raise
                self._failed(queue, item, error)
                self._log.exception("defect", service=str(item))
            else:
                self._failing.pop(item, None)
                if again is None:
                    queue.done(item)
                else:
                    queue.again(item, again)
            await asyncio.sleep(0)  # the Lease and the gateways get their turn, however many Services there are

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

    def _errands(self) -> Errands:
        return Errands(self._members.drained(self._pushing.edition.addresses), self._agenda.probes)

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
        await self._followed.relist(self._api)  # the watch may lag behind what the leader before us has written
        await self._house.refresh()
        await self._ports.count()
        services = self._services.all()
        self._picture.holdings.claim_all(services)
        self._stop_listening = self._agenda.begin()
        self._log.info("leading", services=len(services), addresses=len(self._picture.addresses.ports))
        self._agenda.tell_gateways()
        self._agenda.look_at_all()
        self._queue.add(Chore.AUDIT)

    async def _serve(self, name: Name) -> None:
        while service := self._services.get(name):
            await self._house.look()
            seen = self._seen(service)
            (self._agenda.wishing.add if seen.in_vain else self._agenda.wishing.discard)(name)
            step = explaining.decide(seen, self._agenda.troubles.get(name))
            if isinstance(step, COMES_IN) and await self._let_in(service):
                continue  # it may have changed meanwhile, or has something else to say
            if self._waits(service, step):
                return
            if isinstance(step, IN_CLOUD) and not self._ports.known:
                await self._house.refresh()
                continue
            if not await self._do(service, step):
                return
            self._went_on(name, step)
            if isinstance(step, Annotate):
                self._tell_winners(service, seen)

    def _waits(self, service: Service, step: Step) -> bool:
        """Nothing is to be done for it now: all is well, others have their turn, or it was in vain."""
        if isinstance(step, Rest):
            self._agenda.troubles.pop(service.name, None)
            return True
        if isinstance(step, Push):
            self._wait_for_gateways(service)
            return True
        return step == self._agenda.given_up.get(service.name)

    async def _do(self, service: Service, step: Step) -> bool:
        """Whether the Service is still there."""
        try:
            await self._deeds.do(service, step)
        except errors.Conflict:
            await self._writes.look_again(service)
            if self._services.get(service.name) is service:
                raise  # the server has something older, such as from a backup: in vain until we know
        except errors.NotFound:
            return False  # it is gone; the watch will tell
        except troubles.HOPELESS:
            self._agenda.given_up[service.name] = step
            raise
        return True

    async def _let_in(self, service: Service) -> bool:
        """Have its packets come through the security group. Whether that changed something."""
        opened = await self._security.let_in(service, self._services.all)
        return self._agenda.let_in(service.name) or opened

    def _tell_winners(self, service: Service, seen: Seen) -> None:
        """Who keeps what a Service claimed, and now does not any more, hears of that."""
        for leg in seen.legs:
            winner = self._services.get(leg.rival) if leg.rival else None
            if winner is not None:
                self._deeds.tell_winner(winner, leg.address, service)

    def _went_on(self, name: Name, step: Step) -> None:
        if isinstance(step, MakePort | Annotate):
            self._agenda.troubles.pop(name, None)
            self._agenda.given_up.pop(name, None)
        if isinstance(step, MakePort):
            self._agenda.audit_soon()  # which puts our tag on it

    def _wait_for_gateways(self, service: Service) -> None:
        """They are told only what they have not been told: of ten thousand that wait, one document tells all."""
        self._agenda.waiting.add(service.name)
        self._picture.holdings.changes.add((service.name,))
        wanted = self._picture.forwards(service, self._agenda.known_of(service))
        told = self._pushing.told(service, wanted)
        (self._agenda.hear_gateways if told else self._agenda.tell_gateways)()

    async def _troubled(self, name: Name, trouble: Trouble, *, since: float) -> None:
        """Say on a Service what went wrong with it; where that does not work either, the next try will."""
        service = self._services.get(name)
        if service is None:
            return
        if trouble.reason in troubles.PASSING and asyncio.get_running_loop().time() < since + PASSING:
            return
        self._agenda.troubles[name] = trouble
        step = explaining.decide(self._seen(service), trouble)
        if isinstance(step, Tell):
            try:
                await self._deeds.do(service, step)
            except errors.KubeError as error:
                self._log.warning("could not be told", service=str(name), why=str(error))

    def _seen(self, service: Service) -> Seen:
        return self._picture.seen(service, self._agenda.known_of(service), self._pushing.gateways())

    def _push(self) -> None:
        """Have the gateways told what is wanted. What OpenStack has was known once, and is enough."""
        names = self._picture.holdings.changes.take()
        services = (
            self._services.all() if names is None else [each for name in names if (each := self._services.get(name))]
        )
        wanted = {str(each.name): self._picture.forwards(each, self._agenda.known_of(each)) for each in services}
        gone = {str(name): () for name in names or () if str(name) not in wanted}
        self._pushing.push(wanted | gone, everybody=names is None)
        self._agenda.hear_gateways()

    async def _heard(self) -> None:
        """The gateways hold something else, or are not what they were: Services that waited for that go on."""
        if await self._pushing.overtaken():
            self._agenda.tell_gateways()
        self._agenda.nodes_answer(self._agents.silent())
        gateways = self._pushing.gateways()
        live = gateways.live, gateways.holder, *((each.gateway, each.counts) for each in gateways.unheeding)
        if gateways.acknowledged is not self._acknowledged or live != self._live:
            for name in sorted(self._agenda.waiting):
                self._queue.add(name)
            self._agenda.waiting.clear()
        if live != self._live:
            self._agenda.look_at_all()
        self._acknowledged, self._live = gateways.acknowledged, live
        if self._members.let_go():
            self._queue.add(Chore.AUDIT)

    async def _audit(self) -> float:
        """Compare everything with what is really there; clean up what nobody needs."""
        self._agents.look_again()
        await self._house.refresh()
        if absent := self._members.absent():
            self._log.warning("ports of gateways are gone, and these give way", **absent)
            self._outdated()
        services = await self._followed.relist(self._api)
        needed = {port for service in services for port in self._picture.holdings.ports_of(service)}
        needed |= self._picture.asked_for(services)
        begun = self._picture.begun_for(each for name in self._agenda.troubles if (each := self._services.get(name)))
        await self._security.audit(services)  # before a new gateway may use addresses, packets can come to it
        shown = mapping.all_shown(services)
        failed = await self._house.clean_up(
            frozenset(needed), self._followed.let_go.ports, begun=begun - needed, shown=shown
        )
        await self._ports.count()
        await self._members.left()
        self._agenda.look_at_all()
        self._picture.holdings.changes.add_everybody()
        self._agenda.tell_gateways()
        self.audits += 1
        if failed is not None:
            raise failed  # it is tried again soon, then less and less often
        due = self._house.next_due()
        return self._times.audit if due is None else min(self._times.audit, max(due, self._times.clean_up))


def _called(item: Item) -> str:
    return str(item) if isinstance(item, Name) else item.value
