"""A configuration as it was read: each value with where it comes from, and what is wrong with it."""

from typing import TypeAlias

from msgspec import Struct

from mooring.model.config import Config


class FromDefault(Struct, frozen=True, tag="default"):
    pass


class FromFile(Struct, frozen=True, tag="file"):
    file: str
    line: int


class FromEnvironment(Struct, frozen=True, tag="environment"):
    variable: str


Origin = FromDefault | FromFile | FromEnvironment

Value: TypeAlias = str | int | float | tuple[str, ...] | None
"""What a key can be; None where it may be left unset and is."""


class Setting(Struct, frozen=True):
    """One key's value in force and where it comes from. A table of a gateway is a section: `gateways.NAME`."""

    section: str
    key: str
    value: Value
    origin: Origin


class Problem(Struct, frozen=True):
    """One thing that is wrong with the configuration. A problem of the text as a whole has an empty key."""

    origin: FromFile | FromEnvironment
    key: str
    message: str


class Settings(Struct, frozen=True):
    """A configuration without problems."""

    config: Config
    list: tuple[Setting, ...]
