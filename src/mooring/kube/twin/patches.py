"""Patches on trees: JSON merge patch (RFC 7386) and JSON patch (RFC 6902) as the API server understands them.

What is patched stays as it is. A merge patch's outcome shares every part that it did not touch, so that whoever comes
after can tell by identity what may have changed.
"""

import copy
from http import HTTPStatus

import msgspec

from mooring.kube.twin.answers import Json, Refusal, Tree, bad_request, unworkable_patch

MERGE = "application/merge-patch+json"
LIST = "application/json-patch+json"
LONGEST = 10_000


def decoded(kind: str, body: bytes) -> Json:
    """The patch in a body: a mapping for a merge patch, a list of operations for the other."""
    try:
        patch = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    wanted = dict if kind == MERGE else list
    if not isinstance(patch, wanted):
        raise bad_request(f"error decoding patch: cannot unmarshal {type(patch).__name__}")
    if isinstance(patch, list) and len(patch) > LONGEST:
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", "The allowed maximum is 10000")
    return patch


def merged(old: Tree, patch: Tree) -> Tree:
    """The tree with the patch's fields set, merged or, where they are null, taken away."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            before = old.get(key)
            new[key] = merged(before if isinstance(before, dict) else {}, value)
        else:
            new[key] = value
    return new


def carried_out(old: Tree, operations: list[Json]) -> Json:
    """The tree after each operation in turn; any that cannot be done refuses them all."""
    new: Json = copy.deepcopy(old)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise unworkable_patch()
        new = _after(new, operation)
    return new


def _after(tree: Json, operation: Tree) -> Json:
    path = _steps(operation["path"])
    match operation.get("op"):
        case "add":
            return _added(tree, path, operation.get("value"))
        case "replace":
            return _replaced(tree, path, operation.get("value"))
        case "remove":
            _removed(tree, path)
            return tree
        case "test":
            if _at(tree, path, absent=None) != operation.get("value"):
                raise unworkable_patch()
            return tree
        case "move":
            return _added(tree, path, _removed(tree, _steps(operation.get("from"))))
        case "copy":
            return _added(tree, path, copy.deepcopy(_at(tree, _steps(operation.get("from")))))
    raise unworkable_patch()


def _steps(path: Json) -> list[str]:
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise unworkable_patch()
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


_NEEDED = object()


def _at(tree: Json, path: list[str], *, absent: Json = _NEEDED) -> Json:
    for step in path:
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        elif absent is _NEEDED:
            raise unworkable_patch()
        else:
            return absent
    return tree


def _added(tree: Json, path: list[str], value: Json) -> Json:
    if not path:
        return value
    parent, last = _at(tree, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and (last == "-" or (last.isdigit() and int(last) <= len(parent))):
        parent.insert(len(parent) if last == "-" else int(last), value)
    else:
        raise unworkable_patch()
    return tree


def _replaced(tree: Json, path: list[str], value: Json) -> Json:
    """A key that a mapping lacks may be replaced all the same: the API server lets it pass."""
    if not path:
        return value
    parent, last = _at(tree, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list) and last.isdigit() and int(last) < len(parent):
        parent[int(last)] = value
    else:
        raise unworkable_patch()
    return tree


def _removed(tree: Json, path: list[str]) -> Json:
    if not path:
        raise unworkable_patch()
    parent, last = _at(tree, path[:-1]), path[-1]
    if isinstance(parent, dict) and last in parent:
        return parent.pop(last)
    if isinstance(parent, list) and last.isdigit() and int(last) < len(parent):
        return parent.pop(int(last))
    raise unworkable_patch()
