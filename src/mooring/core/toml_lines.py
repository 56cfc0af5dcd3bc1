"""On which line each key of a TOML text stands.

The standard library's parser tells values but not their lines. This scanner tells lines but not values: it follows
the grammar just closely enough to step over strings, comments, lists and inline tables. It judges nothing: where a text
is not TOML it ends, and what it has seen until there is the answer.
"""

import contextlib
import re
from typing import NamedTuple, TypeAlias

Path: TypeAlias = tuple[str, ...]

BLANK = re.compile(r"[ \t]*")
GAP = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
BARE = re.compile(r"[A-Za-z0-9_-]+")
STRING = re.compile(
    r"""
    \"{3} (?:[^\\]|\\.)*? \"{3,5} (?!\")   # multi-line, with escapes; may end in two quotes of its own
    | '{3} .*? '{3,5} (?!')                # multi-line, literal
    | \" (?P<basic> (?:[^\"\\\n]|\\.)* ) \"
    | ' (?P<literal> [^'\n]* ) '
    """,
    re.DOTALL | re.VERBOSE,
)
SCALAR = re.compile(r"[^\s,\]}#\[{=]+(?:[ ]\d[^\s,\]}#]*)?")  # a date and its time may stand apart
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
LAST_CHARACTER = 0x10FFFF
ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


class Place(NamedTuple):
    """A key or a table's header, and the line on which it stands."""

    path: Path
    line: int


class NotTomlError(Exception):
    """The text goes on in a way that cannot be followed."""


def places(text: str) -> tuple[Place, ...]:
    """Every key and header in the order of the text. Keys within lists are left out: they have no path of their own."""
    found: list[Place] = []
    with contextlib.suppress(NotTomlError):
        _document(text.replace("\r\n", "\n"), found)
    return tuple(found)


def line_of(path: Path, among: tuple[Place, ...]) -> int:
    """The line of a key; for a table, that of the first key or header that begins with its path."""
    return next((place.line for place in among if place.path[: len(path)] == path), 1)


def _document(text: str, found: list[Place]) -> None:
    table: Path = ()
    at = _after(GAP, text, 0)
    while at < len(text):
        if text[at] == "[":
            width = 2 if text.startswith("[[", at) else 1
            table, end = _key(text, at + width)
            found.append(Place(table, _line(text, at)))
            at = _expect("]" * width, text, end)
        else:
            at = _pair(text, at, table, found)
        at = _after(GAP, text, _after(REST_OF_LINE, text, at))


def _pair(text: str, at: int, table: Path, found: list[Place]) -> int:
    key, end = _key(text, at)
    found.append(Place(table + key, _line(text, at)))
    at = _after(BLANK, text, _expect("=", text, end))
    if text.startswith("{", at):
        return _inline_table(text, at + 1, table + key, found)
    if text.startswith("[", at):
        return _list(text, at + 1)
    return _string_or_scalar(text, at)


def _inline_table(text: str, at: int, table: Path, found: list[Place]) -> int:
    at = _after(GAP, text, at)
    while not text.startswith("}", at):
        at = _after(GAP, text, _pair(text, at, table, found))
        if not text.startswith("}", at):
            at = _after(GAP, text, _expect(",", text, at))
    return at + 1


def _list(text: str, at: int) -> int:
    """Where a list ends: brackets are counted, what stands between them does not matter."""
    depth = 1
    while depth:
        at = _after(GAP, text, at)
        sign = text[at : at + 1]
        depth += (sign in ("[", "{")) - (sign in ("]", "}"))
        at = at + 1 if sign in tuple("[]{},=") else _string_or_scalar(text, at)
    return at


def _key(text: str, at: int) -> tuple[Path, int]:
    """A dotted key and where it ends, blanks behind it included."""
    parts: list[str] = []
    while True:
        at = _after(BLANK, text, at)
        match = BARE.match(text, at) or STRING.match(text, at)
        if match is None:
            raise NotTomlError
        parts.append(_name(match))
        at = _after(BLANK, text, match.end())
        if not text.startswith(".", at):
            return tuple(parts), at
        at += 1


def _name(match: re.Match[str]) -> str:
    if match.re is BARE:
        return match.group()
    if match["literal"] is not None:
        return match["literal"]
    return ESCAPE.sub(_escaped, match["basic"] or "")


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 1:
        return ESCAPED.get(code, code)
    number = int(code[1:], 16)
    if number > LAST_CHARACTER:
        raise NotTomlError
    return chr(number)


def _string_or_scalar(text: str, at: int) -> int:
    return _after(STRING if text.startswith(('"', "'"), at) else SCALAR, text, at)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        raise NotTomlError
    return match.end()


def _expect(sign: str, text: str, at: int) -> int:
    if not text.startswith(sign, at):
        raise NotTomlError
    return at + len(sign)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
