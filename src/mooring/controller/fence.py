"""No write without a lease: the one door through which everything that a leader changes has to pass."""

from mooring.kube.election import Term
from mooring.wire.http import NotSent, Request, Response, Stream, Transport


class Fenced:
    """A transport that sends no write once the term is over. Reads pass."""

    def __init__(self, transport: Transport, term: Term) -> None:
        self._transport = transport
        self._term = term

    async def send(self, request: Request) -> Response:
        if request.writes and not self._term.held():
            raise NotSent("this process does not lead any more")
        return await self._transport.send(request)

    async def open(self, request: Request) -> Stream:
        return await self._transport.open(request)
