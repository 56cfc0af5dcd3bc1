"""The virtual loop keeps the promises of a real one, and adds that time is a number and processes can be paused."""

import asyncio
import contextvars

import pytest

from tests.simulation.loop import PROCESS, new_loop, run_virtually
from tests.simulation.process import Process


def test_waiting_takes_no_time_and_time_is_exact() -> None:
    async def day() -> float:
        await asyncio.sleep(86_400.0)
        return asyncio.get_running_loop().time()

    assert run_virtually(day()) == 86_400.0


def test_callbacks_run_in_order_and_timers_by_time_then_order() -> None:
    async def scene() -> list[str]:
        loop = asyncio.get_running_loop()
        seen: list[str] = []
        loop.call_later(2.0, seen.append, "later")
        loop.call_later(1.0, seen.append, "sooner")
        loop.call_later(1.0, seen.append, "sooner, second")
        loop.call_soon(seen.append, "now")
        loop.call_soon(seen.append, "now, second")
        loop.call_later(1.5, seen.append, "never").cancel()
        await asyncio.sleep(3.0)
        return seen

    assert run_virtually(scene()) == ["now", "now, second", "sooner", "sooner, second", "later"]


def test_timeouts_task_groups_and_events_work() -> None:
    async def scene() -> float:
        event = asyncio.Event()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.0):
                await event.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(2.0))
            group.create_task(asyncio.sleep(3.0))
        return asyncio.get_running_loop().time()

    assert run_virtually(scene()) == 8.0


def test_nothing_left_to_do_is_an_error_not_a_hang() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(IndexError):
        run_virtually(forever())


def test_what_a_callback_does_wrong_is_kept() -> None:
    loop = new_loop()

    async def scene() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1.0)

    loop.run(scene())
    assert [type(each["exception"]) for each in loop.failures] == [ZeroDivisionError]


def test_a_paused_process_does_nothing_and_then_goes_on() -> None:
    loop = new_loop()
    process = Process("p")
    beats: list[float] = []

    async def beat() -> None:
        while True:
            beats.append(loop.time())
            await asyncio.sleep(1.0)

    async def scene() -> None:
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        task = loop.create_task(beat(), context=context)
        await asyncio.sleep(2.5)
        loop.pause(process, 10.0)
        await asyncio.sleep(11.5)
        task.cancel()

    loop.run(scene())
    assert beats == [0.0, 1.0, 2.0, 12.5, 13.5]


def test_a_killed_process_takes_all_its_tasks_with_it() -> None:
    loop = new_loop()
    process = Process("p")
    ended: list[str] = []

    async def child() -> None:
        try:
            await asyncio.sleep(100.0)
        finally:
            ended.append("child")

    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            group.create_task(child())

    async def scene() -> None:
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        process.adopt(loop.create_task(parent(), context=context))
        await asyncio.sleep(1.0)
        process.kill()
        await asyncio.sleep(1.0)

    loop.run(scene())
    assert ended == ["child", "child"]
    assert not process.alive
