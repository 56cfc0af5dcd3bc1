"""Everything that a gateway serves, from one document into an empty kernel: CPU seconds of the agent and its kernel.

The other way is the shape that kube-proxy gives its rules, a chain for each Service and one for each endpoint, loaded
by `nft -f`.
"""

import statistics
import sys
from collections.abc import Iterator

from bench import cluster, inside
from bench.cluster import FEW, Cluster
from bench.measure import Goal, Measured
from bench.one_agent import bed

ROUNDS = {10: 5, 100: 5, 1_000: 3, 10_000: 3}
THEIR_ROUNDS = {10_000: 1}
"""Where one takes minutes."""
FIRST_PART = 100
"""Below that, most of it is what an empty document costs too: the rules themselves, keepalived, the journal."""
GOALS = (
    Goal("load, kube-proxy's shape", ratio=10.0, size=10_000),
    Goal("load, kube-proxy's shape", slope=1.1, smallest=FIRST_PART),
)
MILLI = 1e3


def measure() -> Iterator[Measured]:
    for size, rounds in ROUNDS.items():
        ours, theirs = [], []
        for turn in range(rounds):
            ours.append(_ours(size))
            if turn < THEIR_ROUNDS.get(size, rounds):
                theirs.append(_theirs(size))
        sys.stderr.write(f"load of {size}: {ours}, kube-proxy's shape: {theirs}\n")
        mine, other = (round(statistics.median(each) * MILLI, 1) for each in (ours, theirs))
        yield Measured(id="load, kube-proxy's shape", size=size, ours=mine, peer=other, unit="ms CPU")


def _ours(size: int) -> float:
    with bed() as made:
        agent = made.agent("gw")
        cost = agent.load(Cluster(size, addresses=FEW))
        agent.check()
    return cost.cpu


def _theirs(size: int) -> float:
    text = cluster.chains_each(Cluster(size, addresses=FEW).forwards) + cluster.CHAINS_IN_FORCE
    with bed() as made:
        return made.other("peer").do(inside.nft, text, made.folder / "chains.nft").cpu
