"""Asks nodes whether they answer, where a controller wants to know. What to think of it is decided there, for all."""

import asyncio

from mooring.agent.host import Ask
from mooring.core import probing
from mooring.core.probing import Health
from mooring.model.gateway import Backend, Probes

EVERY = 1.0
AT_ONCE = 64


class Probing:
    """Health of the nodes that it was told of. Forgotten when the agent ends: a controller tells it again."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._health: dict[Backend, Health] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self.name = ""

    @property
    def silent(self) -> tuple[Backend, ...]:
        return tuple(each for each, health in self._health.items() if health.silent)

    def tell(self, wanted: Probes) -> None:
        """Ask these from now on. What is known of those that were asked already stays known."""
        self._health = {each: self._health.get(each, Health()) for each in wanted.targets}
        self.name = probing.name(wanted)

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Ask everybody once."""
        await asyncio.gather(*map(self._look_at, tuple(self._health)))

    async def _look_at(self, target: Backend) -> None:
        async with self._slots:
            answered = await self._ask(target)
        health = self._health.get(target)
        if health is not None:  # it may have been told otherwise meanwhile
            self._health[target] = probing.after(health, answered=answered)
