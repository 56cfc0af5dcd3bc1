"""A reflector on a namespace of the lab, what it told, and two ways to the API server, one of which can be broken."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import msgspec

from mooring.kube import credentials, errors
from mooring.kube.api import Api
from mooring.kube.kinds import LEASES, Kind
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.kube.transport import HttpTransport
from mooring.lab.lab import Lab
from mooring.model.kubernetes import Lease, LeaseSpec, Meta, Name, Resource
from tests.lab.proxy import Proxy, proxy_to

T = TypeVar("T", bound=Resource)
Work = Callable[[int], Awaitable[object]]


class Ways:
    """The API server: directly, and through a proxy that a test can break."""

    def __init__(self, access: credentials.Access, proxy: Proxy) -> None:
        self.proxy = proxy
        self.http = HttpTransport(access)
        self.proxied_http = HttpTransport(msgspec.structs.replace(access, server=proxy.url))
        self.direct, self.proxied = Api(self.http), Api(self.proxied_http)


@contextlib.asynccontextmanager
async def ways(lab: Lab, kubeconfig: Path | None = None) -> AsyncIterator[Ways]:
    """Both ways; without a kubeconfig, as the lab's administrator."""
    access = credentials.access(str(kubeconfig or lab.place.kubeconfig))
    there = urlsplit(access.server)
    async with proxy_to(there.hostname or "", there.port or 443) as proxy:
        made = Ways(access, proxy)
        try:
            yield made
        finally:
            await made.http.close()
            await made.proxied_http.close()


class Followed(Generic[T]):
    """A store that a reflector keeps, and everything that it told."""

    def __init__(self, kind: Kind[T], namespace: str) -> None:
        self._kind = kind
        self._namespace = namespace
        self.store: Store[T] = Store()
        self.store.listen(self._heard)
        self.told: list[tuple[str, str]] = []
        self.trouble: list[errors.KubeError] = []

    def _heard(self, before: T | None, after: T | None) -> None:
        kind = "deleted" if after is None else "added" if before is None else "changed"
        some = after or before
        assert some is not None
        self.told.append((kind, some.metadata.name))

    def counts(self) -> Counter[str]:
        return Counter(kind for kind, _ in self.told)

    def saw(self, text: str) -> bool:
        """Was there trouble that says so?"""
        return any(text in str(error) for error in self.trouble)

    async def equals(self, api: Api, *, seconds: float = 30.0) -> None:
        """Wait until the store is what the server has, version by version."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            held = {each.name: each.metadata.resource_version for each in self.store.all()}
            listing = await api.list(self._kind, namespace=self._namespace)
            there = {each.name: each.metadata.resource_version for each in listing.items}
            if held == there:
                return
            assert loop.time() < deadline, f"{len(held)} held, {len(there)} there; trouble: {self.trouble[-3:]}"
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def following(
    api: Api, kind: Kind[T], namespace: str, *, silence: float = 90.0, name: str = "reflector"
) -> AsyncIterator[Followed[T]]:
    """A reflector at work, filled. Whatever a test does to it, it must not have ended."""
    it = Followed(kind, namespace)
    chance = random.Random(name)  # noqa: S311 - it has to be repeatable
    reflector = Reflector(api, kind, it.store, chance, namespace=namespace, silence=silence, trouble=it.trouble.append)
    task = asyncio.create_task(reflector.run())
    try:
        async with asyncio.timeout(60):
            await it.store.filled()
        yield it
        assert not task.done(), f"the reflector has ended: {task}"
    finally:
        await end(task)


async def end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def make(api: Api, namespace: str, name: str, *, text: str = "") -> Lease:
    meta = Meta(name=name, namespace=namespace, annotations={"text": text} if text else {})
    return await api.create(LEASES, Lease(metadata=meta, spec=LeaseSpec("somebody", 15)))


async def change(api: Api, namespace: str, name: str, text: str) -> None:
    await api.patch(LEASES, Name(namespace, name), {"metadata": {"labels": {"text": text}}}, version=None)


async def remove(api: Api, namespace: str, name: str) -> None:
    lease = await api.get(LEASES, Name(namespace, name))
    await api.delete(LEASES, lease.name, uid=lease.metadata.uid)


async def tried(work: Awaitable[object]) -> None:
    """Do it if it can be done soon."""
    with contextlib.suppress(errors.KubeError, TimeoutError):
        async with asyncio.timeout(3):
            await work


@contextlib.asynccontextmanager
async def busy(api: Api, namespace: str) -> AsyncIterator[None]:
    """A namespace in which something changes five times a second, come what may."""

    async def work() -> None:
        number = 0
        while True:
            number += 1
            name = f"busy-{number % 5}"
            await tried(make(api, namespace, name))
            await tried(change(api, namespace, name, str(number)))
            await tried(remove(api, namespace, f"busy-{(number + 3) % 5}"))
            await asyncio.sleep(0.2)

    task = asyncio.create_task(work())
    try:
        yield
        assert not task.done(), f"the work has ended: {task}"
    finally:
        await end(task)
