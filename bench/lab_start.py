"""Bringing a lab up: databases and topology from the golden copy, beside making them anew as every start did before."""

import shutil
import time
from collections.abc import Iterator

from bench.measure import Measured
from mooring.lab import golden, lifecycle
from mooring.lab.cage import Cage
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec

NAME = "bench"
SIZES = (1, 2, 4)


def measure() -> Iterator[Measured]:
    for nodes in SIZES:
        spec = Spec(name=NAME, nodes=nodes, gateways=nodes)
        shutil.rmtree(golden.folder(spec), ignore_errors=True)
        anew, anew_cpu = start(spec)
        copied, copied_cpu = start(spec)
        yield Measured(id="lab up, time", size=nodes, ours=copied, peer=anew, unit="s")
        yield Measured(id="lab up, CPU", size=nodes, ours=copied_cpu, peer=anew_cpu, unit="s")


def start(spec: Spec) -> tuple[float, float]:
    """Seconds and CPU seconds of bringing a lab up; it is ended again."""
    lifecycle.down(spec.name)
    begin = time.monotonic()
    lifecycle.up(spec, PlainProgress())
    seconds = time.monotonic() - begin
    used = (Cage(spec.name).folder / "cpu.stat").read_text().split()
    lifecycle.down(spec.name)
    return round(seconds, 1), round(int(used[used.index("usage_usec") + 1]) / 1e6, 1)
