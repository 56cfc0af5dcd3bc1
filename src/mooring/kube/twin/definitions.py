"""CustomResourceDefinitions, and the kinds that they bring into being."""

from collections.abc import Callable, Iterator
from datetime import datetime

from mooring.kube.twin import schema
from mooring.kube.twin.answers import Fault, Json, Tree, invalid, not_known_here, required, unsupported
from mooring.kube.twin.resources import Resource, Rules, anything
from mooring.kube.twin.schema import Node

SCOPES = ("Cluster", "Namespaced")


class DefinitionRules(Rules):
    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def completed(self, new: Tree, old: Tree | None) -> Tree:
        spec = new.get("spec") or {}
        names = spec.get("names", {})
        if "kind" in names:
            names = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
        new = new | {"spec": spec | {"names": names, "conversion": spec.get("conversion", {"strategy": "None"})}}
        if old is None:
            new["status"] = self._established(spec, names)
        return new

    def _established(self, spec: Tree, names: Tree) -> Tree:
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        reasons = {"NamesAccepted": "NoConflicts", "Established": "InitialNamesAccepted"}
        return {
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": "accepted"}
                for kind, reason in reasons.items()
            ],
            "acceptedNames": names,
            "storedVersions": [each.get("name", "") for each in spec.get("versions", ()) if each.get("storage")],
        }

    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        del old
        spec = new["spec"]
        names, name = spec["names"], f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"
        for field in ("plural", "kind"):
            if not names.get(field):
                yield required(f"spec.names.{field}")
        if not spec.get("group"):
            yield required("spec.group")
        if new["metadata"].get("name") != name:
            yield invalid("metadata.name", new["metadata"].get("name"), "must be spec.names.plural+'.'+spec.group")
        if spec.get("scope") not in SCOPES:
            yield unsupported("spec.scope", spec.get("scope", ""), SCOPES)
        if not spec.get("versions"):
            yield required("spec.versions")
        for number, version in enumerate(spec.get("versions", ())):
            if not version.get("schema", {}).get("openAPIV3Schema"):
                yield required(f"spec.versions[{number}].schema.openAPIV3Schema")

    def settled(self, new: Tree, old: Tree | None) -> Tree:
        del old
        defined(new)  # a definition that the twin cannot follow is not stored either
        return new

    def generation(self, new: Tree, old: Tree | None) -> int | None:
        return _counted(new, old, but={"metadata", "status"})


def definitions(clock: Callable[[], datetime]) -> Resource:
    return Resource(
        group="apiextensions.k8s.io",
        version="v1",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        namespaced=False,
        fields={"spec": anything, "status": anything},
        rules=DefinitionRules(clock),
        has_status=True,
        needs_version=True,
        holds_others=True,
    )


class CustomRules(Rules):
    """The rules of a kind that a schema describes."""

    def __init__(self, root: Node, *, has_status: bool) -> None:
        self._root = root
        self._counts = {"metadata", "status"} if has_status else {"metadata"}

    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        for key in self._root.words.get("required", ()):
            if key not in new:
                yield required(key)
        for key, node in self._root.properties.items():
            if key in new and (old is None or new[key] is not old.get(key)):
                yield from schema.faults(node, new[key], key)

    def generation(self, new: Tree, old: Tree | None) -> int | None:
        return _counted(new, old, but=self._counts)


def _counted(new: Tree, old: Tree | None, *, but: set[str]) -> int:
    if old is None:
        return 1
    count: int = old["metadata"]["generation"]
    if all(new.get(key) == old.get(key) for key in (new.keys() | old.keys()) - but):
        return count
    return count + 1


def defined(definition: Tree) -> Resource:
    """The kind that a definition describes. One served version is all that the twin understands."""
    spec = definition["spec"]
    served = [version for version in spec["versions"] if version.get("served")]
    if len(served) != 1:
        raise not_known_here("definitions with several served versions, or none")
    version = served[0]
    root = schema.compiled(version["schema"]["openAPIV3Schema"])
    has_status = "status" in version.get("subresources", {})
    ignored = {"apiVersion", "kind", "metadata"}
    if root.open or "default" in root.words:
        raise not_known_here("schemas that are open or have defaults at the root")
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        namespaced=spec["scope"] == "Namespaced",
        fields={name: _shape(node) for name, node in root.properties.items() if name not in ignored},
        rules=CustomRules(root, has_status=has_status),
        has_status=has_status,
        custom=True,
        finalizers_have_domain=False,
        needs_version=True,
    )


def _shape(node: Node) -> Callable[[Json], Json]:
    def shaped(value: Json) -> Json:
        if value is None:
            return None if "default" not in node.words else schema.filled(node, node.words["default"])
        return schema.filled(node, value)

    return shaped
