"""Objects of one kind, in order of their keys, with the changes that led to them.

Knows versions, not what they are good for: who writes gives each change a version that is newer than all before. The
changes are kept for a while, so that a watch can begin in the past and a reader can look at it. Bytes are made once per
change and shared by everybody who reads.
"""

import bisect
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec
from msgspec import Struct

from mooring.kube.twin.answers import Tree

NO_LABELS: Mapping[str, str] = {}

_encode = msgspec.json.Encoder().encode


class Record(Struct, frozen=True):
    """An object as it is stored: its tree, and its bytes without kind and apiVersion."""

    key: str
    version: int
    tree: Tree
    inner: bytes

    @property
    def labels(self) -> Mapping[str, str]:
        labels: Mapping[str, str] = self.tree["metadata"].get("labels", NO_LABELS)
        return labels


def record(key: str, tree: Tree, version: int) -> Record:
    """The tree with its version in it."""
    told = {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(version)}}
    return Record(key, version, told, _encode(told))


class Change(Struct):
    """What happened to one object at one version. An object that is gone is shown as it was, at the later version."""

    version: int
    key: str
    old: Record | None
    new: Record | None
    prefix: bytes
    _shown: bytes = b""
    _gone: bytes = b""

    def shown(self) -> bytes:
        """The line that tells the change to those who see the object before and after."""
        if not self._shown:
            if self.new is None:
                self._shown = self.vanished()
            else:
                self._shown = line(b"ADDED" if self.old is None else b"MODIFIED", self.prefix, self.new.inner)
        return self._shown

    def appeared(self) -> bytes:
        """The line for those who did not see the object before."""
        if self.new is None or self.old is None:
            return self.shown()
        return line(b"ADDED", self.prefix, self.new.inner)

    def vanished(self) -> bytes:
        """The line for those who see the object no longer."""
        if not self._gone and self.old is not None:
            self._gone = line(b"DELETED", self.prefix, record(self.key, self.old.tree, self.version).inner)
        return self._gone


def line(kind: bytes, prefix: bytes, inner: bytes) -> bytes:
    return b'{"type":"' + kind + b'","object":' + prefix + inner[1:] + b"}\n"


class Follower(Protocol):
    def offer(self, change: Change) -> None: ...


class Collection:
    """All objects of a kind. `prefix` opens an object's bytes with its kind and apiVersion."""

    def __init__(self, prefix: bytes, *, since: int, window: int) -> None:
        self.prefix = prefix
        self.floor = since
        self.records: dict[str, Record] = {}
        self.followers: list[Follower] = []
        self._keys: list[str] = []
        self._log: list[Change] = []
        self._window = window

    def store(self, key: str, tree: Tree, version: int) -> Record:
        new = record(key, tree, version)
        old = self.records.get(key)
        if old is None:
            bisect.insort(self._keys, key)
        self.records[key] = new
        self._note(Change(version, key, old, new, self.prefix))
        return new

    def remove(self, key: str, version: int) -> Record:
        """Take an object away; given back as it was, at the version of its end."""
        old = self.records.pop(key)
        del self._keys[bisect.bisect_left(self._keys, key)]
        self._note(Change(version, key, old, None, self.prefix))
        return record(key, old.tree, version)

    def _note(self, change: Change) -> None:
        self._log.append(change)
        if len(self._log) > 2 * self._window:
            self.compact(self._log[-self._window - 1].version)
        for follower in tuple(self.followers):
            follower.offer(change)

    def compact(self, version: int) -> None:
        """Forget what led to this version."""
        if version <= self.floor:
            return
        self.floor = version
        del self._log[: self._index_after(version)]

    def restore(self, records: Mapping[str, Record], version: int) -> None:
        """Hold these objects, as of this version, and know nothing of what led to them."""
        self.records = dict(records)
        self._keys = sorted(records)
        self._log = []
        self.floor = version

    def since(self, version: int) -> list[Change]:
        """The changes after a version that is not forgotten."""
        return self._log[self._index_after(version) :]

    def _index_after(self, version: int) -> int:
        return bisect.bisect_right(self._log, version, key=lambda change: change.version)

    def at(self, version: int) -> "Snapshot":
        """The objects as they were at a version that is not forgotten."""
        if not self._log or self._log[-1].version <= version:
            return Snapshot(self.records, self._keys)
        records = dict(self.records)
        for change in reversed(self.since(version)):
            if change.old is None:
                records.pop(change.key, None)
            else:
                records[change.key] = change.old
        return Snapshot(records, sorted(records))


class Snapshot(Struct, frozen=True):
    """Objects at one version, to be read at once: a snapshot of the present changes with it."""

    records: Mapping[str, Record]
    keys: list[str]

    def below(self, prefix: str, start: str) -> "Iterator[Record]":
        """The objects whose keys begin like this, in order, from a key on."""
        index = bisect.bisect_left(self.keys, max(prefix, start))
        while index < len(self.keys) and self.keys[index].startswith(prefix):
            yield self.records[self.keys[index]]
            index += 1

    def count_below(self, prefix: str, after: str) -> int:
        """How many keys begin like this and come after one of them."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else chr(0x10FFFF)
        return bisect.bisect_left(self.keys, end) - bisect.bisect_right(self.keys, after)
