"""One value of the configuration: taken from what was given, judged, and written as TOML again.

A key's type and pattern are judged by msgspec; what a pattern cannot tell, such as that 999.1.1.1 is no address, by the
functions in HOLDS; a range of addresses can be wrong in so many ways that what is wrong is told.

wanted        given in the file  given in the environment
------------  -----------------  ------------------------
text          a text             the text
whole number  a whole number     digits, perhaps with a sign
number        any number         a number in decimals
truth value   true or false      true or false
list          a list of texts    texts with commas between them; nothing is the empty list
"""

import ipaddress
import json
import re
import typing
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.core import ranges
from mooring.core.config_keys import Hint, Key
from mooring.model.settings import Value

WHOLE = re.compile(r"[+-]?[0-9]{1,18}")  # more figures than any key allows
NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
TRUTHS = {"true": True, "false": False}
HOST_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
HOST_LENGTH = 253
LAST_PORT = 65535

# What the parser makes of a value, in the words of somebody who writes a file.
KINDS = {bool: "a truth value", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


class RefusedValue(Exception):
    """The value does not fit its key. The text shows what was given, or the part of it that does not fit."""


def taken(key: Key, given: object) -> Value:
    """The value for a key. Raises RefusedValue."""
    if not _is_list(key):
        value: Value = _one(key, given, key.type)
        return value
    if not isinstance(given, list):
        raise RefusedValue(f"the text {as_toml(given)}" if isinstance(given, str) else _shown(key, given))
    item = typing.get_args(key.plain_type)[0]
    return tuple(_one(key, each, item) for each in given)


def from_text(key: Key, text: str) -> str | int | float | list[str]:
    """What a text of the environment stands for. What is no number stays a text, and is refused as one."""
    if key.plain_type is int and WHOLE.fullmatch(text.strip()):
        return int(text)
    if key.plain_type is bool and text.strip() in TRUTHS:
        return TRUTHS[text.strip()]
    if key.plain_type is float and NUMBER.fullmatch(text.strip()):
        return float(text)
    if _is_list(key):
        return [part.strip() for part in text.split(",")] if text.strip() else []
    return text


def as_toml(value: str | float | tuple[str, ...]) -> str:
    """A value as it stands in a file. A basic string of TOML is JSON's, but for DEL, which JSON leaves as it is."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value).lower() if isinstance(value, bool) else repr(value)


def kind(value: object) -> str:
    """A value that is out of place: a text as it is, the others by what they are."""
    return as_toml(value) if isinstance(value, str) else KINDS.get(type(value), "a date or time")


def _one(key: Key, given: object, hint: Hint) -> Any:  # noqa: ANN401 - the hint decides the type
    try:
        value = msgspec.convert(given, type=hint)
    except msgspec.ValidationError as error:
        raise RefusedValue(_shown(key, given)) from error
    if key.holds == "range":
        try:
            ranges.read(value)
        except ValueError as error:
            raise RefusedValue(f"{_shown(key, given)} ({error})") from error
    elif key.holds is not None and not HOLDS[key.holds](value):
        raise RefusedValue(_shown(key, given))
    return value


def _shown(key: Key, given: object) -> str:
    """A number is shown as itself only where one is wanted: elsewhere it matters that it is one."""
    if key.plain_type not in (int, float):
        return kind(given)
    if isinstance(given, str):
        return f"the text {as_toml(given)}"
    short = isinstance(given, float) or (type(given) is int and abs(given) < 10**18)
    return repr(given) if short else kind(given)


def _is_list(key: Key) -> bool:
    origin: Hint = typing.get_origin(key.plain_type)
    return origin is tuple


def _is_v4(text: str) -> bool:
    return _parses(ipaddress.IPv4Address, text)


def _is_v4_or_nothing(text: str) -> bool:
    return not text or _is_v4(text)


def _is_endpoint(text: str) -> bool:
    host, _, port = text.rpartition(":")
    if not 1 <= int(port) <= LAST_PORT:
        return False
    if host.startswith("["):
        return _parses(ipaddress.IPv6Address, host.strip("[]"))
    labels = host.removesuffix(".").split(".")
    if labels[-1].isdecimal():  # no top-level domain is a number, so this is meant as an address
        return _is_v4(host)
    return len(host) <= HOST_LENGTH and all(HOST_LABEL.fullmatch(label) for label in labels)


def _is_also(text: str) -> bool:
    """An address and the interface that it is for."""
    return _parses(ipaddress.ip_address, text.partition(" ")[0])


def _parses(parser: Callable[[str], object], text: str) -> bool:
    try:
        parser(text)
    except ValueError:
        return False
    return True


HOLDS = {
    "endpoint": _is_endpoint,
    "v4": _is_v4,
    "v4 or nothing": _is_v4_or_nothing,
    "also": _is_also,
}
