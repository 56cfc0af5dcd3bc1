"""What the one leading controller does: Services get ports, gateways get the document, the world gets addresses.

One worker takes names from one queue. For a Service it looks, decides the next step (`core.mapping`), does it, and
looks again, until there is nothing to do or something to wait for. Everything is derived anew from what is seen, so it
does not matter where the leader before was interrupted.

Nothing is pushed and nothing is cleaned up before the Services and the ports are completely known.
"""

import asyncio
import enum
import random
from collections.abc import Awaitable, Callable

from msgspec import Struct

from mooring.cloud.errors import CloudError
from mooring.controller.agents import Agents
from mooring.controller.ports import Ports
from mooring.controller.service_writes import ServiceWrites
from mooring.core import cleaning, gateway_document, mapping
from mooring.core.allocation import Allocations
from mooring.core.mapping import Seen
from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.election import Term
from mooring.kube.kinds import SERVICES
from mooring.kube.queue import WorkQueue
from mooring.kube.store import Store
from mooring.model.cloud import PortId
from mooring.model.gateway import Document, Forward
from mooring.model.kubernetes import Name, Service
from mooring.model.steps import Annotate, Clear, Forget, LetGo, MakePort, Manage, Publish, Push, Rest, Step


class Chore(enum.Enum):
    """What is to be done beside the Services."""

    BEGIN = "begin"
    PUSH = "push"
    AUDIT = "audit"


Item = Name | Chore


class Times(Struct, frozen=True):
    """How long things take, in seconds."""

    audit: float = 60.0
    push_again: float = 1.0
    before_deletion: float = 90.0
    """Longer than a lease and the longest request, signing in included: what was under way at the tagging has ended."""
    first_retry: float = 0.5
    longest_retry: float = 60.0


