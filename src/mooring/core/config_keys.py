"""The keys of the configuration, read off the structs that hold them.

Knows how a key is called in the file and in the environment, what is allowed for it and what it is without either.
"""

import typing
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from mooring.model.config import Config

Hint: TypeAlias = Any  # what stands behind a field's colon; Python's type system has no name for it


class Section(msgspec.Struct, frozen=True):
    name: str
    description: str
    keys: "tuple[Key, ...]"


class Key(msgspec.Struct, frozen=True):
    section: str
    name: str
    description: str
    allowed: str
    default: str | None
    type: Hint

    @property
    def path(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that goes before the file."""
        return f"MOORING_{self.section}_{self.name}".upper()


def sections() -> tuple[Section, ...]:
    default = Config()
    return tuple(
        Section(name=name, description=_meta(hint).description or "", keys=_keys(name, getattr(default, name)))
        for name, hint in _hints(Config).items()
    )


def _keys(section: str, default: msgspec.Struct) -> tuple[Key, ...]:
    return tuple(
        Key(
            section=section,
            name=name,
            description=_meta(hint).description or "",
            allowed=_allowed(hint),
            default=getattr(default, name),
            type=hint,
        )
        for name, hint in _hints(type(default)).items()
    )


def config_of(values: Mapping[str, Mapping[str, str | None]]) -> Config:
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
