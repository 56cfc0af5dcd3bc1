"""No write without a lease: the one door through which everything that a leader changes has to pass."""

from mooring.kube.election import Term
from mooring.wire.http import NotSent, Request, Response, Sender, Stream, Transport


class LeaseLost(NotSent):
    """We do not lead any more, or cannot be sure of it. Says nothing about the other side."""


class FencedSender:
    """A sender that sends no write once the term is over. Reads pass."""

    def __init__(self, sender: Sender, term: Term) -> None:
        self._sender = sender
        self._term = term

    async def send(self, request: Request) -> Response:
        if request.writes and not self._term.held():
            raise LeaseLost("this process does not lead any more")
        return await self._sender.send(request)


class FencedTransport(FencedSender):
    def __init__(self, transport: Transport, term: Term) -> None:
        super().__init__(transport, term)
        self._transport = transport

    async def open(self, request: Request) -> Stream:
        return await self._transport.open(request)
