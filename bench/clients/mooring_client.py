"""Ours: transport, API, reflector, store and queue, put together as a controller does."""

import asyncio
import random
from collections.abc import Mapping

from bench import services
from bench.clients import cost
from mooring.kube import credentials, kinds
from mooring.kube.api import Api
from mooring.kube.queue import WorkQueue
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.kube.transport import HttpTransport
from mooring.model.kubernetes import Name, Service


class Controller:
    """Takes names out of the queue and looks each up, which is where a decision would begin."""

    def __init__(self, kubeconfig: str) -> None:
        chance = random.Random(0)  # noqa: S311 - spreads pauses
        self.transport = HttpTransport(credentials.access(kubeconfig))
        self.api = Api(self.transport)
        self.store = Store[Service]({"namespace": lambda each: (each.metadata.namespace,)})
        self.queue = WorkQueue[Name](chance)
        self.last = 0
        self.changes = 0
        self.store.listen(self._changed)
        self.reflector = Reflector(self.api, kinds.SERVICES, self.store, chance, trouble=_give_up)

    def _changed(self, before: Service | None, after: Service | None) -> None:
        self.changes += 1
        if each := after or before:
            self.queue.add(each.name)

    async def work(self) -> None:
        while True:
            name = await self.queue.get()
            if found := self.store.get(name):
                self.last = max(self.last, int(found.metadata.resource_version))
            self.queue.done(name)


def _give_up(error: Exception) -> None:
    raise error


async def events(kubeconfig: str, number: int) -> Mapping[str, float]:
    controller = Controller(kubeconfig)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(controller.reflector.run()), group.create_task(controller.work())]
        await controller.store.filled()
        found = await cost.events(kubeconfig, lambda: max(controller.last, services.NOW) - services.NOW)
        for task in tasks:
            task.cancel()
    await controller.transport.close()
    if controller.changes != number + sum(services.WAVES.values()):
        raise ValueError(f"{controller.changes} changes seen")
    return found


async def start(kubeconfig: str, number: int) -> Mapping[str, float]:
    controller = Controller(kubeconfig)
    await controller.api.list(kinds.NAMESPACES)
    growth = cost.Growth()
    task = asyncio.create_task(controller.reflector.run())
    await controller.store.filled()
    found = growth.report()
    if len(controller.store) != number:
        raise ValueError(f"{len(controller.store)} objects in the store")
    task.cancel()
    await controller.transport.close()
    return found


async def write(kubeconfig: str, in_flight: int) -> Mapping[str, float]:
    transport = HttpTransport(credentials.access(kubeconfig))
    api, name = Api(transport), Name(services.namespace(0), services.name(0))
    found = await cost.writes(lambda: api.patch(kinds.SERVICES, name, cost.CHANGE, version="1"), in_flight)
    await transport.close()
    return found


if __name__ == "__main__":
    cost.run(events=events, start=start, write=write)
