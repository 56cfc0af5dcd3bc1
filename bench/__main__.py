"""`make bench`: every benchmark, a table for people and `build/bench.json` for programs.

    python -m bench [NAME ...]

Seconds of a shared machine say little; what counts is the CPU time, ours beside the other way's in one run, and how
both grow.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench import gateway, kube_events, kube_start, kube_write, lab_start
from bench.measure import Goal, Measured

RESULT = Path("build/bench.json")


class Benchmark(msgspec.Struct, frozen=True):
    measure: Callable[[], Iterator[Measured]]
    goals: tuple[Goal, ...] = ()


BENCHMARKS: Mapping[str, Benchmark] = {
    "gateway": Benchmark(gateway.measure),
    "kube_events": Benchmark(kube_events.measure, kube_events.GOALS),
    "kube_start": Benchmark(kube_start.measure, kube_start.GOALS),
    "kube_write": Benchmark(kube_write.measure, kube_write.GOALS),
    "lab_start": Benchmark(lab_start.measure),
}


def slopes(measured: Sequence[Measured]) -> dict[str, float]:
    """How cost grows with size, as the exponent between the smallest and the largest: 0 = not at all, 1 = in step."""
    found = {}
    for identity in dict.fromkeys(each.id for each in measured):
        mine = sorted((each for each in measured if each.id == identity), key=lambda each: each.size)
        small, large = mine[0], mine[-1]
        grown = math.log(large.ours / small.ours) / math.log(large.size / small.size)
        found[identity] = round(grown, 2)
    return found


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
    if unknown := sorted(set(names) - BENCHMARKS.keys()):
        sys.exit(f"There is no benchmark {', '.join(unknown)}. There are: {', '.join(BENCHMARKS)}")
    console = Console()
    rows: list[dict[str, Any]] = []
    for name in names or BENCHMARKS:
        measured = list(BENCHMARKS[name].measure())
        found = rows_of(measured)
        rows += found
        show(console, found)
        for goal in BENCHMARKS[name].goals:
            for each in measured:
                if goal.missed(each):
                    console.print(f"Missed: {each.id} at {each.size} is {each.ours} {each.unit}, more than {goal.most}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
