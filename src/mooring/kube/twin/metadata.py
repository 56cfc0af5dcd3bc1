"""The metadata of every object: what the API server fills in, what it keeps, and what it lets nobody change."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from mooring.kube.twin import names
from mooring.kube.twin.answers import Fault, Json, Mistyped, Tree, forbidden, invalid, required

SUFFIX_LENGTH = 5
SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
LONGEST_PREFIX = names.LABEL_LENGTH - SUFFIX_LENGTH
RESTORED = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "namespace")


class OwnerReference(Struct, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Shape(Struct, rename="camel", omit_defaults=True):
    """The fields that metadata has. Others are dropped without a word."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []


def shaped(value: Json) -> Tree:
    """Metadata with only its own fields and without empty ones."""
    return fitted(value or {}, Shape)


def fitted(value: Json, shape: type[Struct]) -> Tree:
    """A mapping as a struct of the server would hold it: unknown fields dropped, null the same as absent."""
    try:
        held = msgspec.convert(value, shape)
    except msgspec.ValidationError:
        try:
            held = msgspec.convert(_without_nulls(value), shape)
        except msgspec.ValidationError as error:
            raise Mistyped(str(error)) from None
    tree: Tree = msgspec.to_builtins(held)
    return tree


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def named(meta: Tree, number: int) -> Tree:
    """A name for an object that only has a beginning of one."""
    if "name" in meta or "generateName" not in meta:
        return meta
    return {**meta, "name": meta["generateName"][:LONGEST_PREFIX] + suffix(number)}


def suffix(number: int) -> str:
    letters = []
    for _ in range(SUFFIX_LENGTH):
        number, letter = divmod(number, len(SUFFIX_LETTERS))
        letters.append(SUFFIX_LETTERS[letter])
    return "".join(reversed(letters))


def faults(meta: Tree, *, dotted: bool, finalizers_have_domain: bool) -> Iterator[Fault]:
    """What is wrong with an object's metadata by itself; names of some kinds may have dots."""
    name = meta.get("name", "")
    if not name:
        yield required("metadata.name")
    elif dotted and not names.is_subdomain(name):
        yield invalid("metadata.name", name, names.BAD_SUBDOMAIN)
    elif not dotted and not names.is_label(name):
        yield invalid("metadata.name", name, names.BAD_LABEL)
    yield from changeable_faults(meta, finalizers_have_domain=finalizers_have_domain)


def changeable_faults(meta: Tree, *, finalizers_have_domain: bool) -> Iterator[Fault]:
    if "labels" in meta:
        yield from names.label_faults("metadata.labels", meta["labels"])
    if "annotations" in meta:
        yield from names.annotation_faults("metadata.annotations", meta["annotations"])
    if "finalizers" in meta:
        finalizers = meta["finalizers"]
        yield from names.finalizer_faults("metadata.finalizers", finalizers, with_domain=finalizers_have_domain)
    for owner in meta.get("ownerReferences", ()):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                yield required(f"metadata.ownerReferences.{field}")


def kept(new: Tree, old: Tree) -> Tree:
    """New metadata with what is the server's alone taken from the old."""
    meta = {key: value for key, value in new.items() if key not in RESTORED}
    meta.update((key, old[key]) for key in RESTORED if key in old)
    meta["resourceVersion"] = old["resourceVersion"]
    return meta


def change_faults(new: Tree, old: Tree) -> Iterator[Fault]:
    """What may not be asked of an object that exists. `new` is what was asked for."""
    if new.get("uid", old["uid"]) != old["uid"]:
        yield invalid("metadata.uid", new["uid"], "field is immutable")
    if "deletionTimestamp" in new and "deletionTimestamp" not in old:
        yield invalid("metadata.deletionTimestamp", new["deletionTimestamp"], "field is immutable")
    grace = new.get("deletionGracePeriodSeconds")
    if grace is not None and grace != old.get("deletionGracePeriodSeconds"):
        yield invalid("metadata.deletionGracePeriodSeconds", grace, "field is immutable")
    if "deletionTimestamp" in old:
        added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
        if added:
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            yield forbidden("metadata.finalizers", why)
