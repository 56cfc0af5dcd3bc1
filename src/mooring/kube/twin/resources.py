"""What the twin knows about a kind: where it lives in the API, its fields, and the rules that its objects obey."""

from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import Struct

from mooring.kube.twin import metadata, selectors
from mooring.kube.twin.answers import Fault, Json, Speaker, Tree
from mooring.kube.twin.selectors import Field
from mooring.kube.twin.storage import Collection, Record

Shape = Callable[[Json], Json]
"""A field of an object as its kind holds it. None: as if it were absent. Raises Mistyped."""


class Rules:
    """What a kind does with its objects beyond storing them. A kind without rules of its own uses this one."""

    def completed(self, new: Tree, old: Tree | None) -> Tree:
        """The object with its defaults, and without what no longer applies."""
        del old
        return new

    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        """Why the object is refused. Parts that are the very same as the old one's need no look."""
        del new, old
        return iter(())

    def settled(self, new: Tree, old: Tree | None) -> Tree:
        """The object with what is given out from limited stock. The last thing that may refuse."""
        del old
        return new

    def released(self, old: Tree) -> None:
        """The object is gone; what it had may be given out again."""

    def restored(self, tree: Tree) -> None:
        """The object is there again; what it has is given out."""

    def generation(self, new: Tree, old: Tree | None) -> int | None:
        """The generation that the object has now; None if the kind does not count."""
        del new, old
        return None


class Resource(Struct, frozen=True):
    """A kind. `blank` is what every object of it has at least; `fields` are the parts besides metadata."""

    group: str
    version: str
    kind: str
    plural: str
    fields: Mapping[str, Shape]
    rules: Rules
    namespaced: bool = True
    blank: Mapping[str, Json] = {}
    has_status: bool = False
    """Status is written by a path of its own."""
    made_with_status: bool = False
    """Who makes an object may say its status at once."""
    status_path_writes_metadata: bool = False
    """That path changes labels, annotations and finalizers too."""
    dotted_names: bool = True
    finalizers_have_domain: bool = True
    custom: bool = False
    created_by_put: bool = False
    needs_version: bool = False
    """Who writes must say which version is replaced; an empty one is refused."""
    delete_answers_object: bool = False
    deletes_collections: bool = True
    holds_others: bool = False
    """Other objects live in it, and it ends only after them."""
    selectable: Mapping[str, Field] = selectors.OF_EVERY_KIND

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def place(self) -> str:
        """The path of all objects of the kind."""
        return f"/apis/{self.api_version}/{self.plural}" if self.group else f"/api/{self.version}/{self.plural}"

    @property
    def right(self) -> str:
        """The kind as rights name it."""
        return f"{self.group}/{self.plural}"

    @property
    def head(self) -> Tree:
        return {"kind": self.kind, "apiVersion": self.api_version}


class Served:
    """A kind with its objects, and the bytes and words that all answers about it have in common."""

    def __init__(self, resource: Resource, *, since: int, window: int) -> None:
        self.resource = resource
        self.speaker = Speaker(resource.group, resource.kind, resource.plural)
        self.prefix = msgspec.json.encode(resource.head)[:-1] + b","
        self.collection = Collection(self.prefix, since=since, window=window)

    def body(self, record: Record) -> bytes:
        """An object as it is answered."""
        return self.prefix + record.inner[1:]

    def item(self, record: Record) -> bytes:
        """An object as it stands in a list: built-in kinds leave out there what the list says already."""
        return self.body(record) if self.resource.custom else record.inner


def shaped(resource: Resource, whole: Tree, old: Tree | None) -> Tree:
    """An object with only the fields of its kind. Parts that are the very same as the old one's are not looked at."""
    meta = whole.get("metadata")
    same = old is not None and meta is old["metadata"]
    tree: Tree = {"metadata": meta if same else metadata.shaped(meta)}
    for name, shape in resource.fields.items():
        value = whole.get(name)
        if old is None or value is None or value is not old.get(name):
            value = shape(value)
        if value is not None:
            tree[name] = value
        elif name in resource.blank:
            tree[name] = resource.blank[name]
    return tree


def anything(value: Json) -> Json:
    """A field that is taken as it comes."""
    return value
