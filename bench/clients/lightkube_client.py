"""lightkube as it comes: AsyncClient with its own model of a Service; the objects are kept by name."""

import asyncio
from collections.abc import Mapping

from lightkube import AsyncClient
from lightkube.config.kubeconfig import KubeConfig
from lightkube.resources.core_v1 import Namespace, Service
from lightkube.types import PatchType

from bench import services
from bench.clients import cost

PAGE = 500


class Cache:
    def __init__(self, kubeconfig: str) -> None:
        self.client = AsyncClient(config=KubeConfig.from_file(kubeconfig).get())
        self.objects: dict[tuple[str, str], Service] = {}
        self.handled = 0

    async def fill(self) -> None:
        async for each in self.client.list(Service, namespace="*", chunk_size=PAGE):
            self.keep(each)

    async def follow(self) -> None:
        async for _, each in self.client.watch(Service, namespace="*", resource_version=str(services.NOW)):
            self.keep(each)
            self.handled += 1

    def keep(self, each: Service) -> None:
        if each.metadata is not None:
            self.objects[each.metadata.namespace or "", each.metadata.name or ""] = each


async def events(kubeconfig: str, _number: int) -> Mapping[str, float]:
    cache = Cache(kubeconfig)
    await cache.fill()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(cache.follow())
        found = await cost.events(kubeconfig, lambda: cache.handled)
        task.cancel()
    return found


async def start(kubeconfig: str, number: int) -> Mapping[str, float]:
    cache = Cache(kubeconfig)
    [_ async for _ in cache.client.list(Namespace)]
    growth = cost.Growth()
    await cache.fill()
    found = growth.report()
    if len(cache.objects) != number:
        raise ValueError(f"{len(cache.objects)} objects in the cache")
    return found


async def write(kubeconfig: str, in_flight: int) -> Mapping[str, float]:
    client = AsyncClient(config=KubeConfig.from_file(kubeconfig).get())
    name, namespace = services.name(0), services.namespace(0)
    return await cost.writes(
        lambda: client.patch(Service, name, cost.CHANGE, namespace=namespace, patch_type=PatchType.MERGE), in_flight
    )


if __name__ == "__main__":
    cost.run(events=events, start=start, write=write)
