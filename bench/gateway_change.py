"""One endpoint of one Service moves, with so many Services on a gateway: from a PATCH to its answer, at a real agent.

Once all Services share ten addresses, once each has its own. The other ways:

- everything: one rule for each Service with a map of its own, all written to a file and loaded by `nft -f`;
- kube-proxy's: a chain for each Service and one for each endpoint; `nft -f` with the chains that change.

All of them take turns, ours first and then ours last. Memory, and what it costs when nothing happens, is of the agent
when all is done, beside an agent that serves nothing.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from bench import cluster, inside
from bench.cluster import FEW, Cluster
from bench.inside import Cost
from bench.measure import Goal, Measured
from bench.one_agent import Bed, OneAgent, bed

TIMES = 200
BLOCKS = 2
REST = 4.0
MOST_ADDRESSES = 2_000
THEIR_TIMES = {10: (20, 20), 100: (20, 20), 1_000: (10, 20), 10_000: (2, 6)}
"""By size: how often everything is loaded, and how often chains are changed."""
AT_ONCE = 500
"""Services whose chains are loaded in one transaction before it begins: all in one would take minutes."""
EVERYTHING, CHAINS = "everything", "kube-proxy's shape"
GOALS = (
    Goal("change on 10 addresses, everything", ratio=1000.0, size=10_000),
    Goal("change on as many addresses, everything", ratio=1000.0, size=10_000),
    Goal("change on 10 addresses, everything", slope=0.1),
    Goal("change on as many addresses, everything", slope=0.1),
    Goal("agent's memory", most=150.0, size=10_000),
)
FIGURES = (("cpu", "change", "ms CPU"), ("seconds", "answer", "ms"))
MILLI = 1e3

Way = Callable[[], Cost]
"""Does it once."""


def measure() -> Iterator[Measured]:
    for size in THEIR_TIMES:
        with bed() as made:
            yield from _measured(size, made)


def _measured(size: int, made: Bed) -> Iterator[Measured]:
    idle = made.agent("idle")
    without = round(idle.memory(), 1), _at_rest(idle)
    idle.kill()
    agents = {
        "10 addresses": _loaded(made, "few", size, addresses=FEW),
        "as many addresses": _loaded(made, "each", size, addresses=size),
    }
    everything, chains = _everything(made, size), _chains(made, size)
    times = [TIMES, TIMES, *THEIR_TIMES[size]]
    seen = _turns([*(each.change for each in agents.values()), everything, chains], times)
    *ours, all_anew, few_chains = seen
    for (where, agent), mine in zip(agents.items(), ours, strict=True):
        agent.check()
        for peer, theirs in ((EVERYTHING, all_anew), (CHAINS, few_chains)):
            for figure, told, unit in FIGURES:
                cost, other = (_middle(costs, figure) for costs in (mine, theirs))
                yield Measured(id=f"{told} on {where}, {peer}", size=size, ours=cost, peer=other, unit=unit)
        memory, rest = round(agent.memory(), 1), _at_rest(agent)
        yield Measured(id=f"agent's memory on {where}", size=size, ours=memory, peer=without[0], unit="MiB")
        yield Measured(id=f"agent at rest on {where}", size=size, ours=rest, peer=without[1], unit="ms CPU/s")
        _tell(f"{size} Services on {where}", mine)
    _tell(f"{size} Services, {EVERYTHING}", all_anew)
    _tell(f"{size} Services, {CHAINS}", few_chains)


def _turns(ways: Sequence[Way], times: Sequence[int]) -> list[list[Cost]]:
    """What each way cost each time: a part of them in one order, the rest in the other."""
    seen: list[list[Cost]] = [[] for _ in ways]
    for block in range(BLOCKS):
        order = list(zip(ways, times, seen, strict=True))
        for way, number, costs in order if block % 2 == 0 else reversed(order):
            costs += [way() for _ in range(number // BLOCKS)]
    return seen


def _loaded(made: Bed, name: str, size: int, *, addresses: int) -> OneAgent:
    """Some thousand addresses at a time: all at once may take keepalived longer than the agent waits for it."""
    agent = made.agent(name)
    for count in range(MOST_ADDRESSES, addresses, MOST_ADDRESSES):
        agent.load(Cluster(count, addresses=count))
    agent.load(Cluster(size, addresses=addresses))
    agent.settle()
    return agent


def _at_rest(agent: OneAgent) -> float:
    """Milliseconds of CPU in a second in which nothing happens."""
    before = agent.cpu()
    time.sleep(REST)
    return round((agent.cpu() - before) / REST * MILLI, 1)


def _everything(made: Bed, size: int) -> Way:
    """The file is there already, but for the change."""
    wanted, space, file = Cluster(size, addresses=FEW), made.other("all"), made.folder / "all.nft"

    def change() -> Cost:
        wanted.move()
        return space.do(inside.nft, cluster.one_rule_each(wanted.forwards), file)

    change()
    return change


def _chains(made: Bed, size: int) -> Way:
    wanted, space, file = Cluster(size, addresses=FEW), made.other("chains"), made.folder / "chains.nft"
    for first in range(0, size, AT_ONCE):
        space.do(inside.nft, cluster.chains_each(wanted.forwards[first : first + AT_ONCE]), file)
    space.do(inside.nft, cluster.CHAINS_IN_FORCE, file)

    def change() -> Cost:
        old, new = wanted.move()
        return space.do(inside.nft, cluster.chains_moved(old, new), file)

    return change


def _middle(costs: Sequence[Cost], figure: str) -> float:
    middle: float = statistics.median(getattr(each, figure) for each in costs)
    return round(middle * MILLI, 3)


def _tell(what: str, costs: Sequence[Cost]) -> None:
    cpu, seconds = (sorted(getattr(each, name) * MILLI for each in costs) for name in ("cpu", "seconds"))
    last = round(0.99 * (len(costs) - 1))
    figures = f"{statistics.median(cpu):.3f} ms CPU (mean {statistics.mean(cpu):.3f}, p99 {cpu[last]:.3f})"
    sys.stderr.write(f"{what}: {figures}, {statistics.median(seconds):.2f} ms (p99 {seconds[last]:.2f})\n")
