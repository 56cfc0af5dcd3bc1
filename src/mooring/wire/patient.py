"""The limits that a server sets, kept: at most so many calls in flight, and a pause when it asks for one.

A 429 is the server's word that it did nothing, so the request may be repeated whatever it is. A 503 with Retry-After
promises less: only reads are repeated then. The pause that the server names is never cut short: who has not that much
patience left hands on the refusal.
"""

import asyncio
import math
from collections.abc import Awaitable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypeVar

from mooring.wire.calls import Calls
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender, Stream, Transport

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0

Answered = TypeVar("Answered", Response, Stream)


class PatientSender:
    """A sender that counts and times each call, holds back what exceeds `in_flight`, and waits when told to.

    It gives up waiting after `patience` seconds and hands on the server's refusal.
    """

    def __init__(self, sender: Sender, calls: Calls, *, in_flight: int = 16, patience: float = 60.0) -> None:
        self._sender = sender
        self._calls = calls
        self._places = asyncio.Semaphore(in_flight)
        self._patience = patience

    async def send(self, request: Request) -> Response:
        pauses = _Pauses(self._patience)
        while True:
            async with self._places:
                response = await self._counted(request.what, self._sender.send(request))
            pause = pauses.after(request, response)
            if pause is None:
                return response
            await asyncio.sleep(pause)

    async def _counted(self, what: str, call: Awaitable[Answered]) -> Answered:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        outcome = "cancelled"
        try:
            answer = await call
            outcome = str(answer.status)
        except NotSent:
            outcome = "not sent"
            raise
        except NoAnswer:
            outcome = "no answer"
            raise
        finally:
            self._calls.ended(what, outcome, loop.time() - begin)
        return answer


class PatientTransport(PatientSender):
    """The same with streams, which keep no place in the limit: they would never give it back."""

    def __init__(self, transport: Transport, calls: Calls, *, in_flight: int = 16, patience: float = 60.0) -> None:
        super().__init__(transport, calls, in_flight=in_flight, patience=patience)
        self._transport = transport

    async def open(self, request: Request) -> Stream:
        pauses = _Pauses(self._patience)
        while True:
            stream = await self._counted(request.what, self._transport.open(request))
            pause = pauses.after(request, stream)
            if pause is None:
                return stream
            await stream.close()
            await asyncio.sleep(pause)


class _Pauses:
    """How long to wait before one request is made again, until patience ends."""

    def __init__(self, patience: float) -> None:
        self._deadline = asyncio.get_running_loop().time() + patience
        self._next = FIRST_PAUSE

    def after(self, request: Request, answer: Response | Stream) -> float | None:
        """None: do not repeat it."""
        if not _repeatable(request, answer):
            return None
        pause = retry_after(answer) or self._next
        if asyncio.get_running_loop().time() + pause > self._deadline:
            return None
        self._next = min(self._next * 2, LONGEST_PAUSE)
        return pause


def _repeatable(request: Request, answer: Response | Stream) -> bool:
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    asked = answer.status == HTTPStatus.SERVICE_UNAVAILABLE and "retry-after" in answer.headers
    return asked and not request.writes


def retry_after(response: Response | Stream) -> float | None:
    """The pause that the server asks for, in seconds; both forms of the header are read."""
    text = response.headers.get("retry-after", "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
