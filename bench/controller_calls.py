"""How many calls each thing costs that happens to a Service, by what is asked of whom, with two gateways.

Counts are the same on every machine: tests/simulation/test_calls.py asserts them. Beside them stand what was counted of
ch-k8s-lbaas 7dba249 with two agents on real servers; 0 where nobody counted.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator

from bench.counted import Counted, reads, writes
from bench.measure import Measured

SIZE = 50
NEUTRON = ("ports", "floatingips")
THEIRS = {
    "start": (207, 0),
    "on an address that is there": (13, 6),
    "on a new address": (17, 6),
    "an endpoint moves": (2, 0),
    "deleted": (0, 0),
}
"""Calls of Neutron, and writes to Kubernetes."""
GONE = 100.0


def measure() -> Iterator[Measured]:
    found: dict[str, Counter[str]] = {}

    async def scene(world: Counted) -> None:
        found["start"] = await world.rest()
        world.cluster.expose(SIZE)
        found["on an address that is there"] = await world.rest()
        world.cluster.expose(2 * SIZE)
        found["on a new address"] = await world.rest()
        await asyncio.sleep(2.0)
        found["on a new address"] += await world.rest()
        world.cluster.move(0)
        found["an endpoint moves"] = await world.rest()
        world.cluster.delete(2 * SIZE)
        found["deleted"] = await world.rest()
        await asyncio.sleep(GONE)
        found["deleted"] += await world.rest()

    Counted(SIZE).run(scene)
    for what, calls in found.items():
        sys.stderr.write(f"{what}: writes {dict(writes(calls))}, reads {dict(reads(calls))}\n")
        of_neutron = sum(count for call, count in calls.items() if call.split()[1] in NEUTRON)
        of_services = sum(count for call, count in writes(calls).items() if call.split()[1].startswith("services"))
        theirs = THEIRS[what]
        yield Measured(id=f"Neutron calls, {what}", size=SIZE, ours=of_neutron, peer=theirs[0], unit="calls")
        yield Measured(id=f"writes to Services, {what}", size=SIZE, ours=of_services, peer=theirs[1], unit="calls")
