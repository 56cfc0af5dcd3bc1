"""Watches: who follows which objects, and the lines that reach them. How long one lasts is the caller's business."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct

from mooring.kube.twin.answers import HEADERS, Refusal, Tree
from mooring.kube.twin.storage import Change, Collection, Record

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Selects = Callable[[Record], bool]


class Scope(Struct, frozen=True):
    """Which objects of a kind somebody asked for: those below a key, and those that selectors let pass."""

    prefix: str = ""
    selects: Selects | None = None


class Subscription:
    """An open watch, read as a stream. Lines wait in it until somebody reads them."""

    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = HEADERS

    def __init__(
        self, scope: Scope, *, since: int, wants_bookmarks: bool, on_end: "Callable[[Subscription], None]"
    ) -> None:
        self.wants_bookmarks = wants_bookmarks
        self._scope = scope
        self._since = since
        self._on_end = on_end
        self._lines: deque[bytes] = deque()
        self._ended = False
        self._waiting: asyncio.Future[None] | None = None

    @property
    def ended(self) -> bool:
        return self._ended

    def offer(self, change: Change) -> None:
        """Take the line that tells this change to this watch, if any does."""
        if change.version <= self._since or not change.key.startswith(self._scope.prefix):
            return
        selects = self._scope.selects
        if selects is None:
            self.push(change.shown())
            return
        before = change.old is not None and selects(change.old)
        after = change.new is not None and selects(change.new)
        if before and after:
            self.push(change.shown())
        elif after:
            self.push(change.appeared())
        elif before:
            self.push(change.vanished())

    def push(self, line: bytes) -> None:
        if not self._ended:
            self._lines.append(line)
            self._wake()

    def take(self) -> bytes:
        """Every line that waits."""
        lines = b"".join(self._lines)
        self._lines.clear()
        return lines

    async def read(self) -> bytes:
        while not self._lines and not self._ended:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        return self.take()

    def end(self) -> None:
        """No further line comes; those that wait can still be read."""
        if not self._ended:
            self._ended = True
            self._on_end(self)
            self._wake()

    async def close(self) -> None:
        self._lines.clear()
        self.end()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


def begin(collection: Collection, subscription: Subscription, scope: Scope, *, version: int | None, now: int) -> None:
    """Give a new watch what it missed since a version, or everything that there is, and let it follow."""
    if version is None:
        for record in collection.at(now).below(scope.prefix, ""):
            if scope.selects is None or scope.selects(record):
                subscription.push(Change(record.version, record.key, None, record, collection.prefix).shown())
    else:
        for change in collection.since(version):
            subscription.offer(change)
    collection.followers.append(subscription)


def error_line(refusal: Refusal) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": refusal.status()}) + b"\n"


def bookmark_line(head: Tree, blank: Tree, version: int, *, ends_initial: bool) -> bytes:
    """A line that says: up to this version you have seen everything."""
    metadata: Tree = {"resourceVersion": str(version)}
    if ends_initial:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return msgspec.json.encode({"type": "BOOKMARK", "object": {**head, "metadata": metadata, **blank}}) + b"\n"
