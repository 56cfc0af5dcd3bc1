"""The gateways' agents: each is told the newest document by a worker of its own, and nobody waits for another one.

What counts is what all gateways that count hold (core.roster). One that is not live is told nothing but heartbeats: as
soon as it answers one, it is told the rest. One that answers and does not do what it is told, be it that it refuses or
that it hangs, is told again after a while that grows.
"""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct, field
from structlog.typing import FilteringBoundLogger

from mooring.controller.clients import PassingOn
from mooring.controller.fence import LeaseLost
from mooring.controller.probes import Probing
from mooring.core import gateway_document, probing, roster
from mooring.core.editions import Edition
from mooring.core.heard import Unheeding
from mooring.core.history import History
from mooring.core.roster import GRACE, Acknowledged, Conduct
from mooring.model.gateway import Delta, Heartbeat, Held, LeftOut, Probes, Refusal, State, Vrrp
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender

MEGABYTE = 1 << 20
PUT_SECONDS = 15.0
"""And a second for each megabyte of a whole document. Heartbeats tell meanwhile that the gateway lives."""
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 2.0
"""Before one that did not do what it was told is told again."""
MOST_UNANSWERED = 16
"""Editions. Of who was sent more that it did not answer, nothing is known."""
JSON = {"content-type": "application/json"}
DOCUMENTS = {"PUT", "PATCH"}
STATES = {HTTPStatus.OK, HTTPStatus.CONFLICT}
"""In both it says what it holds."""
NOBODY: frozenset[str] = frozenset()


NOTHING = Edition(Held(), {}, seed=0)


class Gateway(Struct):
    """One gateway as its agent last told it. `told`: what it was told last and did."""

    name: str
    sender: Sender
    state: State = State(Held(), schemas=gateway_document.SCHEMAS)
    asked: float = float("-inf")
    """When that was asked for: what was asked for earlier may be answered later, and is not what is so now."""
    told: Edition = NOTHING
    telling: tuple[Edition, ...] = ()
    """What it was sent since then: what is not answered may be done, now or in a moment."""
    leaves: bool = False
    failing_since: float | None = None
    refusing_since: float | None = None
    failure: str = ""
    in_doubt: bool = False
    """It answered a document with something else than its state or why not: it may have done it."""
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    look: bool = False

    @property
    def known(self) -> bool:
        """Whether all that it may serve is known. One that never answered may serve anything."""
        spoke = self.asked > float("-inf")
        return spoke and holds(self.state, self.told) and len(self.telling) <= MOST_UNANSWERED

    @property
    def conduct(self) -> Conduct:
        return Conduct(self.state.vrrp, self.failing_since, self.refusing_since, self.leaves)


class Errands(Struct, frozen=True):
    """What gateways are told beside the document: who of them is to give way, and whom to ask whether they answer."""

    drained: frozenset[str] = NOBODY
    probes: Probes = Probes()


