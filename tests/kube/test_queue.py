"""The queue, on virtual time."""

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine
from typing import Any

from mooring.kube.queue import WorkQueue
from tests.simulation.loop import run_virtually


def in_loop(test: Callable[[WorkQueue[str]], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """The test as a plain function, with a queue whose delays are exact."""

    class Certain(random.Random):
        def uniform(self, a: float, b: float) -> float:  # noqa: ARG002 - the most that chance gives
            return b

    async def whole() -> None:
        await test(WorkQueue(Certain(), first=1.0, longest=10.0))

    def plain() -> None:
        run_virtually(whole())

    plain.__doc__ = test.__doc__
    return plain


def now() -> float:
    return asyncio.get_running_loop().time()


@in_loop
async def test_equal_items_merge(queue: WorkQueue[str]) -> None:
    for item in ("a", "b", "a", "a"):
        queue.add(item)
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["a", "b"]


@in_loop
async def test_an_item_added_while_it_is_worked_on_comes_back_once_and_only_then(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = await queue.get()
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0
    queue.done(item)
    assert len(queue) == 1


@in_loop
async def test_failures_come_back_later_and_later_and_are_forgotten_after_success(queue: WorkQueue[str]) -> None:
    queue.add("a")
    times = []
    for _ in range(6):
        item = await queue.get()
        times.append(now())
        queue.failed(item)
    assert [after - before for before, after in itertools.pairwise(times)] == [1, 2, 4, 8, 10]
    assert queue.failures("a") == 6
    queue.done(await queue.get())
    assert queue.failures("a") == 0


@in_loop
async def test_each_item_has_its_own_failures(queue: WorkQueue[str]) -> None:
    queue.add("a")
    for _ in range(3):
        queue.failed(await queue.get())
    queue.add("b")
    assert queue.failed(await queue.get()) == 1.0


@in_loop
async def test_again_after_is_no_failure(queue: WorkQueue[str]) -> None:
    queue.add("a")
    for _ in range(4):
        queue.again(await queue.get(), 3.0)
    assert now() == 9.0
    assert queue.failures("a") == 0


@in_loop
async def test_a_server_may_ask_for_more_patience(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert queue.failed(await queue.get(), not_before=7.0) == 7.0
    await queue.get()
    assert now() == 7.0


@in_loop
async def test_a_change_ends_the_wait_and_the_timer(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.failed(await queue.get(), not_before=100.0)
    queue.add("a")
    item = await queue.get()
    assert now() == 0.0
    queue.done(item)
    await asyncio.sleep(200.0)
    assert len(queue) == 0


@in_loop
async def test_a_nudge_ends_no_wait_after_a_failure(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.failed(await queue.get())
    queue.nudge("a")
    assert len(queue) == 0
    await queue.get()
    assert now() == 1.0
    queue.again("a", 5.0)
    queue.nudge("a")
    assert len(queue) == 1, "it waited for something, and had not failed"


@in_loop
async def test_the_sooner_of_two_times_counts(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 5.0)
    queue.add_after("a", 2.0)
    queue.add_after("a", 8.0)
    await queue.get()
    assert now() == 2.0


@in_loop
async def test_several_workers_never_have_the_same_item(queue: WorkQueue[str]) -> None:
    busy: set[str] = set()
    done: list[str] = []

    async def work() -> None:
        while True:
            item = await queue.get()
            assert item not in busy
            busy.add(item)
            await asyncio.sleep(1.0)
            busy.remove(item)
            done.append(item)
            queue.done(item)

    workers = [asyncio.create_task(work()) for _ in range(3)]
    for _ in range(5):
        for item in "abc":
            queue.add(item)
        await asyncio.sleep(0.5)
    await asyncio.sleep(10.0)
    for worker in workers:
        worker.cancel()
    assert sorted(set(done)) == ["a", "b", "c"]
    assert queue.only("x")


@in_loop
async def test_a_failure_of_something_that_changed_meanwhile_is_looked_at_at_once(queue: WorkQueue[str]) -> None:
    queue.add("a")
    item = await queue.get()
    queue.add("a")
    queue.failed(item)
    await queue.get()
    assert now() == 0.0
