"""One gateway behind its agent: what it said last, what it was sent since, since when it does not answer or obey."""

import asyncio
from http import HTTPStatus

import msgspec
from msgspec import Struct, field
from structlog.typing import FilteringBoundLogger

from mooring.controller.fence import LeaseLost
from mooring.core import gateway_document, roster
from mooring.core.editions import Edition
from mooring.core.roster import GRACE, Conduct
from mooring.model.gateway import Delta, Heartbeat, Held, Refusal, State
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender

MEGABYTE = 1 << 20
PUT_SECONDS = 15.0
"""And a second for each megabyte of a whole document. Heartbeats tell meanwhile that the gateway lives."""
MOST_UNANSWERED = 16
"""Editions. Of who was sent more that it did not answer, nothing is known."""
JSON = {"content-type": "application/json"}
DOCUMENTS = {"PUT", "PATCH"}
STATES = {HTTPStatus.OK, HTTPStatus.CONFLICT}
"""In both it says what it holds."""

NOTHING = Edition(Held(), {}, seed=0)


class Gateway(Struct):
    """`told`: what it was told last and did."""

    name: str
    sender: Sender
    log: FilteringBoundLogger
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
    """There is something new to tell it."""
    look: bool = False
    """It is to be asked for all that it can say."""

    @property
    def known(self) -> bool:
        """Whether all that it may serve is known. One that never answered may serve anything."""
        spoke = self.asked > float("-inf")
        return spoke and self.holds(self.told) and len(self.telling) <= MOST_UNANSWERED

    @property
    def answers(self) -> bool:
        return self.failing_since is None

    @property
    def conduct(self) -> Conduct:
        return Conduct(
            self.state.vrrp, self.failing_since, self.refusing_since, leaves=self.leaves, drained=self.state.drained
        )

    def is_live(self) -> bool:
        return self.answers or roster.live(self.conduct, now=asyncio.get_running_loop().time())

    def holds(self, edition: Edition) -> bool:
        return holds(self.state, edition)

    def is_told(self, edition: Edition) -> bool:
        return self.told is edition and self.holds(edition)

    async def ask(self) -> None:
        """Have it say all that it can, which answers to heartbeats leave out."""
        self.look = False
        await self._tell(Request("get state", "GET", "/v1/state", seconds=GRACE))

    async def beat(self, beat: Heartbeat) -> None:
        body = msgspec.json.encode(beat)
        await self._tell(Request("heartbeat", "POST", "/v1/heartbeat", headers=JSON, body=body, seconds=GRACE))

    async def bring_to(self, newest: Edition, delta: Delta | None) -> None:
        """Send what differs, if that is known; everything, if it has something else after all."""
        before = self.telling
        self.telling = tuple(dict.fromkeys((*before, newest)))
        answered = await self._send(newest, delta)
        if self.holds(newest):
            self.is_at(newest)
        elif answered and not self.in_doubt:
            self.telling = before

    def is_at(self, edition: Edition) -> None:
        """It holds this, and nothing else is on its way to it."""
        self.told, self.telling = edition, ()

    async def _send(self, newest: Edition, delta: Delta | None) -> bool:
        """Whether it answered, and so says what it has done."""
        whole = newest.understood(self.state.schemas)
        if delta is not None and whole is newest:
            body = msgspec.json.encode(delta)
            request = Request("patch document", "PATCH", "/v1/document", headers=JSON, body=body, seconds=PUT_SECONDS)
            if not await self._tell(request):
                return False
        if self.state.held.age >= newest.held.age:  # this one, or something newer of somebody else
            return True
        seconds = PUT_SECONDS + len(whole.body) / MEGABYTE
        request = Request("put document", "PUT", "/v1/document", headers=JSON, body=whole.body, seconds=seconds)
        return await self._tell(request)

    async def _tell(self, request: Request) -> bool:
        """Whether it answered. Since when it does not, is counted from the sending."""
        begin = asyncio.get_running_loop().time()
        document = request.method in DOCUMENTS
        try:
            response = await self.sender.send(request)
            if response.status in STATES:
                self._hear(_kept(self.state, msgspec.json.decode(response.body, type=State), request), document, begin)
                return True
        except LeaseLost:
            return False
        except (NotSent, NoAnswer, msgspec.DecodeError) as error:
            if document and not isinstance(error, NotSent):
                self._refused(f"no answer: {error}", since=begin)
            else:
                self._failed(request.what, str(error), since=begin)
            return False
        if document:
            self.failing_since = None
            self.in_doubt = _refusal(response) is None
            self._refused(refusal(response), since=begin)
        else:
            self._failed(request.what, refusal(response), since=begin)
        return True

    def _hear(self, state: State, document: bool, begin: float) -> None:  # noqa: FBT001 - whether it was sent one
        """It says what it holds."""
        overtaken = begin <= self.asked and state.held.age < self.state.held.age
        obeyed = not overtaken and (document or state.held != self.state.held)
        if not overtaken:
            self.state, self.asked = state, begin
        if document:
            self.in_doubt = False
        if not self.answers:
            self.log.info("gateway answers again", gateway=self.name)
        self.failing_since = None
        if obeyed or self.refusing_since is None:
            self.refusing_since, self.failure = None, ""

    def _refused(self, why: str, *, since: float) -> None:
        """It does not do it, or does not say that it did."""
        if self.failure != why:
            self.log.warning("gateway does not take the document", gateway=self.name, why=why)
        self.failure = why
        if self.refusing_since is None:
            self.refusing_since = since

    def _failed(self, call: str, failure: str, *, since: float) -> None:
        if self.failure != failure:
            self.log.warning("gateway does not answer", gateway=self.name, call=call, why=failure)
        self.failure = failure
        if self.failing_since is None:
            self.failing_since = since


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
