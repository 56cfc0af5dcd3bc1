"""The gateways' agents: telling them the document, and knowing which of them hold it.

A gateway is live until it has not answered for `GRACE` seconds. What counts is what all live gateways hold.
"""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct

from mooring.controller.fence import LeaseLost
from mooring.model.gateway import Document, Held
from mooring.wire.http import NoAnswer, NotSent, Request, Sender

GRACE = 3.0


class _Gateway(Struct):
    sender: Sender
    held: Held = Held()
    failing_since: float | None = None


class Agents:
    """All agents, each behind a sender of its own."""

    def __init__(self, senders: Mapping[str, Sender]) -> None:
        self._gateways = {name: _Gateway(senders[name]) for name in sorted(senders)}

    async def ask(self) -> int:
        """Ask every agent what it holds; the highest epoch that any of them has seen."""
        request = Request("get state", "GET", "/v1/state", seconds=GRACE)
        await asyncio.gather(*(self._tell(each, request) for each in self._gateways.values()))
        return self.highest_epoch

    @property
    def highest_epoch(self) -> int:
        return max((each.held.epoch for each in self._gateways.values()), default=0)

    async def push(self, document: Document) -> bool:
        """Tell those that do not hold it yet. Returns whether every single one holds it now."""
        body = msgspec.json.encode(document)
        headers = {"content-type": "application/json"}
        request = Request("put document", "PUT", "/v1/document", headers=headers, body=body, seconds=GRACE)
        lacking = [each for each in self._gateways.values() if each.held != document.held]
        await asyncio.gather(*(self._tell(each, request) for each in lacking))
        return all(each.held == document.held for each in lacking)

    def ahead_of(self, document: Document) -> int | None:
        """The highest epoch of a gateway that holds something of another leader that is not older than this document.

        It was told by a leader whose epoch is not below ours, which happens when the Lease was lost and the gateway
        could not be asked: what we send, it refuses.
        """
        ours = (document.epoch, document.generation)
        foreign = [each.held for each in self._gateways.values() if each.held != document.held]
        return max((held.epoch for held in foreign if (held.epoch, held.generation) >= ours), default=None)

    def live(self) -> bool:
        """Whether there is a live gateway at all."""
        return any(self._is_live(each) for each in self._gateways.values())

    def hold(self, document: Document) -> bool:
        """Whether every live gateway holds a document."""
        return all(each.held == document.held for each in self._gateways.values() if self._is_live(each))

    async def _tell(self, gateway: _Gateway, request: Request) -> None:
        loop = asyncio.get_running_loop()
        try:
            response = await gateway.sender.send(request)
            if response.status in {HTTPStatus.OK, HTTPStatus.CONFLICT}:  # in both it says what it holds
                gateway.held = msgspec.json.decode(response.body, type=Held)
                gateway.failing_since = None
                return
        except LeaseLost:
            return
        except (NotSent, NoAnswer, msgspec.DecodeError):
            pass
        if gateway.failing_since is None:
            gateway.failing_since = loop.time()

    def _is_live(self, gateway: _Gateway) -> bool:
        return gateway.failing_since is None or asyncio.get_running_loop().time() < gateway.failing_since + GRACE
