"""A controller starts where all Services have their addresses: until a gateway is told of all of them.

Its whole process counts, from its first instruction on. The other way keeps the same lists as dicts, with an index of
the endpoints, and makes the same document of them; it asks nobody else, leads nobody and decides nothing.

A hundred Services have one address; once more, each has its own.
"""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import controlled, programs
from bench.measure import Goal, Measured
from bench.moored import ENDPOINTS, TO_PROBE
from bench.world import Options

ROUNDS = {10: 4, 100: 4, 1_000: 4, 10_000: 3}
GOALS = (
    Goal("first push, CPU", most=3.0, size=10_000),
    Goal("first push, memory", most=150.0, size=10_000),
    Goal("first push, CPU", slope=1.05),
    Goal("first push, an address each, CPU", slope=1.05),
)
EACH_ITS_OWN = {100: 2, 1_000: 2, 10_000: 2}
FIGURES = {"cpu": ("CPU", "s CPU"), "memory": ("memory", "MiB")}


def measure() -> Iterator[Measured]:
    for size, rounds in ROUNDS.items():
        yield from measured(Options(size), rounds, "first push")
    for size, rounds in EACH_ITS_OWN.items():
        yield from measured(Options(size, sharing=1), rounds, "first push, an address each")


def measured(options: Options, rounds: int, what: str) -> Iterator[Measured]:
    ours, theirs, size = [], [], options.size
    with controlled.world(options) as (world, folder):
        kubeconfig = world.kubeconfig(folder / "kubeconfig")
        for _ in range(rounds):
            ours.append(_ours(world, folder, size))
            theirs.append(programs.run(programs.OWN_DICTS, "document", kubeconfig, size))
    for figure, (told, unit) in FIGURES.items():
        mine, other = (round(statistics.median(one[figure] for one in each), 3) for each in (ours, theirs))
        yield Measured(id=f"{what}, {told}, json and dicts", size=size, ours=mine, peer=other, unit=unit)


def _ours(world: controlled.World, folder: Path, size: int) -> dict[str, float]:
    with controlled.controller(world, folder) as controller:
        found = controlled.first_push(world, controller)
    backends = (size - TO_PROBE) * ENDPOINTS + TO_PROBE
    if found["forwards"] != size or found["backends"] != backends:
        raise RuntimeError(f"the first push has {found}, and should have {size} forwards to {backends} backends")
    sys.stderr.write(f"first push of {size}: {found}\n")
    return found
