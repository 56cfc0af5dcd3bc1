"""`make bench`: every benchmark, a table for people and `build/bench.json` for programs.

Seconds of a shared machine say little; what counts is the CPU time, ours beside the other way's in one run, and how
both grow.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench import lab_start
from bench.measure import Measured

RESULT = Path("build/bench.json")


def slopes(measured: Sequence[Measured]) -> dict[str, float]:
    """How cost grows with size, as the exponent between the smallest and the largest: 0 = not at all, 1 = in step."""
    found = {}
    for identity in dict.fromkeys(each.id for each in measured):
        mine = sorted((each for each in measured if each.id == identity), key=lambda each: each.size)
        small, large = mine[0], mine[-1]
        grown = math.log(large.ours / small.ours) / math.log(large.size / small.size)
        found[identity] = round(grown, 2)
    return found


def main() -> None:
    measured = list(lab_start.measure())
    growth = slopes(measured)
    rows = [msgspec.to_builtins(each) | {"ratio": each.ratio, "slope": growth[each.id]} for each in measured]
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=2) + "\n")
    table = Table("what", "size", "ours", "other way", "unit", "ratio", "slope", box=None)
    for row in rows:
        table.add_row(*(str(row[key]) for key in ("id", "size", "ours", "peer", "unit", "ratio", "slope")))
    Console().print(table)


if __name__ == "__main__":
    main()
