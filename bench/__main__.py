"""`make bench`: every benchmark, a table for people and `build/bench.json` for programs.

    python -m bench [NAME ...]

A name stands for all benchmarks that begin with it: `gateway` for all of a gateway.

Seconds of a shared machine say little; what counts is the CPU time, ours beside the other way's in one run, and how
both grow.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench import (
    controller_at_once,
    controller_calls,
    controller_change,
    controller_start,
    gateway_address,
    gateway_change,
    gateway_counters,
    gateway_failover,
    gateway_load,
    gateway_packet,
    kube_events,
    kube_start,
    kube_write,
    lab_start,
)
from bench.measure import Goal, Measured, slopes

RESULT = Path("build/bench.json")


class Benchmark(msgspec.Struct, frozen=True):
    measure: Callable[[], Iterator[Measured]]
    goals: tuple[Goal, ...] = ()


BENCHMARKS: Mapping[str, Benchmark] = {
    "controller_at_once": Benchmark(controller_at_once.measure, controller_at_once.GOALS),
    "controller_calls": Benchmark(controller_calls.measure),
    "controller_change": Benchmark(controller_change.measure, controller_change.GOALS),
    "controller_start": Benchmark(controller_start.measure, controller_start.GOALS),
    "gateway_address": Benchmark(gateway_address.measure),
    "gateway_change": Benchmark(gateway_change.measure, gateway_change.GOALS),
    "gateway_load": Benchmark(gateway_load.measure, gateway_load.GOALS),
    "gateway_packet": Benchmark(gateway_packet.measure, gateway_packet.GOALS),
    "gateway_counters": Benchmark(gateway_counters.measure),
    "gateway_failover": Benchmark(gateway_failover.measure, gateway_failover.GOALS),
    "kube_events": Benchmark(kube_events.measure, kube_events.GOALS),
    "kube_start": Benchmark(kube_start.measure, kube_start.GOALS),
    "kube_write": Benchmark(kube_write.measure, kube_write.GOALS),
    "lab_start": Benchmark(lab_start.measure),
}


def rows_of(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    growth = slopes(measured)
    ordered = sorted(measured, key=lambda each: (each.id, each.size))
    return [msgspec.to_builtins(each) | {"ratio": each.ratio, "slope": growth[each.id]} for each in ordered]


def show(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table("what", "size", "ours", "other way", "unit", "ratio", "slope", box=None)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("id", "size", "ours", "peer", "unit", "ratio", "slope")))
    console.print(table)


def main(names: Sequence[str]) -> None:
    if unknown := [each for each in names if not any(known.startswith(each) for known in BENCHMARKS)]:
        sys.exit(f"There is no benchmark {', '.join(unknown)}. There are: {', '.join(BENCHMARKS)}")
    chosen = [each for each in BENCHMARKS if not names or each.startswith(tuple(names))]
    console = Console()
    rows: list[dict[str, Any]] = []
    for name in chosen:
        measured = list(BENCHMARKS[name].measure())
        found = rows_of(measured)
        rows += found
        show(console, found)
        for goal in BENCHMARKS[name].goals:
            for missed in goal.missed(measured):
                console.print(f"Missed: {missed}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
