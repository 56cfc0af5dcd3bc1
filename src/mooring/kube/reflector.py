"""Keeps a store equal to what the API server has, whatever happens in between.

how it begins                  what is done
-----------------------------  ------------------------------------------------------------------------------
nothing is known               watch-list: the objects that there are come first; the store is replaced at the
                               bookmark that ends them, which tells the deletions nobody saw; what happens before
                               that bookmark is already among them
server offers no watch-list    LIST in pages, replace, WATCH from the version of the list
stream ends, breaks, is silent WATCH again from the last version, bookmarks included
410: version no longer kept    as if nothing were known; the store goes on to be readable meanwhile
a list older than one before   again; when it stays so, the server was restored from a backup, and we go back with it
watching fails several times,  the same: a server that was restored from a backup does not know our version
a bookmark goes back
anything else                  again after a pause that grows, and not before the server wants to be asked again
"""

import asyncio
import functools
import random
from collections.abc import Callable, Collection, Iterable
from typing import Generic, TypeVar

from mooring.kube import errors
from mooring.kube.api import Api, Watch, WatchEvent
from mooring.kube.kinds import Kind
from mooring.kube.store import Store
from mooring.model.kubernetes import Resource

T = TypeVar("T", bound=Resource)

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
TRUSTED_FAILURES = 3
SHORT = 1.0


class Reflector(Generic[T]):
    """Follows one kind. `run` never returns; who starts it cancels it. `trouble` is told each failure."""

    def __init__(  # noqa: PLR0913 - what to follow, where to put it, and how patient to be
        self,
        api: Api,
        kind: Kind[T],
        store: Store[T],
        chance: random.Random,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        silence: float = 90.0,
        trouble: Callable[[errors.KubeError], None] = lambda _: None,
    ) -> None:
        self._kind = kind
        self._store = store
        self._chance = chance
        self._list = functools.partial(api.list, kind, namespace=namespace, labels=labels, fields=fields)
        self._watch = functools.partial(api.watch, kind, namespace=namespace, labels=labels, fields=fields)
        self._silence = silence
        self._trouble = trouble
        self._watch_list = True
        self._version: str | None = None
        self._failures = 0
        self._older = 0

    async def run(self) -> None:
        while True:
            try:
                await self._once()
            except errors.KubeError as error:
                self._trouble(error)
                if isinstance(error, errors.Gone) or self._failures >= TRUSTED_FAILURES:
                    self._version = None
                await self._pause(_asked_pause(error))

    async def _once(self) -> None:
        """From what is known to the end of one stream."""
        if self._version is None and not self._watch_list:
            listing = await self._list(known=self._store.taken)
            self._replace(listing.items, listing.version)
        watch = await self._open()
        begin = asyncio.get_running_loop().time()
        try:
            if self._version is None:
                await self._fill(watch)
            while events := await self._read(watch):
                for event in events:
                    self._take(event)
                self._failures = 0
        finally:
            await watch.close()
        if asyncio.get_running_loop().time() - begin < SHORT:
            raise errors.Unreachable(f"watch {self._kind.plural}: ended as soon as it began")

    async def _open(self) -> Watch[T]:
        try:
            return await self._watch(version=self._version)
        except errors.Invalid:
            if self._version is None:
                self._watch_list = False  # an older server: the next turn lists
            raise

    async def _fill(self, watch: Watch[T]) -> None:
        """The objects that there are, then the store is all of them and nothing else.

        The world does not stand still meanwhile: the last event of each object decides whether it is one of them.
        """
        last: dict[str, WatchEvent[T]] = {}
        while events := await self._read(watch):
            for position, event in enumerate(events):
                if event.ends_initial_events:
                    self._begin(last.values(), event.object.metadata.resource_version)
                    for later in events[position + 1 :]:
                        self._take(later)
                    return
                if event.type != "BOOKMARK":
                    _keep_newer(last, WatchEvent(event.type, self._store.taken(event.object)))
        raise errors.Unreachable(f"watch {self._kind.plural}: ended before the initial objects did")

    def _begin(self, events: Collection[WatchEvent[T]], version: str) -> None:
        self._replace([each.object for each in events if each.type != "DELETED"], version)
        for each in events:
            if each.type == "DELETED":
                self._store.remove(each.object)  # it may have ended after that version
        self._store.settled(version)

    def _replace(self, objects: Iterable[T], version: str) -> None:
        """A list that is older than what we know came late; one that stays so is of a server that has gone back."""
        if not self._store.replace(objects, version):
            self._older += 1
            if self._older < TRUSTED_FAILURES:
                raise errors.Gone(f"list {self._kind.plural}: version {version} is older than what was seen")
            self._store.reset(objects, version)
        self._older = 0
        self._version = version

    def _take(self, event: WatchEvent[T]) -> None:
        version = event.object.metadata.resource_version
        if event.type == "DELETED":
            self._store.remove(event.object)
        elif event.type != "BOOKMARK":
            self._store.put(event.object)
        elif int(version) < int(self._version or 0):
            raise errors.Gone(f"watch {self._kind.plural}: the server has gone back to version {version}")
        else:
            self._store.settled(version)
        self._version = version

    async def _read(self, watch: Watch[T]) -> list[WatchEvent[T]]:
        """A server says something every minute, if only a bookmark. One that does not is not there any more."""
        try:
            async with asyncio.timeout(self._silence):
                return await watch.read()
        except TimeoutError as error:
            told = f"watch {self._kind.plural}: silent for {self._silence:g} s"
            raise errors.Unreachable(told) from error

    async def _pause(self, at_least: float) -> None:
        pause = min(FIRST_PAUSE * 2 ** min(self._failures, 20), LONGEST_PAUSE)
        self._failures += 1
        await asyncio.sleep(max(pause * self._chance.uniform(0.5, 1.0), at_least))


def _keep_newer(last: dict[str, WatchEvent[T]], event: WatchEvent[T]) -> None:
    uid = event.object.metadata.uid
    known = last.get(uid)
    if known is None or _version(known) <= _version(event):
        last[uid] = event


def _version(event: WatchEvent[T]) -> int:
    return int(event.object.metadata.resource_version or 0)


def _asked_pause(error: errors.KubeError) -> float:
    """The pause that the server asks for."""
    return (error.retry_after or 0.0) if isinstance(error, errors.TooManyRequests) else 0.0
