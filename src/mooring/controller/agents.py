"""The gateways' agents: each is told the newest document by a worker of its own, and nobody waits for another one.

What counts is what all gateways that count hold (core.roster). One that is not live is told nothing but heartbeats: as
soon as it answers one, it is told the rest. One that answers and does not do what it is told, be it that it refuses or
that it hangs, is told again after a while that grows.
"""

import asyncio
from collections.abc import Callable, Mapping

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.controller.clients import PassingOn
from mooring.controller.gateway import NOTHING, Gateway
from mooring.controller.probes import Probing
from mooring.core import gateway_document, probing, roster
from mooring.core.editions import Edition
from mooring.core.heard import Unheeding
from mooring.core.history import History
from mooring.core.roster import Acknowledged, Conduct
from mooring.model.gateway import Heartbeat, Held, LeftOut, Probes, Vrrp
from mooring.wire.http import Sender

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 2.0
"""Before one that did not do what it was told is told again."""
NOBODY: frozenset[str] = frozenset()


class Errands(Struct, frozen=True):
    """What gateways are told beside the document: who of them is to give way, and whom to ask whether they answer."""

    drained: frozenset[str] = NOBODY
    probes: Probes = Probes()


class Agents:
    """All agents, each behind a sender of its own. `leaving`: the names of those that are to be let go."""

    def __init__(
        self, senders: Mapping[str, Sender], log: FilteringBoundLogger, *, leaving: frozenset[str] = NOBODY
    ) -> None:
        self.gateways = {name: Gateway(name, senders[name], log, leaves=name in leaving) for name in sorted(senders)}
        self._clients = PassingOn(dict(senders), log)
        self._probing = Probing(log)
        self._newest = NOTHING
        self._history = History()
        self._agreed: tuple[tuple[Edition, ...], Acknowledged] = ((), {})

    async def ask(self) -> int:
        """Ask every agent what it holds; the highest epoch that any of them has seen."""
        await asyncio.gather(*(each.ask() for each in self.gateways.values()))
        return max((each.state.held.epoch for each in self.gateways.values()), default=0)

    def look_again(self) -> None:
        """Have every agent asked for all that it can say, which answers to heartbeats leave out."""
        for each in self.gateways.values():
            each.look = True

    def tell(self, edition: Edition) -> None:
        """There is something new. Whoever is still being told something older is told this next."""
        self._newest = edition
        self._history.add(edition)
        for each in self.gateways.values():
            each.turn.set()

    async def run(self, heard: Callable[[], None], errands: Callable[[], Errands] = Errands, *, every: float) -> None:
        """Until cancelled: bring each gateway to the newest document, and tell it, every so often, that we are there.

        `heard` is called when something that counts may have changed.
        """
        async with asyncio.TaskGroup() as tasks:
            for each in self.gateways.values():
                tasks.create_task(self._beat(each, heard, errands, every, tasks))
                tasks.create_task(self._follow(each, heard))

    async def _follow(self, gateway: Gateway, heard: Callable[[], None]) -> None:
        """Bring one gateway to the newest document, whenever it lacks that."""
        pause = FIRST_PAUSE
        while True:
            await gateway.turn.wait()
            gateway.turn.clear()
            newest = self._newest
            if gateway.holds(newest):
                gateway.is_at(newest)
            elif gateway.is_live():
                await gateway.bring_to(newest, self._history.delta(gateway.state))
            heard()
            if gateway.holds(newest):
                pause = FIRST_PAUSE
                if newest is not self._newest:
                    gateway.turn.set()
            elif gateway.is_live():
                gateway.turn.set()
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _beat(
        self,
        gateway: Gateway,
        heard: Callable[[], None],
        errands: Callable[[], Errands],
        every: float,
        tasks: asyncio.TaskGroup,
    ) -> None:
        before = self._standing(gateway)
        while gateway.name in self.gateways:
            newest = self._newest.held
            if newest.epoch:
                wanted = errands()
                drained = gateway.name in wanted.drained
                await gateway.beat(Heartbeat(newest.epoch, newest.generation, drained=drained))
                if gateway.answers and not gateway.is_told(self._newest):
                    gateway.turn.set()
                if gateway.answers and gateway.look:
                    await gateway.ask()
                if gateway.answers and self._probing.wanted(gateway.name, gateway.state, wanted.probes):
                    await self._probing.tell(gateway.name, gateway.sender, wanted.probes)
                now = self._standing(gateway)
                if now != before:
                    heard()
                before = now
                self._pass_on(gateway, tasks)
            await asyncio.sleep(every)

    def _standing(self, gateway: Gateway) -> tuple[object, ...]:
        """What Services may wait for, or have to say."""
        obeys = roster.obeys(gateway.conduct, now=asyncio.get_running_loop().time())
        return gateway.is_live(), obeys, gateway.state.vrrp, gateway.state.drained, gateway.state.silent

    def _pass_on(self, gateway: Gateway, tasks: asyncio.TaskGroup) -> None:
        """Let others know of its clients, without holding up its heartbeats."""
        others = [each.name for each in self.gateways.values() if each.answers]
        told = (gateway.name, gateway.state.remembers, others)
        if gateway.answers and self._clients.wanted(*told):
            tasks.create_task(self._clients.pass_on(*told))

    def ahead(self) -> int | None:
        """The highest epoch of a gateway that holds something of another leader that is not older than our newest.

        It was told by a leader whose epoch is not below ours, which happens when the Lease was lost and the gateway
        could not be asked: what we send, it refuses.
        """
        ours = self._newest
        foreign: list[Held] = [each.state.held for each in self.gateways.values() if not each.holds(ours)]
        return max((held.epoch for held in foreign if held.age >= ours.held.age), default=None)

    def live(self) -> bool:
        """Whether there is a live gateway at all."""
        return bool(self._counting())

    def holder(self) -> bool:
        """Whether a live gateway holds the addresses."""
        return any(each.state.vrrp is Vrrp.MASTER for each in self._counting())

    def acknowledged(self) -> Acknowledged | None:
        """What all that count serve, and go on serving by what they are told now; None, if of one that is not known.

        It is the same object for as long as they hold the same.
        """
        counting = self._counting()
        if not all(each.known for each in counting):
            return None
        held = (one for each in counting for one in (each.told, *each.telling))
        told = tuple(dict.fromkeys((*held, self._newest)))
        if told != self._agreed[0]:
            self._agreed = told, roster.agreed([each.acknowledged for each in told])
        return self._agreed[1]

    def told(self) -> Acknowledged:
        """What the newest document says, by Service."""
        return self._newest.acknowledged

    def settled(self) -> bool:
        """Whether every live gateway holds the newest document."""
        return all(each.is_told(self._newest) for each in self.gateways.values() if each.is_live())

    def snat(self) -> frozenset[str]:
        """Whom backends see, by what the live gateways say; one that is too old says nothing."""
        return frozenset(each.state.snat for each in self._counting()) - {""}

    def silent(self) -> frozenset[str]:
        """The nodes that answer no live gateway."""
        return probing.silent([each.state.silent for each in self._counting()])

    def left_out(self) -> dict[str, tuple[str, LeftOut]]:
        """What a live gateway does not serve of its document: by Service, who does not, and the first thing."""
        counting = [(each.name, each.state) for each in self._counting()]
        return gateway_document.left_out(counting, self._newest.forwards)

    def unheeding(self) -> tuple[Unheeding, ...]:
        """The gateways that answer, and have not done what they are told for longer than what is overlooked."""
        now = asyncio.get_running_loop().time()
        return tuple(
            Unheeding(
                each.name,
                each.failure,
                each.told.acknowledged if each.known else {},
                counts=roster.counts(each.conduct, now=now),
            )
            for each in self.gateways.values()
            if each.is_live() and not roster.obeys(each.conduct, now=now)
        )

    def let_go(self, name: str) -> bool:
        """Whether one that leaves may be let go."""
        others = [each.conduct for each in self.gateways.values() if each.name != name]
        gateway = self.gateways.get(name)
        conduct = Conduct(failing_since=float("-inf")) if gateway is None else gateway.conduct
        return roster.let_go(conduct, others, now=asyncio.get_running_loop().time())

    def forget(self, name: str) -> None:
        """One that left is told nothing any more."""
        self.gateways.pop(name, None)

    def _counting(self) -> list[Gateway]:
        now = asyncio.get_running_loop().time()
        return [each for each in self.gateways.values() if roster.counts(each.conduct, now=now)]
