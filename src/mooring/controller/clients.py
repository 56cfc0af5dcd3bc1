"""Clients that come back to their backend, passed on from the gateway that remembers them to the others.

Nothing of it is looked at here. A gateway says with every heartbeat whether it has something new to tell; what could
not be passed on is asked for again with the next one. Who knows of no clients, such as an older agent, is told in vain.
"""

import asyncio
from collections.abc import Collection
from http import HTTPStatus

from structlog.typing import FilteringBoundLogger

from mooring.controller.fence import LeaseLost
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender

SECONDS = 10.0
JSON = {"content-type": "application/json"}
IN_VAIN = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


class PassingOn:
    """`senders`: the way to each gateway."""

    def __init__(self, senders: dict[str, Sender], log: FilteringBoundLogger) -> None:
        self._senders = senders
        self._log = log
        self._heard: dict[tuple[str, str], int] = {}
        self._busy: set[str] = set()

    def wanted(self, teller: str, number: int, others: Collection[str]) -> bool:
        """Whether some of the others have not heard what a gateway has to tell, and nobody tells them just now."""
        return number != 0 and teller not in self._busy and bool(self._lacking(teller, number, others))

    async def pass_on(self, teller: str, number: int, others: Collection[str]) -> None:
        self._busy.add(teller)
        try:
            clients = await self._answer(teller, Request("get clients", "GET", "/v1/clients", seconds=SECONDS))
            if clients is not None and clients.status == HTTPStatus.OK:
                lacking = self._lacking(teller, number, others)
                await asyncio.gather(*(self._tell(each, teller, number, clients.body) for each in lacking))
        finally:
            self._busy.discard(teller)

    def _lacking(self, teller: str, number: int, others: Collection[str]) -> list[str]:
        return [each for each in others if each != teller and self._heard.get((teller, each)) != number]

    async def _tell(self, name: str, teller: str, number: int, body: bytes) -> None:
        request = Request("put clients", "PUT", "/v1/clients", headers=JSON, body=body, seconds=SECONDS)
        answer = await self._answer(name, request)
        if answer is None:
            return
        self._heard[teller, name] = number
        if answer.status not in {HTTPStatus.OK, *IN_VAIN}:
            why = answer.body.decode(errors="replace")[:200]
            self._log.warning("gateway does not remember clients of another", gateway=name, of=teller, why=why)

    async def _answer(self, name: str, request: Request) -> Response | None:
        """None: there was none, and the next heartbeat is soon."""
        try:
            return await self._senders[name].send(request)
        except (LeaseLost, NotSent, NoAnswer):
            return None
