"""Label and field selectors: the text of a request, read once, as a question to ask of each object."""

import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mooring.kube.twin import names
from mooring.kube.twin.answers import Tree, bad_request

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]
FieldTest = Callable[[Tree], bool]
Field = Callable[[Tree], str]

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_WORD = re.compile(r"[^\s=!<>(),]+")


class _Tokens:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text.rstrip())

    def peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def take(self, *wanted: str) -> str:
        """The next token, which is one of these, or a word if none is named."""
        token = self._tokens.pop(0) if self._tokens else ""
        if (token not in wanted) if wanted else (_WORD.fullmatch(token) is None):
            raise bad_request(f"unable to parse requirement: found '{token}', expected: {wanted or 'identifier'}")
        return token


@functools.lru_cache(maxsize=1024)
def label_test(text: str) -> LabelTest:
    """The conditions of a label selector; all of them must hold."""
    tokens = _Tokens(text)
    tests = [_requirement(tokens)]
    while tokens.peek():
        tokens.take(",")
        tests.append(_requirement(tokens))
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _requirement(tokens: _Tokens) -> LabelTest:
    if tokens.peek() == "!":
        tokens.take("!")
        absent = _key(tokens)
        return lambda labels: absent not in labels
    key = _key(tokens)
    if tokens.peek() in {"", ","}:
        return lambda labels: key in labels
    operator = tokens.take("=", "==", "!=", "in", "notin", ">", "<")
    if operator in {">", "<"}:
        return _comparison(key, operator, _value(tokens))
    values = _values(tokens) if operator in {"in", "notin"} else frozenset({_value(tokens)})
    if operator in {"!=", "notin"}:
        return lambda labels: labels.get(key) not in values
    return lambda labels: labels.get(key) in values


def _key(tokens: _Tokens) -> str:
    key = tokens.take()
    if not names.is_qualified(key):
        raise bad_request(f'unable to parse requirement: <nil>: Invalid value: "{key}": {names.BAD_WORD}')
    return key


def _value(tokens: _Tokens) -> str:
    value = "" if tokens.peek() in {"", ",", ")"} else tokens.take()
    if not names.is_label_value(value):
        raise bad_request(f'unable to parse requirement: Invalid value: "{value}": {names.BAD_VALUE}')
    return value


def _values(tokens: _Tokens) -> frozenset[str]:
    tokens.take("(")
    values = {_value(tokens)}
    while tokens.take(",", ")") == ",":
        values.add(_value(tokens))
    return frozenset(values)


def _comparison(key: str, operator: str, text: str) -> LabelTest:
    try:
        limit = int(text)
    except ValueError:
        raise bad_request("for 'Gt', 'Lt' operators, the value must be an integer") from None

    def holds(labels: Labels) -> bool:
        try:
            value = int(labels[key])
        except (KeyError, ValueError):
            return False
        return value > limit if operator == ">" else value < limit

    return holds


def field_test(text: str, fields: Mapping[str, Field]) -> FieldTest:
    """The conditions of a field selector, over the few fields that a kind lets itself be selected by."""
    tests: list[tuple[Field, str, bool]] = []
    for part in text.split(","):
        if not part:
            continue
        match = re.fullmatch(r"([^=!]*)(==|!=|=)(.*)", part)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = match.groups()
        if name not in fields:
            raise bad_request(f"field label not supported: {name}")
        tests.append((fields[name], value, operator != "!="))
    return lambda tree: all((field(tree) == value) is equal for field, value, equal in tests)


def field(*path: str) -> Field:
    """The text at a place of a tree; empty if there is none."""

    def read(tree: Tree) -> str:
        value: object = tree
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return "" if value is None else str(value)

    return read


OF_EVERY_KIND: Mapping[str, Field] = MappingProxyType(
    {"metadata.name": field("metadata", "name"), "metadata.namespace": field("metadata", "namespace")}
)
