"""Churn without end: people come and go, leaders die, and nothing is left behind.

An operation is one thing that somebody does to a Service, its endpoints or the nodes. A world lasts for a block of
them; whoever leads is killed after every few hundred. At the end of each block everything has to be at rest, where the
rules say that nothing of ours is without somebody who needs it.
"""

import gc
import os
import random
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tests.simulation.faults import Fault
from tests.simulation.scenarios import Churn
from tests.simulation.user import User
from tests.simulation.world import Violation, World

LIFE = 500
"""So many operations, and the leader is killed."""
MOST_ALIVE = 5
"""A port of Neutron has ten address pairs, unless its operator allows for more, and what goes has one for a while."""
PAUSES = (0.0, 0.01, 0.05, 0.2, 1.0)


class Block(Struct, frozen=True):
    """What a block of operations came to. `memory` is in kilobytes, of the process that ran it."""

    seed: int
    operations: int
    calls: int
    restarts: int
    wrong: str | None
    process: int
    memory: int
    descriptors: int


class Calm:
    """Nothing goes wrong by itself."""

    def at(self, number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:  # noqa: ARG002 - a Plan
        return None


def block(seed: int, operations: int) -> Block:
    world = World(seed, Calm(), controllers=2)
    done = Counted()

    async def deeds(world: World) -> None:
        await _churn(world, random.Random(f"soak {seed}"), operations, done)  # noqa: S311 - it has to be repeatable

    wrong = None
    try:
        world.run(deeds)
    except Violation as violation:
        wrong = str(violation)
    calls = world.calls
    del world, deeds
    gc.collect()
    return Block(seed, done.operations, calls, done.restarts, wrong, os.getpid(), _memory(), _descriptors())


class Counted:
    operations = 0
    restarts = 0


async def _churn(world: World, chance: random.Random, operations: int, done: Counted) -> None:
    churn = Churn(User(world), chance)
    churn.begin()
    deeds = [each for each in churn.deeds if each != churn.kill]
    while done.operations < operations:
        await churn.wait(*PAUSES)
        if len(churn.alive) >= MOST_ALIVE:
            await churn.delete(chance.choice(churn.alive))
        elif not churn.alive or chance.random() < 0.3:
            churn.expose()
        else:
            await chance.choice(deeds)(chance.choice(churn.alive))
        done.operations += 1
        if done.operations % LIFE == 0:
            done.restarts += 1
            world.crash_leader()
            world.trace.clear()


def steady(blocks: list[Block], of: Callable[[Block], int]) -> dict[int, tuple[int, int]]:
    """Of each process, what it had after a quarter of its blocks, but two at least, and what it had at the end.

    By then it has made what it makes once, and filled what remembers a thousand of its kind. A leak grows for ever.
    """
    found: dict[int, list[int]] = {}
    for each in blocks:
        found.setdefault(each.process, []).append(of(each))
    return {
        process: (values[max(1, len(values) // 4)], values[-1]) for process, values in found.items() if len(values) > 2
    }


def _memory() -> int:
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    return resident * os.sysconf("SC_PAGE_SIZE") // 1024


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
