"""Churn leaves nothing: no ports, no floating IPs, no entries in the gateways' lists, no memory, no descriptors."""

import functools

import pytest

from tests.kept import Kept
from tests.simulation import explore, soak
from tests.simulation.soak import Block

BLOCK = 1_000
BLOCKS = 8
SOAKED_BLOCKS = 1_000
GROWTH = 1.05
"""What Python keeps of memory differs a little from block to block."""


@pytest.mark.long
def test_churn_leaves_nothing(whole: bool, parts_kept: Kept) -> None:  # noqa: FBT001 - a fixture
    seeds = range(1, 1 + (SOAKED_BLOCKS if whole else BLOCKS))
    found = parts_kept.found(Block)
    left = [each for each in seeds if each not in found]
    with explore.workers() as cores:
        for each in cores.map(functools.partial(soak.block, operations=BLOCK), left):
            found[each.seed] = each
            if each.wrong is None:
                parts_kept.add(each.seed, each)
    blocks = list(found.values())
    done, restarts = sum(each.operations for each in blocks), sum(each.restarts for each in blocks)
    memory = soak.steady(blocks, lambda each: each.memory)
    print(f"\nchurn: {done:,} operations, {restarts:,} restarts; kilobytes {memory}")  # noqa: T201 - seen with -s
    assert [each for each in blocks if each.wrong is not None] == []
    assert memory, "no process ran enough blocks to tell"
    assert all(last <= first * GROWTH for first, last in memory.values())
    assert all(first == last for first, last in soak.steady(blocks, lambda each: each.descriptors).values())
    assert done == len(seeds) * BLOCK
