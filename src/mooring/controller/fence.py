"""No write without leave: the doors through which everything that a controller changes has to pass.

The outer one stands before all that a controller does, election and events included, and asks whether it is to act or
only to observe. The inner one stands before all that a leader does, and asks whether it still leads. Reads pass both.
"""

from collections.abc import Callable

from mooring.kube.election import Term
from mooring.wire.http import NotSent, Request, Response, Sender, Stream, Transport


class LeaseLost(NotSent):
    """We do not lead any more, or cannot be sure of it. Says nothing about the other side."""


class OnlyObserves(LeaseLost):
    """We lead nobody, because we are configured to observe."""


class GuardedSender:
    """A sender that asks before it sends a write; `check` raises if it must not."""

    def __init__(self, sender: Sender, check: Callable[[], None]) -> None:
        self._sender = sender
        self._check = check

    async def send(self, request: Request) -> Response:
        if request.writes:
            self._check()
        return await self._sender.send(request)


class GuardedTransport(GuardedSender):
    def __init__(self, transport: Transport, check: Callable[[], None]) -> None:
        super().__init__(transport, check)
        self._transport = transport

    async def open(self, request: Request) -> Stream:
        if request.writes:
            self._check()
        return await self._transport.open(request)


class Lead:
    """Whether a term still lasts."""

    def __init__(self, term: Term) -> None:
        self._term = term

    def __call__(self) -> None:
        if not self._term.held():
            raise LeaseLost("this process does not lead any more")


class Stance:
    """Whether a controller acts, or only observes. What is said here counts from the next request on."""

    def __init__(self, *, acts: bool) -> None:
        self.acts = acts

    def __call__(self) -> None:
        if not self.acts:
            raise OnlyObserves('this controller only observes: controller.reconcile is "observe"')
