"""The end of what other objects live in: a namespace, or the definition of a kind, goes when all of them are gone.

In a cluster controllers see to this in their own time; here it happens with the call that makes it possible.
"""

from collections.abc import Iterator

from mooring.kube.twin.paths import Paths
from mooring.kube.twin.resources import Served
from mooring.kube.twin.storage import Record
from mooring.kube.twin.writing import Writer


class Endings:
    """The holders that are being deleted."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._holders: dict[tuple[Served, str], bool] = {}

    def note(self, served: Served, key: str) -> None:
        """A holder was changed; from now on it is looked after if it is being deleted."""
        holder = served.collection.records.get(key)
        if holder is not None and "deletionTimestamp" in holder.tree["metadata"]:
            self._holders.setdefault((served, key), False)

    def sweep(self, writer: Writer) -> None:
        """Delete what lives in holders that end, and those in which nothing lives."""
        for (served, key), swept in list(self._holders.items()):
            if (served, key) not in self._holders:
                continue
            if not swept:
                self._holders[served, key] = True
                for inside, record in list(self._inside(served, key)):
                    if record.key in inside.collection.records:
                        writer.end(inside, record)
            holder = served.collection.records.get(key)
            if holder is None:
                self._holders.pop((served, key), None)
            elif "finalizers" not in holder.tree["metadata"] and not any(self._inside(served, key)):
                del self._holders[served, key]
                writer.remove_holder(served, key)

    def _inside(self, served: Served, key: str) -> Iterator[tuple[Served, Record]]:
        if served.resource.plural == "namespaces":
            for each in self._paths.all():
                if each.resource.namespaced:
                    for record in each.collection.at(1 << 62).below(f"{key}/", ""):
                        yield each, record
            return
        plural, _, group = key.partition(".")
        defined = self._paths.find(plural, group)
        if defined is not None:
            for record in defined.collection.at(1 << 62).below("", ""):
                yield defined, record
