"""Churn leaves nothing: no ports, no floating IPs, no entries in the gateways' lists, no memory, no descriptors."""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.simulation import soak

BLOCK = 1_000
BLOCKS = 8
SOAKED_BLOCKS = 1_000
GROWTH = 1.05
"""What Python keeps of memory differs a little from block to block."""


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_churn_leaves_nothing(whole: bool) -> None:  # noqa: FBT001 - a fixture
    seeds = range(1, 1 + (SOAKED_BLOCKS if whole else BLOCKS))
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as workers:
        blocks = list(workers.map(functools.partial(soak.block, operations=BLOCK), seeds))
    done, restarts = sum(each.operations for each in blocks), sum(each.restarts for each in blocks)
    memory = soak.steady(blocks, lambda each: each.memory)
    print(f"\nchurn: {done:,} operations, {restarts:,} restarts; kilobytes {memory}")  # noqa: T201 - seen with -s
    assert [each for each in blocks if each.wrong is not None] == []
    assert memory, "no process ran enough blocks to tell"
    assert all(last <= first * GROWTH for first, last in memory.values())
    assert all(first == last for first, last in soak.steady(blocks, lambda each: each.descriptors).values())
    assert done == len(seeds) * BLOCK
