"""One event of a Service, from the socket to a worker that looks at it, beside what others take to hand it over.

The cache holds all Services before the events begin. They come over plain HTTP, for all alike: first in one burst, so
that one read brings many, then one by one, so that each pays for its own way through the event loop. CPU time of the
client's process alone.
"""

from collections.abc import Iterator

from bench import programs
from bench.measure import Goal, Measured

SIZES = (100, 1_000, 5_000, 10_000)
ROUNDS = 6
PEERS = (programs.KOPF, programs.KR8S, programs.LIGHTKUBE)
GOALS = (Goal("Service event,", most=100.0),)
FIGURES = {"burst": "Service event", "singly": "Service event singly"}
MICRO = 1e6


def measure() -> Iterator[Measured]:
    for size in SIZES:
        with programs.fake_api(size) as kubeconfig:
            seen = programs.turns((programs.OURS, *PEERS), "events", kubeconfig, size, rounds=ROUNDS)
        for peer in PEERS:
            for figure, told in FIGURES.items():
                ours, theirs = (round(seen[each.title][figure] * MICRO, 1) for each in (programs.OURS, peer))
                yield Measured(id=f"{told}, {peer.title}", size=size, ours=ours, peer=theirs, unit="us CPU")