class Leader:
    """One term's work. Made anew for each term: what an earlier one knew is worth nothing."""

    def __init__(  # noqa: PLR0913 - everything that it stands on
        self,
        api: Api,
        services: Store[Service],
        ports: Ports,
        agents: Agents,
        term: Term,
        *,
        raise_epoch: Callable[[Term, int], Awaitable[None]],
        times: Times,
        chance: random.Random,
        trouble: Callable[[Item, Exception], None] = lambda _item, _error: None,
    ) -> None:
        self._api = api
        self._services = services
        self._writes = ServiceWrites(api, services)
        self._ports = ports
        self._agents = agents
        self._term = term
        self._raise_epoch = raise_epoch
        self._times = times
        self._trouble = trouble
        self._queue: WorkQueue[Item] = WorkQueue(chance, first=times.first_retry, longest=times.longest_retry)
        self._allocations: Allocations[PortId, Name] = Allocations()
        self._offered: frozenset[PortId] = frozenset()
        self._public: frozenset[str] = frozenset()
        self._document = Document(0, 0, "", ())
        self._acknowledged: dict[str, tuple[Forward, ...]] | None = None
        self._waiting: set[Name] = set()  # for the gateways
        self._tagged: dict[str, float] = {}  # what goes away, and when we first saw that it does
        self._stop_listening: Callable[[], None] = lambda: None
        self.audits = 0

    @property
    def idle(self) -> bool:
        """Nothing is to be done but the next audit, and nothing is on its way out."""
        return self.audits > 0 and self._queue.only(Chore.AUDIT) and not self._waiting and not self._tagged

    async def run(self) -> None:
        """Until cancelled. Waits for the Services to be known first."""
        await self._services.filled()
        self._queue.add(Chore.BEGIN)
        try:
            while True:
                await self._work(await self._queue.get())
        finally:
            self._stop_listening()

    async def _work(self, item: Item) -> None:
        try:
            again = await self._handle(item)
        except (errors.KubeError, CloudError) as error:
            self._trouble(item, error)
            self._queue.failed(item, not_before=getattr(error, "retry_after", None) or 0.0)
        else:
            if again is None:
                self._queue.done(item)
            else:
                self._queue.again(item, again)

    async def _handle(self, item: Item) -> float | None:
        """The work on one item; what is returned is after how long it wants to be looked at again."""
        match item:
            case Chore.BEGIN:
                await self._begin()
                return None
            case Chore.PUSH:
                return await self._push()
            case Chore.AUDIT:
                return await self._audit()
            case Name():
                await self._serve(item)
                return None

    async def _begin(self) -> None:
        """Learn what there is. What is owned is loaded before anything new is given out.

        Until this has succeeded, nothing else is looked at: no Service is heard of, so none can take what another has.
        """
        seen = await self._agents.ask()
        if seen >= self._term.epoch:
            await self._raise_epoch(self._term, seen)
        await self._relist()  # the watch may lag behind what the leader before us has written
        await self._refresh()
        services = sorted(self._services.all(), key=mapping.precedence)
        for service in services:
            self._claim(service)
        self._stop_listening = self._services.listen(self._changed)
        self._queue.add(Chore.PUSH)
        for service in services:
            self._queue.add(service.name)
        self._queue.add(Chore.AUDIT)

    def _changed(self, before: Service | None, after: Service | None) -> None:
        """A Service is not as it was."""
        if after is not None:
            self._claim(after)
            self._queue.add(after.name)
        elif before is not None:
            self._allocations.release(before.name)
            if str(before.name) in {each.service for each in self._document.forwards}:
                self._queue.add(Chore.PUSH)

    def _claim(self, service: Service) -> None:
        """Who has what is told by the Services' annotations, and by nothing else."""
        port = mapping.port_of(service)
        if port is None:
            self._allocations.release(service.name)
        else:
            self._allocations.claim(service.name, port, mapping.keys(service))

    async def _serve(self, name: Name) -> None:
        while service := self._services.get(name):
            if not self._ports.known:
                await self._refresh()
            step = mapping.next_step(self._seen(service))
            if isinstance(step, Rest):
                return
            if isinstance(step, Push):
                self._waiting.add(name)
                self._queue.add(Chore.PUSH)
                return
            try:
                await self._do(service, step)
            except errors.Conflict:
                await self._writes.look_again(service)
            except errors.NotFound:
                return  # it is gone; the watch will tell

    async def _do(self, service: Service, step: Step) -> None:
        match step:
            case Manage():
                await self._writes.manage(service)
            case MakePort():
                await self._ports.make()
                self._offer()
            case Annotate(port):
                # Claimed first: if the answer is lost, the claim stands until the Service is seen at a newer version.
                self._allocations.claim(service.name, port, mapping.keys(service))
                await self._writes.annotate(service, port)
            case Publish(address):
                await self._writes.publish(service, address)
            case Clear():
                await self._writes.clear(service)
            case Forget():
                await self._writes.forget(service)
            case LetGo():
                await self._writes.let_go(service)

    def _seen(self, service: Service) -> Seen:
        port = mapping.port_of(service)
        wanted = self._wanted(service)
        acknowledged = self._acknowledged is not None and self._acknowledged.get(str(service.name), ()) == wanted
        return Seen(
            service,
            port_is_ours=port in self._ports.ports,
            fits=port is not None and self._fits(service, port),
            candidate=self._candidate(service),
            address=(self._ports.public_address(port) or "") if port else "",
            shows_ours=any(each.ip in self._public for each in service.status.load_balancer.ingress),
            served=acknowledged and self._agents.hold(self._document) and (self._agents.live() or not wanted),
        )

    def _fits(self, service: Service, port: PortId) -> bool:
        reachable = self._ports.public_address(port) is not None
        return reachable and self._allocations.fits(port, mapping.keys(service), service.name)

    def _candidate(self, service: Service) -> PortId | None:
        """What it was to be given when the answer was lost, or the first that is free."""
        claimed = self._allocations.port_of(service.name)
        if claimed is not None and claimed in self._offered and self._fits(service, claimed):
            return claimed
        return self._allocations.first_fit(mapping.keys(service))

    def _wanted(self, service: Service) -> tuple[Forward, ...]:
        """What the gateways should serve for a Service."""
        port = mapping.port_of(service)
        if port is None or not mapping.mapped(service) or not self._fits(service, port):
            return ()
        return gateway_document.forwards(service, self._ports.address(port) or "")

    async def _push(self) -> float | None:
        """Tell the gateways; Services that waited for it go on."""
        if not self._ports.known:
            await self._refresh()
        wanted = [each for service in self._services.all() for each in self._wanted(service)]
        document = gateway_document.document(wanted, epoch=self._term.epoch, generation=self._document.generation + 1)
        if (document.epoch, document.digest) != (self._document.epoch, self._document.digest):
            self._document = document
        everywhere = await self._agents.push(self._document)
        ahead = self._agents.ahead_of(self._document)
        if ahead is not None:
            await self._raise_epoch(self._term, ahead)
            return 0.0
        if self._agents.hold(self._document):
            self._acknowledge(self._document)
        return None if everywhere else self._times.push_again

    def _acknowledge(self, document: Document) -> None:
        by_service: dict[str, list[Forward]] = {}
        for each in document.forwards:
            by_service.setdefault(each.service, []).append(each)
        self._acknowledged = {service: tuple(forwards) for service, forwards in by_service.items()}
        live = self._agents.live()
        for name in sorted(self._waiting):
            if live or str(name) not in by_service:
                self._waiting.discard(name)
                self._queue.add(name)

    async def _audit(self) -> float:
        """Compare everything with what is really there; clean up what nobody needs."""
        await self._agents.ask()
        await self._refresh()
        named = {port for service in await self._relist() if (port := mapping.port_of(service))}
        steps = cleaning.steps(
            self._ports.ports.values(),
            self._ports.floating_ips.values(),
            self._allocations.used() | named,
            tagged_for=self._tagged_for(),
            wait=self._times.before_deletion,
        )
        for step in steps:
            await self._ports.carry_out(step)
        if steps:
            await self._refresh()
        for service in self._services.all():
            self._queue.add(service.name)
        self._queue.add(Chore.PUSH)
        self.audits += 1
        return min(self._times.audit, self._times.before_deletion) if self._tagged else self._times.audit

    async def _relist(self) -> tuple[Service, ...]:
        """All Services as they are now, whatever the watch has told so far."""
        listing = await self._api.list(SERVICES)
        self._services.replace(listing.items, listing.version)
        return listing.items

    async def _refresh(self) -> None:
        await self._ports.refresh()
        now = asyncio.get_running_loop().time()
        self._tagged = {each: self._tagged.get(each, now) for each in self._ports.going()}
        self._offer()

    def _offer(self) -> None:
        self._public = self._ports.public_addresses()
        usable = self._ports.usable()
        for port in sorted(self._offered.difference(usable)):
            self._allocations.withdraw(port)
        for port in usable:
            self._allocations.offer(port)
        self._offered = frozenset(usable)

    def _tagged_for(self) -> dict[str, float]:
        now = asyncio.get_running_loop().time()
        return {each: now - since for each, since in self._tagged.items()}
