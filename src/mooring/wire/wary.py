"""A server that has stopped answering is not waited for again and again.

Whoever waits for it in vain holds up all who come after, and each of them would wait as long. So after one request that
was not answered in its time, a short question goes before the next one; as long as that is not answered either, nothing
else is sent, and who asks is told so at once.
"""

import asyncio

from mooring.wire.http import NoAnswer, NotSent, Request, Response, Sender

PAUSE = 10.0
"""Seconds between two questions."""
ALL_OF_IT = 0.9
"""Of the time that a request has: who fails after so much of it was not answered, and not refused."""
SILENT = "it has stopped answering: it is asked again within seconds, and nothing is sent before it answers"


class WarySender:
    """`question`: a cheap read, with the few seconds in which it has to be answered."""

    def __init__(self, sender: Sender, question: Request) -> None:
        self._sender = sender
        self._question = question
        self._asking = asyncio.Lock()
        self._silent = False
        self._ask_at = 0.0

    async def send(self, request: Request) -> Response:
        if self._silent:
            await self._ask()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            return await self._sender.send(request)
        except (NotSent, NoAnswer):
            self._silent = self._silent or loop.time() >= began + ALL_OF_IT * request.seconds
            raise

    async def _ask(self) -> None:
        """One at a time, for all who wait."""
        loop = asyncio.get_running_loop()
        async with self._asking:
            if not self._silent:
                return
            if loop.time() < self._ask_at:
                raise NotSent(SILENT)
            try:
                await self._sender.send(self._question)
            except (NotSent, NoAnswer):
                self._ask_at = loop.time() + PAUSE
                raise NotSent(SILENT) from None
            self._silent = False
