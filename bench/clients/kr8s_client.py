"""kr8s: its asynchronous watch and list; the objects are kept by name, as whoever uses it would."""

import asyncio
from collections.abc import Mapping
from typing import Any

import kr8s  # type: ignore[import-not-found]
import kr8s.asyncio  # type: ignore[import-not-found]

from bench.clients import cost


async def events(kubeconfig: str, number: int) -> Mapping[str, float]:
    api = await kr8s.asyncio.api(kubeconfig=kubeconfig)
    cache: dict[tuple[str, str], Any] = {}
    handled = 0

    async def follow() -> None:
        nonlocal handled
        async for _, each in api.watch("services", namespace=kr8s.ALL):
            cache[each.namespace, each.name] = each
            handled += 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow())
        await cost.until(lambda: handled >= number)
        found = await cost.events(kubeconfig, lambda: handled)
        task.cancel()
    return found


async def start(kubeconfig: str, number: int) -> Mapping[str, float]:
    api = await kr8s.asyncio.api(kubeconfig=kubeconfig)
    await api.lookup_kind("services")
    growth = cost.Growth()
    cache = {(each.namespace, each.name): each async for each in api.get("services", namespace=kr8s.ALL)}
    found = growth.report()
    if len(cache) != number:
        raise ValueError(f"{len(cache)} objects in the cache")
    return found


if __name__ == "__main__":
    cost.run(events=events, start=start)