class Agents:
    """All agents, each behind a sender of its own. `leaving`: the names of those that are to be let go."""

    def __init__(
        self, senders: Mapping[str, Sender], log: FilteringBoundLogger, *, leaving: frozenset[str] = NOBODY
    ) -> None:
        self.gateways = {name: Gateway(name, senders[name], leaves=name in leaving) for name in sorted(senders)}
        self._log = log
        self._clients = PassingOn(dict(senders), log)
        self._probing = Probing(log)
        self._newest = NOTHING
        self._history = History()
        self._agreed: tuple[tuple[Edition, ...], Acknowledged] = ((), {})

    async def ask(self) -> int:
        """Ask every agent what it holds; the highest epoch that any of them has seen."""
        await asyncio.gather(*(self._ask(each) for each in self.gateways.values()))
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
            if holds(gateway.state, newest):
                gateway.told, gateway.telling = newest, ()
            elif self.is_live(gateway):
                await self._push(gateway, newest, self._history.delta(gateway.state))
            heard()
            if holds(gateway.state, newest):
                pause = FIRST_PAUSE
                if newest is not self._newest:
                    gateway.turn.set()
            elif self.is_live(gateway):
                gateway.turn.set()
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _push(self, gateway: Gateway, newest: Edition, delta: Delta | None) -> None:
        """What differs, if that is known; everything, if the gateway has something else after all."""
        before = gateway.telling
        gateway.telling = tuple(dict.fromkeys((*before, newest)))
        answered = await self._send(gateway, newest, delta)
        if holds(gateway.state, newest):
            gateway.told, gateway.telling = newest, ()
        elif answered and not gateway.in_doubt:
            gateway.telling = before

    async def _send(self, gateway: Gateway, newest: Edition, delta: Delta | None) -> bool:
        """Whether it answered, and so says what it has done."""
        whole = newest.understood(gateway.state.schemas)
        if delta is not None and whole is newest:
            body = msgspec.json.encode(delta)
            request = Request("patch document", "PATCH", "/v1/document", headers=JSON, body=body, seconds=PUT_SECONDS)
            if not await self._tell(gateway, request):
                return False
        if gateway.state.held.age >= newest.held.age:  # this one, or something newer of somebody else
            return True
        seconds = PUT_SECONDS + len(whole.body) / MEGABYTE
        request = Request("put document", "PUT", "/v1/document", headers=JSON, body=whole.body, seconds=seconds)
        return await self._tell(gateway, request)

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
                beat = Heartbeat(newest.epoch, newest.generation, drained=gateway.name in wanted.drained)
                body = msgspec.json.encode(beat)
                await self._tell(
                    gateway, Request("heartbeat", "POST", "/v1/heartbeat", headers=JSON, body=body, seconds=GRACE)
                )
                if gateway.failing_since is None and not self._is_told(gateway):
                    gateway.turn.set()
                if gateway.look and gateway.failing_since is None:
                    gateway.look = False
                    await self._ask(gateway)
                if gateway.failing_since is None and self._probing.wanted(gateway.name, gateway.state, wanted.probes):
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
        return self.is_live(gateway), obeys, gateway.state.vrrp, gateway.state.silent

    def _pass_on(self, gateway: Gateway, tasks: asyncio.TaskGroup) -> None:
        """Let others know of its clients, without holding up its heartbeats."""
        others = [each.name for each in self.gateways.values() if each.failing_since is None]
        told = (gateway.name, gateway.state.remembers, others)
        if gateway.failing_since is None and self._clients.wanted(*told):
            tasks.create_task(self._clients.pass_on(*told))

    def ahead(self) -> int | None:
        """The highest epoch of a gateway that holds something of another leader that is not older than our newest.

        It was told by a leader whose epoch is not below ours, which happens when the Lease was lost and the gateway
        could not be asked: what we send, it refuses.
        """
        ours = self._newest
        foreign: list[Held] = [each.state.held for each in self.gateways.values() if not holds(each.state, ours)]
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
        return all(self._is_told(each) for each in self.gateways.values() if self.is_live(each))

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
            if self.is_live(each) and not roster.obeys(each.conduct, now=now)
        )

    def is_live(self, gateway: Gateway) -> bool:
        if gateway.failing_since is None:
            return True
        return roster.live(gateway.conduct, now=asyncio.get_running_loop().time())

    def let_go(self, name: str) -> bool:
        """Whether one that leaves may be let go."""
        others = [each.conduct for each in self.gateways.values() if each.name != name]
        gateway = self.gateways.get(name)
        conduct = Conduct(failing_since=float("-inf")) if gateway is None else gateway.conduct
        return roster.let_go(conduct, others, now=asyncio.get_running_loop().time())

    def forget(self, name: str) -> None:
        """One that left is told nothing any more."""
        self.gateways.pop(name, None)

    def _is_told(self, gateway: Gateway) -> bool:
        return gateway.told is self._newest and holds(gateway.state, self._newest)

    def _counting(self) -> list[Gateway]:
        now = asyncio.get_running_loop().time()
        return [each for each in self.gateways.values() if roster.counts(each.conduct, now=now)]

    async def _ask(self, gateway: Gateway) -> None:
        await self._tell(gateway, Request("get state", "GET", "/v1/state", seconds=GRACE))

    async def _tell(self, gateway: Gateway, request: Request) -> bool:
        """Whether it answered. Since when it does not, is counted from the sending."""
        begin = asyncio.get_running_loop().time()
        document = request.method in DOCUMENTS
        try:
            response = await gateway.sender.send(request)
            if response.status in STATES:
                state = _kept(gateway.state, msgspec.json.decode(response.body, type=State), request)
                overtaken = begin <= gateway.asked and state.held.age < gateway.state.held.age
                obeyed = not overtaken and (document or state.held != gateway.state.held)
                if not overtaken:
                    gateway.state, gateway.asked = state, begin
                if document:
                    gateway.in_doubt = False
                self._answered(gateway, obeyed=obeyed)
                return True
        except LeaseLost:
            return False
        except (NotSent, NoAnswer, msgspec.DecodeError) as error:
            if document and not isinstance(error, NotSent):
                self._refused(gateway, f"no answer: {error}", since=begin)
            else:
                self._failed(gateway, request.what, str(error), since=begin)
            return False
        if document:
            gateway.failing_since = None
            gateway.in_doubt = _refusal(response) is None
            self._refused(gateway, refusal(response), since=begin)
        else:
            self._failed(gateway, request.what, refusal(response), since=begin)
        return True

    def _answered(self, gateway: Gateway, *, obeyed: bool) -> None:
        if gateway.failing_since is not None:
            self._log.info("gateway answers again", gateway=gateway.name)
        gateway.failing_since = None
        if obeyed or gateway.refusing_since is None:
            gateway.refusing_since, gateway.failure = None, ""

    def _refused(self, gateway: Gateway, why: str, *, since: float) -> None:
        """It does not do it, or does not say that it did."""
        if gateway.failure != why:
            self._log.warning("gateway does not take the document", gateway=gateway.name, why=why)
        gateway.failure = why
        if gateway.refusing_since is None:
            gateway.refusing_since = since

    def _failed(self, gateway: Gateway, call: str, failure: str, *, since: float) -> None:
        if gateway.failure != failure:
            self._log.warning("gateway does not answer", gateway=gateway.name, call=call, why=failure)
        gateway.failure = failure
        if gateway.failing_since is None:
            gateway.failing_since = since


def holds(state: State, edition: Edition) -> bool:
    """Whether a gateway was told just this, and serves it but for what it says."""
    digest = edition.understood(state.schemas).held.digest
    return state.held.age == edition.held.age and (state.told or state.held.digest) == digest


def _kept(before: State, now: State, request: Request) -> State:
    """With what is left out, which an answer to a heartbeat does not say: it is the same for the same document."""
    same = request.method == "POST" and (before.told, before.held.age) == (now.told, now.held.age)
    return msgspec.structs.replace(now, left_out=before.left_out) if same else now


def refusal(response: Response) -> str:
    found = _refusal(response)
    return f"it answers {response.status}" if found is None else f"{found.reason}: {found.message}"


def _refusal(response: Response) -> Refusal | None:
    """Why a gateway has done nothing, in its own words."""
    try:
        return msgspec.json.decode(response.body, type=Refusal)
    except msgspec.DecodeError:
        return None
