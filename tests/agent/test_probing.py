"""Whether nodes answer, asked by an agent."""

import asyncio
import socket

from mooring.agent.probing import AT_ONCE, Probing
from mooring.core import probing
from mooring.core.probing import FALLS, RISES
from mooring.host.reaching import connects
from mooring.model.gateway import Backend, Probes

GOOD, BAD = Backend("10.0.0.1", 10256), Backend("10.0.0.2", 10256)


class World:
    """Who answers; and how many were asked at once."""

    def __init__(self) -> None:
        self.down = {BAD}
        self.most = self._now = 0

    async def ask(self, target: Backend) -> bool:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return target not in self.down


def test_who_is_silent_is_told_and_comes_back() -> None:
    async def scene() -> None:
        world = World()
        asked = Probing(world.ask)
        asked.tell(Probes((GOOD, BAD)))
        assert asked.name == probing.name(Probes((GOOD, BAD)))
        for _ in range(FALLS):
            assert list(asked.silent) == []
            await asked.look()
        assert list(asked.silent) == [BAD]
        asked.tell(Probes((BAD,)))
        assert list(asked.silent) == [BAD], "what is known of it stays known"
        world.down.clear()
        for _ in range(RISES):
            await asked.look()
        assert list(asked.silent) == []
        asked.tell(Probes())
        assert (asked.name, list(asked.silent)) == ("", [])

    asyncio.run(scene())


def test_not_all_are_asked_at_once() -> None:
    async def scene() -> None:
        world = World()
        asked = Probing(world.ask)
        asked.tell(Probes(tuple(Backend(f"10.0.{each >> 8}.{each & 255}", 1) for each in range(1000))))
        await asked.look()
        assert world.most == AT_ONCE

    asyncio.run(scene())


def test_a_listener_answers_and_nobody_does_not() -> None:
    async def scene() -> None:
        with socket.create_server(("127.0.0.1", 0)) as there, socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            assert await connects(Backend("127.0.0.1", there.getsockname()[1]))
            assert not await connects(Backend("127.0.0.1", closed.getsockname()[1]))

    asyncio.run(scene())
