"""The twin's objects, kind by kind, and the bytes that each is answered with. Knows nothing of what they mean."""

import bisect
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from mooring.cloud.kinds import Kind
from mooring.cloud.twin import refusals
from mooring.model.cloud import Resource

T = TypeVar("T", bound=Resource)


def whole(row: T) -> T:
    return row


class Table(Generic[T]):
    """The objects of one kind. Each is encoded once for administrators and once for others, until it changes."""

    def __init__(self, kind: Kind[T, Any], shown: Callable[[T], T] = whole) -> None:
        self.kind = kind
        self.rows: dict[str, T] = {}
        self.ids: list[str] = []
        self.used: Counter[str] = Counter()
        self._shown = shown
        self._for_admins: dict[str, bytes] = {}
        self._for_others: dict[str, bytes] = {}
        self._encode = msgspec.json.Encoder().encode
        self._head = f'{{"{kind.singular}":'.encode()

    def get(self, which: str) -> T:
        row = self.rows.get(which)
        if row is None:
            raise self.not_found(which)
        return row

    def not_found(self, which: str) -> refusals.Refusal:
        return refusals.not_found(self.kind, which)

    def put(self, row: T) -> T:
        """Store an object, new or changed."""
        if row.id in self.rows:
            self._for_admins.pop(row.id, None)
            self._for_others.pop(row.id, None)
        else:
            bisect.insort(self.ids, row.id)
            self.used[row.project_id] += 1
        self.rows[row.id] = row
        return row

    def change(self, row: T, **changes: Any) -> T:  # noqa: ANN401 - values of any field
        """Store an object with other values and, unless told otherwise, the next revision."""
        changes.setdefault("revision_number", row.revision_number + 1)
        return self.put(msgspec.structs.replace(row, **changes))

    def remove(self, row: T) -> None:
        del self.rows[row.id]
        self.ids.pop(bisect.bisect_left(self.ids, row.id))
        self.used[row.project_id] -= 1
        self._for_admins.pop(row.id, None)
        self._for_others.pop(row.id, None)

    def in_order(self) -> Iterable[T]:
        return map(self.rows.__getitem__, self.ids)

    def encoded(self, row: T, *, admin: bool) -> bytes:
        """An object as JSON. One that is no longer what is stored (an answer from before) is encoded anew."""
        if self.rows.get(row.id) is not row:
            return self._encode(row if admin else self._shown(row))
        kept = self._for_admins if admin else self._for_others
        found = kept.get(row.id)
        if found is None:
            found = kept[row.id] = self._encode(row if admin else self._shown(row))
        return found

    def one(self, row: T, *, admin: bool) -> bytes:
        """The body of an answer that holds one object."""
        return self._head + self.encoded(row, admin=admin) + b"}"
