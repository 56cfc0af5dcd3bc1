"""An address for one more Service when there are many, beside a controller that tries one port after the other."""

import time
from collections.abc import Iterator

from bench.measure import Measured
from mooring.core.allocation import Allocations, Wanted
from mooring.model.gateway import Key

SIZES = (10, 100, 1000, 10_000)
TIMES = 50
MICRO = 1e6
HTTP = (Key("TCP", 80),)


def measure() -> Iterator[Measured]:
    for size in SIZES:
        ours, theirs = _allocation(size)
        yield Measured(id="address for one more Service", size=size, ours=ours, peer=theirs, unit="us CPU")


def _allocation(size: int) -> tuple[float, float]:
    """All Services want port 80, so each has an address of its own; then one more comes."""
    allocations: Allocations[int, int] = Allocations()
    busy: dict[int, set[Key]] = {port: set(HTTP) for port in range(size)}
    for port in range(size):
        allocations.offer(port)
        allocations.claim(port, [port], Wanted(HTTP))
    allocations.offer(size)
    busy[size] = set()
    wanted = Wanted(HTTP)
    begin = time.process_time()
    for _ in range(TIMES):
        allocations.first_fit(wanted)
    middle = time.process_time()
    for _ in range(TIMES):
        next(port for port, keys in busy.items() if not keys.intersection(HTTP))
    end = time.process_time()
    return round((middle - begin) / TIMES * MICRO, 2), round((end - middle) / TIMES * MICRO, 2)
