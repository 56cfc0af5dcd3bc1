"""Structural schemas of custom resources: unknown fields pruned, defaults filled in, values checked.

A schema is compiled once into a tree of nodes. It knows the words that our own definitions use and refuses others: a
rule that is silently not checked would make the twin more patient than the server.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from mooring.kube.twin.answers import Fault, Json, Tree, invalid, not_known_here, required, unsupported

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
KNOWN = frozenset(
    {
        "type",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "enum",
        "default",
        "nullable",
        "pattern",
        "format",
        "title",
        "description",
        "example",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
    }
)


class Node(Struct, frozen=True):
    """One place of a schema. `types` is empty where any type may stand."""

    types: tuple[str, ...]
    words: Tree
    properties: "Mapping[str, Node]"
    items: "Node | None"
    additional: "Node | None"
    open: bool
    pattern: re.Pattern[str] | None

    @property
    def nullable(self) -> bool:
        return bool(self.words.get("nullable"))


def compiled(words: Tree) -> Node:
    for word in words:
        if word not in KNOWN:
            raise not_known_here(f"the word {word} of a schema")
    types: tuple[str, ...] = (words["type"],) if "type" in words else ()
    if words.get("x-kubernetes-int-or-string"):
        types = ("integer", "string")
    additional = words.get("additionalProperties")
    return Node(
        types=types,
        words=words,
        properties={name: compiled(part) for name, part in words.get("properties", {}).items()},
        items=compiled(words["items"]) if "items" in words else None,
        additional=compiled(additional) if isinstance(additional, dict) else None,
        open=additional is True or bool(words.get("x-kubernetes-preserve-unknown-fields")),
        pattern=re.compile(words["pattern"]) if "pattern" in words else None,
    )


def filled(node: Node, value: Json) -> Json:
    """A value with only the fields that the schema has, and with its defaults."""
    if isinstance(value, dict):
        return _filled_mapping(node, value)
    if isinstance(value, list) and node.items is not None:
        return [filled(node.items, item) for item in value]
    return value


def _filled_mapping(node: Node, value: Tree) -> Tree:
    new: Tree = {}
    for key, part in value.items():
        inner = node.properties.get(key) or node.additional
        if inner is None:
            if node.open:
                new[key] = part
        elif part is not None or inner.nullable:
            new[key] = filled(inner, part)
    for key, inner in node.properties.items():
        if key not in new and "default" in inner.words:
            new[key] = filled(inner, inner.words["default"])
    return new


def faults(node: Node, value: Json, path: str) -> Iterator[Fault]:
    """What a filled value does not keep of its schema."""
    if value is None and node.nullable:
        return
    if node.types and not any(_is(name, value) for name in node.types):
        why = f'{path} in body must be of type {",".join(node.types)}: "{_type_of(value)}"'
        yield Fault("FieldValueTypeInvalid", path, f'Invalid value: "{_type_of(value)}": {why}')
        return
    if "enum" in node.words and value not in node.words["enum"]:
        yield unsupported(path, value, [str(each) for each in node.words["enum"]])
    if isinstance(value, dict):
        yield from _mapping_faults(node, value, path)
    elif isinstance(value, list):
        yield from _list_faults(node, value, path)
    elif isinstance(value, str):
        yield from _text_faults(node, value, path)
    elif not isinstance(value, bool):
        yield from _number_faults(node, value, path)


def _is(name: str, value: Json) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def _type_of(value: Json) -> str:
    if value is None:
        return "null"
    return next(name for name in ("boolean", "integer", "number", "string", "array", "object") if _is(name, value))


def _mapping_faults(node: Node, value: Tree, path: str) -> Iterator[Fault]:
    dot = f"{path}." if path else ""
    for key in node.words.get("required", ()):
        if key not in value:
            yield required(dot + key)
    yield from _size_faults(node, len(value), path, unit="Properties")
    for key, part in value.items():
        inner = node.properties.get(key) or node.additional
        if inner is not None:
            yield from faults(inner, part, dot + key)


def _list_faults(node: Node, value: list[Json], path: str) -> Iterator[Fault]:
    yield from _size_faults(node, len(value), path, unit="Items")
    if node.items is not None:
        for number, item in enumerate(value):
            yield from faults(node.items, item, f"{path}[{number}]")


def _text_faults(node: Node, value: str, path: str) -> Iterator[Fault]:
    yield from _size_faults(node, len(value), path, unit="Length")
    if node.pattern is not None and node.pattern.search(value) is None:
        yield invalid(path, value, f"{path} in body should match '{node.pattern.pattern}'")
    if node.words.get("format") == "date-time" and not _is_time(value):
        why = f'Invalid value: "{value}": {path} in body must be of type date-time: "{value}"'
        yield Fault("FieldValueTypeInvalid", path, why)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _size_faults(node: Node, size: int, path: str, *, unit: str) -> Iterator[Fault]:
    least, most = node.words.get(f"min{unit}", 0), node.words.get(f"max{unit}")
    if size < least:
        yield invalid(path, size, f"{path} in body should have at least {least} {unit}")
    if most is not None and size > most:
        reason = "FieldValueTooLong" if unit == "Length" else "FieldValueTooMany"
        yield Fault(reason, path, f"Too many: {size}: must have at most {most}")


def _number_faults(node: Node, value: float, path: str) -> Iterator[Fault]:
    least, most = node.words.get("minimum"), node.words.get("maximum")
    if least is not None and (value < least or (value == least and node.words.get("exclusiveMinimum"))):
        yield invalid(path, value, f"{path} in body should be greater than or equal to {least}")
    if most is not None and (value > most or (value == most and node.words.get("exclusiveMaximum"))):
        yield invalid(path, value, f"{path} in body should be less than or equal to {most}")
