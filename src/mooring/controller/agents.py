"""The gateways' agents: telling them the document, and knowing which of them hold it.

A gateway is live until it has not answered for `GRACE` seconds. What counts is what all live gateways hold. One that is
not live is told nothing but heartbeats: as soon as it answers one, it is told the rest. One that answers and refuses
what it is told gives way to the others by itself, and counts for as long as it holds the addresses all the same.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from http import HTTPStatus

import msgspec
from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.controller.clients import PassingOn
from mooring.controller.fence import LeaseLost
from mooring.core import gateway_document
from mooring.core.history import History
from mooring.model.gateway import Delta, Document, Heartbeat, Held, LeftOut, Refusal, State, Vrrp
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender

GRACE = 3.0
MEGABYTE = 1 << 20
PUT_SECONDS = 15.0
"""And a second for each megabyte of a whole document. Heartbeats tell meanwhile that the gateway lives."""
JSON = {"content-type": "application/json"}
DOCUMENTS = {"PUT", "PATCH"}
STATES = {HTTPStatus.OK, HTTPStatus.CONFLICT}
"""In both it says what it holds."""


class Gateway(Struct):
    """One gateway as its agent last told it."""

    name: str
    sender: Sender
    state: State = State(Held(), schemas=gateway_document.SCHEMAS)
    failing_since: float | None = None
    refusing_since: float | None = None
    failure: str = ""


class Agents:
    """All agents, each behind a sender of its own."""

    def __init__(self, senders: Mapping[str, Sender], log: FilteringBoundLogger) -> None:
        self.gateways = {name: Gateway(name, senders[name]) for name in sorted(senders)}
        self._log = log
        self._clients = PassingOn(dict(senders), log)

    async def ask(self) -> int:
        """Ask every agent what it holds; the highest epoch that any of them has seen."""
        request = Request("get state", "GET", "/v1/state", seconds=GRACE)
        await asyncio.gather(*(self._tell(each, request) for each in self.gateways.values()))
        return max((each.state.held.epoch for each in self.gateways.values()), default=0)

    async def push(self, document: Document, history: History) -> bool:
        """Tell the live ones that do not hold it yet. Returns whether all that were told hold it now."""
        lacking = [each for each in self.gateways.values() if self.is_live(each) and not holds(each.state, document)]
        whole = Whole(document)
        await asyncio.gather(*(self._push(each, whole, history.delta(each.state)) for each in lacking))
        return all(holds(each.state, document) for each in lacking)

    async def _push(self, gateway: Gateway, whole: "Whole", delta: Delta | None) -> None:
        """What differs, if that is known; everything, if the gateway has something else after all."""
        fitting = gateway_document.understood(whole.document, gateway.state.schemas)
        if fitting is not whole.document:
            whole, delta = Whole(fitting), None
        if delta is not None:
            body = msgspec.json.encode(delta)
            request = Request("patch document", "PATCH", "/v1/document", headers=JSON, body=body, seconds=PUT_SECONDS)
            await self._tell(gateway, request)
            if gateway.failing_since is not None or holds(gateway.state, whole.document):
                return
            if gateway.state.held.age >= whole.document.held.age:
                return  # somebody else told it something newer
        seconds = PUT_SECONDS + len(whole.body) / MEGABYTE
        request = Request("put document", "PUT", "/v1/document", headers=JSON, body=whole.body, seconds=seconds)
        await self._tell(gateway, request)

    async def beat(self, document: Callable[[], Document], turned: Callable[[], None], *, every: float) -> None:
        """Tell each gateway, again and again, that there is a leader.

        `turned` is called when one that answers lacks the document, and when one is no longer live.
        """
        async with asyncio.TaskGroup() as tasks:
            for each in self.gateways.values():
                tasks.create_task(self._beat(each, document, turned, every, tasks))

    async def _beat(
        self,
        gateway: Gateway,
        document: Callable[[], Document],
        turned: Callable[[], None],
        every: float,
        tasks: asyncio.TaskGroup,
    ) -> None:
        live, vrrp = True, gateway.state.vrrp
        while True:
            newest = document()
            if newest.epoch:
                body = msgspec.json.encode(Heartbeat(newest.epoch, newest.generation))
                await self._tell(
                    gateway, Request("heartbeat", "POST", "/v1/heartbeat", headers=JSON, body=body, seconds=GRACE)
                )
                lacks = gateway.failing_since is None and not holds(gateway.state, newest)
                if lacks or (self.is_live(gateway), gateway.state.vrrp) != (live, vrrp):
                    turned()
                live, vrrp = self.is_live(gateway), gateway.state.vrrp
                self._pass_on(gateway, tasks)
            await asyncio.sleep(every)

    def _pass_on(self, gateway: Gateway, tasks: asyncio.TaskGroup) -> None:
        """Let others know of its clients, without holding up its heartbeats."""
        others = [each.name for each in self.gateways.values() if each.failing_since is None]
        told = (gateway.name, gateway.state.remembers, others)
        if gateway.failing_since is None and self._clients.wanted(*told):
            tasks.create_task(self._clients.pass_on(*told))

    def ahead_of(self, document: Document) -> int | None:
        """The highest epoch of a gateway that holds something of another leader that is not older than this document.

        It was told by a leader whose epoch is not below ours, which happens when the Lease was lost and the gateway
        could not be asked: what we send, it refuses.
        """
        foreign: list[Held] = [each.state.held for each in self.gateways.values() if not holds(each.state, document)]
        return max((held.epoch for held in foreign if held.age >= document.held.age), default=None)

    def live(self) -> bool:
        """Whether there is a live gateway at all."""
        return any(self._counts(each) for each in self.gateways.values())

    def holder(self) -> bool:
        """Whether a live gateway holds the addresses."""
        return any(self._counts(each) and each.state.vrrp is Vrrp.MASTER for each in self.gateways.values())

    def hold(self, document: Document) -> bool:
        """Whether every live gateway holds a document."""
        return all(holds(each.state, document) for each in self.gateways.values() if self._counts(each))

    def snat(self) -> frozenset[str]:
        """Whom backends see, by what the live gateways say; one that is too old says nothing."""
        counting = (each.state.snat for each in self.gateways.values() if self._counts(each))
        return frozenset(counting) - {""}

    def left_out(self, document: Document) -> dict[str, tuple[str, LeftOut]]:
        """What a live gateway does not serve of its document: by Service, who does not, and the first thing."""
        counting = [each for each in self.gateways.values() if self._counts(each)]
        found = {one.service: (each.name, one) for each in reversed(counting) for one in reversed(each.state.left_out)}
        for each in counting:
            newest = max(each.state.schemas, default=1)
            if newest < gateway_document.SCHEMAS[-1]:
                version = each.state.version
                old = (one for one in document.forwards if gateway_document.needs(one) > newest)
                found |= {one.service: (each.name, gateway_document.too_new(one, version)) for one in old}
        return found

    def is_live(self, gateway: Gateway) -> bool:
        return _recent(gateway.failing_since)

    def _counts(self, gateway: Gateway) -> bool:
        return self.is_live(gateway) and (gateway.state.vrrp is Vrrp.MASTER or _recent(gateway.refusing_since))

    async def _tell(self, gateway: Gateway, request: Request) -> None:
        try:
            response = await gateway.sender.send(request)
            if response.status in STATES:
                state = _kept(gateway.state, msgspec.json.decode(response.body, type=State), request)
                obeyed = request.method in DOCUMENTS or state.held != gateway.state.held
                gateway.state = state
                self._answered(gateway, obeyed=obeyed)
                return
            if request.method in DOCUMENTS:
                self._refused(gateway, _refusal(response))
            else:
                self._failed(gateway, request.what, _refusal(response))
        except LeaseLost:
            return
        except (NotSent, NoAnswer, msgspec.DecodeError) as error:
            self._failed(gateway, request.what, str(error))

    def _answered(self, gateway: Gateway, *, obeyed: bool) -> None:
        if gateway.failing_since is not None:
            self._log.info("gateway answers again", gateway=gateway.name)
        gateway.failing_since = None
        if obeyed or gateway.refusing_since is None:
            gateway.refusing_since, gateway.failure = None, ""

    def _refused(self, gateway: Gateway, why: str) -> None:
        """It answers, and does not do it; nothing has changed there."""
        if gateway.failure != why:
            self._log.warning("gateway refuses the document", gateway=gateway.name, why=why)
        gateway.failure, gateway.failing_since = why, None
        if gateway.refusing_since is None:
            gateway.refusing_since = asyncio.get_running_loop().time()

    def _failed(self, gateway: Gateway, call: str, failure: str) -> None:
        if gateway.failure != failure:
            self._log.warning("gateway does not answer", gateway=gateway.name, call=call, why=failure)
        gateway.failure = failure
        if gateway.failing_since is None:
            gateway.failing_since = asyncio.get_running_loop().time()


class Whole:
    """A document and its text, which is made only if somebody needs all of it."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def body(self) -> bytes:
        return msgspec.json.encode(self.document)


def holds(state: State, document: Document) -> bool:
    """Whether a gateway was told just this, and serves it but for what it says."""
    digest = gateway_document.understood(document, state.schemas).digest
    return state.held.age == document.held.age and (state.told or state.held.digest) == digest


def _kept(before: State, now: State, request: Request) -> State:
    """With what is left out, which an answer to a heartbeat does not say: it is the same for the same document."""
    same = request.method == "POST" and (before.told, before.held.age) == (now.told, now.held.age)
    return msgspec.structs.replace(now, left_out=before.left_out) if same else now


def _recent(since: float | None) -> bool:
    """Whether something has not gone on for longer than what is overlooked."""
    return since is None or asyncio.get_running_loop().time() < since + GRACE


def _refusal(response: Response) -> str:
    try:
        refusal = msgspec.json.decode(response.body, type=Refusal)
    except msgspec.DecodeError:
        return f"it answers {response.status}"
    return f"{refusal.reason}: {refusal.message}"
