"""What we know of one kind of object, by name and by whatever else it must be found by. Knows nothing of where from.

One after the other, objects only go forward: what is older than what is held is not taken in, so an event that comes
twice or late does no harm. Of what has ended, the end is remembered until everything up to it has been taken in; from
then on whatever is that old and not held has ended. Listeners are told each change as (before, after), at once and in
order; None stands for "is not there".
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar

from mooring.model.kubernetes import Name, Resource

T = TypeVar("T", bound=Resource)
Index: TypeAlias = Callable[[T], Iterable[Hashable]]
Listener: TypeAlias = Callable[[T | None, T | None], None]

MOST_GONE = 4096


class Store(Generic[T]):
    """The objects of one kind. Not `complete` before everything that existed at some moment has been taken in."""

    def __init__(
        self, indexes: Mapping[str, Index[T]] | None = None, *, taken_as: Callable[[T], T] = lambda each: each
    ) -> None:
        self._taken_as = taken_as
        self._objects: dict[Name, T] = {}
        self._indexes = dict(indexes or {})
        self._found: dict[str, dict[Hashable, dict[Name, None]]] = {name: {} for name in self._indexes}
        self._listeners: list[Listener[T]] = []
        self._floor = 0  # the version up to which everything has been taken in
        self._gone: dict[Name, int] = {}  # what ended after it, and when: late news of it are not taken in
        self._filled = asyncio.Event()

    @property
    def complete(self) -> bool:
        return self._filled.is_set()

    @property
    def newest(self) -> int:
        """The newest version that was taken in."""
        held = (_version(each) for each in self._objects.values())
        return max((self._floor, *self._gone.values(), *held))

    async def filled(self) -> None:
        """Wait until everything that existed at some moment has been taken in."""
        await self._filled.wait()

    def listen(self, listener: Listener[T]) -> Callable[[], None]:
        """Tell this listener every change, until what is returned is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, name: Name) -> T | None:
        return self._objects.get(name)

    def all(self) -> tuple[T, ...]:
        """Everything, in the order of names."""
        return tuple(self._objects[name] for name in sorted(self._objects))

    def by(self, index: str, key: Hashable) -> tuple[T, ...]:
        """The objects that an index lists under a key, in the order of names."""
        return tuple(self._objects[name] for name in sorted(self._found[index].get(key, ())))

    def taken(self, each: T) -> T:
        """What is held instead of an object that came in; the very same, if it is held: two take twice the memory.

        The version alone does not tell: a server that was restored from a backup gives out versions again.
        """
        taken, held = self._taken_as(each), self._objects.get(each.name)
        return held if held is not None and held == taken else taken

    def put(self, after: T) -> None:
        """Take in an object as it is now. What is not held and not newer than all that was taken in has ended."""
        if after.name in self._objects or _version(after) > self._floor:
            self._take(self._taken_as(after))

    def remove(self, last: T) -> None:
        """An object is gone; `last` is how it was, with the version of its end."""
        before = self._objects.get(last.name)
        if before is None or _version(before) <= _version(last):
            self._bury(last)
        if before is not None and _version(before) <= _version(last):
            self._set(last.name, before, None)

    def replace(self, objects: Iterable[T], version: str) -> bool:
        """Everything that existed at a version, each as `taken` gives it.

        What is not among it was deleted while nobody looked, and is told so.
        What we hold that is newer still, as the answer to a write of ours, stays. What we hold that is newer than in
        the list, and not newer than the list, is of before the server was restored from a backup. A list that is older
        than one before it is not taken in: False.
        """
        moment = int(version)
        if moment < self._floor:
            return False
        self.settled(version)
        found = {each.name: each for each in objects}
        for name, each in list(self._objects.items()):
            if name not in found and _version(each) <= moment:
                self._set(name, each, None)
        for each in found.values():
            before = self._objects.get(each.name)
            if before is not None and _version(each) < _version(before) <= moment:
                self._change(before, each)
            else:
                self._take(each)
        self._filled.set()
        return True

    def settled(self, version: str) -> None:
        """Everything up to a version has been taken in: what had ended by then is known by not being held."""
        self._floor = max(self._floor, int(version))
        self._gone = {name: end for name, end in self._gone.items() if end > self._floor}

    def reset(self, objects: Iterable[T], version: str) -> None:
        """The same for a cluster that was restored from a backup: it has gone back, and we go with it."""
        found = {each.name: each for each in objects}
        self._floor = int(version)
        self._gone = {}
        for name, each in list(self._objects.items()):
            if name not in found:
                self._set(name, each, None)
        for name, each in found.items():
            self._change(self._objects.get(name), each)
        self._filled.set()

    def _take(self, after: T) -> None:
        before = self._objects.get(after.name)
        known = self._gone.get(after.name, 0) if before is None else _version(before)
        if _version(after) > known:
            self._change(before, after)

    def _bury(self, last: T) -> None:
        """Remember an end, the newest ones last; where nothing is ever settled, the oldest are forgotten."""
        self._gone[last.name] = max(_version(last), self._gone.pop(last.name, 0))
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]

    def _change(self, before: T | None, after: T) -> None:
        if before is not None and before.metadata.uid != after.metadata.uid:
            self._set(after.name, before, None)  # it was deleted and made again; both are told
            before = None
        self._set(after.name, before, after)

    def _set(self, name: Name, before: T | None, after: T | None) -> None:
        if after is None:
            del self._objects[name]
        else:
            self._objects[name] = after
        for index, keys in self._indexes.items():
            self._file(self._found[index], name, keys(before) if before else (), keys(after) if after else ())
        for listener in self._listeners:
            listener(before, after)

    def _file(
        self, found: dict[Hashable, dict[Name, None]], name: Name, old: Iterable[Hashable], new: Iterable[Hashable]
    ) -> None:
        for key in old:
            names = found[key]
            del names[name]
            if not names:
                del found[key]
        for key in new:
            found.setdefault(key, {})[name] = None


def _version(each: Resource) -> int:
    """Versions of one kind can be compared as numbers (Kubernetes promises it since 1.35 and always did so)."""
    return int(each.metadata.resource_version or 0)
