"""Fifty Services that all want port 80, made at once: each needs an address of its own, until all have theirs.

Kubernetes, Neutron and two gateways are twins over real HTTP; Neutron takes a tenth of a second for each answer. Beside
it stand the figures of ch-k8s-lbaas 7dba249 with two agents on a real Neutron, from another day and another machine.
"""

import sys
import time
from collections.abc import Iterator

from bench import controlled
from bench.measure import Goal, Measured
from bench.world import Options
from mooring.lab import waiting

COUNT = 50
PORT = 80
GATEWAYS = 2
DELAY = 0.1
THEIRS = {"time": (122.0, "s"), "Neutron calls": (1054.0, "calls"), "Kubernetes writes": (300.0, "calls")}
GOALS = (Goal("50 at once, Neutron calls", ratio=3.0),)


def measure() -> Iterator[Measured]:
    yield from measured(COUNT)


def measured(count: int) -> Iterator[Measured]:
    options = Options(gateways=GATEWAYS, delay=DELAY)
    with controlled.world(options) as (world, folder), controlled.controller(world, folder) as controller:
        waiting.until(lambda: "leading" in controller.log.read_text(), seconds=controlled.PATIENCE, what="a leader")
        world.ask("counts")
        cpu, begin = controller.cpu(), time.monotonic()
        world.ask("expose", count=count, port=PORT)
        waiting.until(lambda: world.ask("published") == count, seconds=controlled.PATIENCE, what="all addresses")
        seconds, used = time.monotonic() - begin, controller.cpu() - cpu
        counts: dict[str, int] = world.ask("counts")
    sys.stderr.write(f"{count} at once: {seconds:.1f} s, {used:.2f} s CPU, {counts}\n")
    calls = {what: number for what, number in counts.items() if what.startswith("cloud ")}
    written = ("kube PATCH services", "kube PATCH services/status", "kube POST events", "kube PATCH events")
    found = {
        "time": round(seconds, 1),
        "Neutron calls": float(sum(calls.values())),
        "Kubernetes writes": float(sum(counts.get(each, 0) for each in written)),
    }
    for what, (theirs, unit) in THEIRS.items():
        yield Measured(
            id=f"{COUNT} at once, {what}, ch-k8s-lbaas", size=count, ours=found[what], peer=theirs, unit=unit
        )
