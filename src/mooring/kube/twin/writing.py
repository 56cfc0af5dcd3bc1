"""Creating, changing and deleting objects: the order of checks, versions, finalizers, generations.

Knows no kind in particular: what is special about one stands in its rules.
"""

from collections.abc import Callable
from datetime import datetime

import msgspec

from mooring.kube.twin import fitting, metadata, patches
from mooring.kube.twin.answers import Fault, Mistyped, Tree, fault_of_server, invalid, not_fitting_patch
from mooring.kube.twin.fitting import Place
from mooring.kube.twin.resources import Served, shaped
from mooring.kube.twin.storage import Record, record

NO_PRECONDITION = frozenset({"", "0"})


class Ledger:
    """The one row of versions that all kinds share, and the row of ids."""

    def __init__(self) -> None:
        self.version = 0
        self._ids = 0

    def next_version(self) -> int:
        self.version += 1
        return self.version

    def next_id(self) -> int:
        self._ids += 1
        return self._ids


class Writer:
    """Everything that changes objects. `changed` is told what was removed, and each change to what holds others."""

    def __init__(self, ledger: Ledger, clock: Callable[[], datetime], changed: Callable[[Served, str], None]) -> None:
        self._ledger = ledger
        self._clock = clock
        self._changed = changed

    def create(self, place: Place, body: bytes, *, check: Callable[[str], None]) -> Record:
        """Make an object from a body. `check` refuses namespaces in which nothing can be made."""
        return self.create_tree(place, fitting.sent_object(place.served.resource, body), check=check)

    def create_tree(self, place: Place, whole: Tree, *, check: Callable[[str], None]) -> Record:
        served = place.served
        tree = fitting.typed_object(served.resource, whole)
        meta = tree["metadata"]
        if "resourceVersion" in meta and place.name == "":
            raise fault_of_server("resourceVersion should not be set on objects to be created")
        fitting.check_namespace(place, meta)
        number = self._ledger.next_id()
        tree["metadata"] = meta = self._new_metadata(place, metadata.named(meta, number), number)
        place = msgspec.structs.replace(place, name=meta.get("name", ""))
        check(place.name)
        return self._store_new(place, tree)

    def _new_metadata(self, place: Place, meta: Tree, number: int) -> Tree:
        asked = {key: value for key, value in meta.items() if key not in metadata.RESTORED}
        asked.pop("resourceVersion", None)
        if place.served.resource.namespaced:
            asked["namespace"] = place.namespace
        if "generation" in meta:
            asked["generation"] = meta["generation"]
        uid = f"{number:08x}-0000-4000-8000-{number:012x}"
        return asked | {"uid": uid, "creationTimestamp": self._now()}

    def _store_new(self, place: Place, tree: Tree) -> Record:
        served, rules = place.served, place.served.resource.rules
        if served.resource.has_status and not served.resource.made_with_status:
            tree.pop("status", None)
            if "status" in served.resource.blank:
                tree["status"] = served.resource.blank["status"]
        tree = rules.completed(tree, None)
        resource = served.resource
        of_names = {"dotted": resource.dotted_names, "finalizers_have_domain": resource.finalizers_have_domain}
        self._refuse(place, [*metadata.faults(tree["metadata"], **of_names), *rules.faults(tree, None)])
        there = served.collection.records.get(place.key)
        if there is not None:
            raise served.speaker.already_exists(place.name, deleting=_deleting(there.tree))
        tree = rules.settled(tree, None)
        generation = rules.generation(tree, None)
        if generation is not None:
            tree["metadata"]["generation"] = generation
        new = served.collection.store(place.key, tree, self._ledger.next_version())
        if served.resource.holds_others:
            self._changed(served, place.key)
        return new

    def patch(self, place: Place, kind: str, body: bytes) -> Record:
        old, resource = self._there(place), place.served.resource
        patch = patches.decoded(kind, body)
        if kind == patches.MERGE:
            whole = patches.merged(old.tree, patch)
            if "kind" in patch or "apiVersion" in patch:
                fitting.check_patched_head(resource, resource.head | patch)
        else:
            whole = patches.carried_out(resource.head | old.tree, patch)
            if not isinstance(whole, dict):
                raise not_fitting_patch("not an object")
            fitting.check_patched_head(resource, whole)
        try:
            new = shaped(resource, whole, old.tree)
        except Mistyped as error:
            raise not_fitting_patch(str(error)) from None
        fitting.check_name(place, new["metadata"])
        return self._update(place, new, old)

    def put(self, place: Place, body: bytes, *, check: Callable[[str], None]) -> tuple[Record, bool]:
        """Put an object in the place of another; true if there was none and it was made."""
        served = place.served
        whole = fitting.sent_object(served.resource, body)
        new = fitting.typed_object(served.resource, whole)
        meta = new["metadata"]
        fitting.check_name(place, meta)
        old = served.collection.records.get(place.key)
        uid = meta.get("uid")
        if old is None:
            if not served.resource.created_by_put or place.part:
                raise served.speaker.not_found(place.name)
            if uid is not None:
                raise served.speaker.modified(place.name)
            return self.create_tree(place, whole, check=check), True
        if uid is not None and uid != old.tree["metadata"]["uid"]:
            raise served.speaker.conflict(place.name, f"Precondition failed: UID in precondition: {uid}")
        return self._update(place, new, old), False

    def _update(self, place: Place, new: Tree, old: Record) -> Record:
        """Store what was asked for, as far as this path may change it; the same as before is not stored."""
        served, rules = place.served, place.served.resource.rules
        asked, before = new["metadata"], old.tree
        if asked is not before["metadata"]:
            self._check_version(place, asked, old)
        tree = rules.completed(fitting.reachable(place, new, before), before)
        meta = tree["metadata"]
        faults: list[Fault] = []
        if meta is not before["metadata"]:
            faults += metadata.change_faults(asked, before["metadata"])
            faults += metadata.changeable_faults(meta, finalizers_have_domain=served.resource.finalizers_have_domain)
        faults += rules.faults(tree, before)
        self._refuse(place, faults)
        tree = rules.settled(tree, before)
        if "deletionTimestamp" in meta and "finalizers" not in meta and not served.resource.holds_others:
            self._remove(served, place.key)
            return record(place.key, tree, old.version)
        if tree == before:
            return old
        generation = rules.generation(tree, before)
        if generation is not None and generation != meta.get("generation"):
            tree["metadata"] = meta | {"generation": generation}
        stored = served.collection.store(place.key, tree, self._ledger.next_version())
        if served.resource.holds_others:
            self._changed(served, place.key)
        return stored

    def _check_version(self, place: Place, asked: Tree, old: Record) -> None:
        version = asked.get("resourceVersion", "")
        if version in NO_PRECONDITION and place.served.resource.needs_version:
            why = "must be specified for an update"
            raise place.served.speaker.invalid(place.name, [invalid("metadata.resourceVersion", 0, why)])
        if version in NO_PRECONDITION or version == old.tree["metadata"]["resourceVersion"]:
            return
        if not version.isdecimal():
            raise fault_of_server(f'strconv.ParseUint: parsing "{version}": invalid syntax')
        raise place.served.speaker.modified(place.name)

    def delete(self, place: Place, body: bytes = b"") -> tuple[Record, bool]:
        """Delete an object, or mark it if finalizers hold it; true if it is gone."""
        old = self._there(place)
        fitting.check_preconditions(place, old, body)
        return self.end(place.served, old)

    def end(self, served: Served, old: Record) -> tuple[Record, bool]:
        meta, holds = old.tree["metadata"], served.resource.holds_others
        if "finalizers" not in meta and not holds:
            return self._remove(served, old.key), True
        if "deletionTimestamp" in meta:
            return old, False
        meta = meta | {"deletionTimestamp": self._now()}
        tree = old.tree | {"metadata": meta}
        if not holds:
            meta["deletionGracePeriodSeconds"] = 0
        elif "phase" in old.tree.get("status", {}):
            tree["status"] = {"phase": "Terminating"}
        if "generation" in meta:
            meta["generation"] += 1
        marked = served.collection.store(old.key, tree, self._ledger.next_version())
        if holds:
            self._changed(served, old.key)
        return marked, False

    def remove_holder(self, served: Served, key: str) -> None:
        """Nothing lives in it any more: it goes, too."""
        self._remove(served, key)

    def _remove(self, served: Served, key: str) -> Record:
        served.resource.rules.released(served.collection.records[key].tree)
        gone = served.collection.remove(key, self._ledger.next_version())
        self._changed(served, key)
        return gone

    def _there(self, place: Place) -> Record:
        there = place.served.collection.records.get(place.key)
        if there is None:
            raise place.served.speaker.not_found(place.name)
        return there

    def _refuse(self, place: Place, faults: list[Fault]) -> None:
        if faults:
            raise place.served.speaker.invalid(place.name, faults)

    def _now(self) -> str:
        return self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")


def _deleting(tree: Tree) -> bool:
    return "deletionTimestamp" in tree["metadata"]
