"""From nothing to every Service known, beside the usual ways to list them.

Memory is what the process has more than before, once everything that is not used has gone back to the system; the peak
is the most that it had on the way.
"""

from collections.abc import Iterator

from bench import programs
from bench.measure import Goal, Measured

SIZES = (100, 1_000, 10_000)
ROUNDS = 4
PEERS = (programs.DICTS, programs.KR8S, programs.LIGHTKUBE)
GOALS = (Goal("Cold start memory", most=60.0, size=10_000), Goal("Cold start peak", most=60.0, size=10_000))
FIGURES = {"cpu": ("CPU", "ms CPU", 1e3), "memory": ("memory", "MiB", 1.0), "peak": ("peak", "MiB", 1.0)}
LEAST = 0.1
"""Less than this, of either unit, is not told apart from nothing."""


def measure() -> Iterator[Measured]:
    for size in SIZES:
        with programs.fake_api(size) as kubeconfig:
            seen = programs.turns((programs.OURS, *PEERS), "start", kubeconfig, size, rounds=ROUNDS)
        for peer in PEERS:
            for figure, (told, unit, scale) in FIGURES.items():
                both = (seen[each.title][figure] * scale for each in (programs.OURS, peer))
                ours, theirs = (max(LEAST, round(each, 1)) for each in both)
                yield Measured(id=f"Cold start {told}, {peer.title}", size=size, ours=ours, peer=theirs, unit=unit)
