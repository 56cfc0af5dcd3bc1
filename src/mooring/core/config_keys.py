"""The keys of the configuration, read off the structs that hold them.

Knows how a key is called in the file and in the environment, what is allowed for it and what it is without either.
"""

import typing
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from mooring.model.config import Config
from mooring.model.settings import Value

Hint: TypeAlias = Any  # what stands behind a field's colon; Python's type system has no name for it

NAME = "NAME"
"""Stands in a path where a file has a name of the operator's choice."""


class Section(msgspec.Struct, frozen=True):
    """A table of the file, or one that holds such a table for each name (`named`)."""

    name: str
    description: str
    keys: "tuple[Key, ...]"
    named: bool = False

    @property
    def header(self) -> str:
        return f"{self.name}.{NAME}" if self.named else self.name

    def keys_of(self, name: str) -> "tuple[Key, ...]":
        """The keys of one of the named tables."""
        return tuple(msgspec.structs.replace(key, section=f"{self.name}.{name}") for key in self.keys)


class Key(msgspec.Struct, frozen=True):
    """One key. `variable` goes before the file; where names are chosen in the file there is none."""

    section: str
    name: str
    description: str
    allowed: str
    default: Value
    type: Hint
    required: bool = False
    variable: str | None = None

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def parts(self) -> tuple[str, ...]:
        """The way through the tables. No name in it has a dot."""
        return (*self.section.split("."), self.name)

    @property
    def holds(self) -> str | None:
        """What a text has to be beyond its pattern."""
        return (_meta(self.type).extra or {}).get("holds")

    @property
    def plain_type(self) -> Hint:
        """`str`, `int`, `float`, or the type of a list or a closed list."""
        return _annotated(self.type).__origin__


def sections() -> tuple[Section, ...]:
    return tuple(_section(name, hint) for name, hint in _hints(Config).items())


def _section(name: str, hint: Hint) -> Section:
    description = _meta(hint).description or ""
    inner = _annotated(hint).__origin__
    if typing.get_origin(inner) is None:
        return Section(name, description, _keys(name, inner))
    _, struct = typing.get_args(inner)
    return Section(name, description, _keys(f"{name}.{NAME}", struct, variables=False), named=True)


def _keys(section: str, struct: type[msgspec.Struct], *, variables: bool = True) -> tuple[Key, ...]:
    hints = _hints(struct)
    return tuple(
        Key(
            section=section,
            name=field.name,
            description=_meta(hints[field.name]).description or "",
            allowed=_allowed(hints[field.name]),
            default=None if field.required else field.default,
            type=hints[field.name],
            required=field.required,
            variable=f"MOORING_{section}_{field.name}".upper() if variables else None,
        )
        for field in msgspec.structs.fields(struct)
    )


def config_of(values: Mapping[str, Mapping[str, Any]]) -> Config:
    """The configuration from values that have been checked one by one."""
    return msgspec.convert(values, Config)


def _hints(struct: type[msgspec.Struct]) -> dict[str, Hint]:
    return typing.get_type_hints(struct, include_extras=True)


def _annotated(hint: Hint) -> Hint:
    """The documented type itself, also where the key may be left unset (`... | None`)."""
    return hint if hasattr(hint, "__metadata__") else typing.get_args(hint)[0]


def _meta(hint: Hint) -> msgspec.Meta:
    meta: msgspec.Meta = _annotated(hint).__metadata__[0]
    return meta


def _allowed(hint: Hint) -> str:
    extra = _meta(hint).extra or {}
    if "allowed" in extra:
        return str(extra["allowed"])
    closed_list = typing.get_args(_annotated(hint).__origin__)
    return ", ".join(f'"{value}"' for value in closed_list)
