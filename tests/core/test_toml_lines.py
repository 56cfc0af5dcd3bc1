"""Lines of keys: a table of every way to write one, and a comparison with what the parser finds."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import toml_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("# [a]\n\n", [], id="comments only"),
        pytest.param("a = 1\nb=2", [(("a",), 1), (("b",), 2)], id="bare keys"),
        pytest.param("\r\na = 1\r\nb = 2\r\n", [(("a",), 2), (("b",), 3)], id="lines that end in CR LF"),
        pytest.param("  a . b = 1 # c\n", [(("a", "b"), 1)], id="dotted with blanks"),
        pytest.param("\"a.b\".'c d' = 1", [(("a.b", "c d"), 1)], id="quoted"),
        pytest.param(r'"a\"\u0062\U00000063\t\\" = 1', [(('a"bc\t\\',), 1)], id="escapes in a key"),
        pytest.param(
            "[t]\na = 1\n[ t . u ] # x\nb = 2",
            [(("t",), 1), (("t", "a"), 2), (("t", "u"), 3), (("t", "u", "b"), 4)],
            id="tables",
        ),
        pytest.param(
            "[[t]]\na = 1\n[[t]]\na = 2",
            [(("t",), 1), (("t", "a"), 2), (("t",), 3), (("t", "a"), 4)],
            id="lists of tables",
        ),
        pytest.param(
            "t = { a = 1, b.c = { d = 2 } }\ne = 3",
            [(("t",), 1), (("t", "a"), 1), (("t", "b", "c"), 1), (("t", "b", "c", "d"), 1), (("e",), 2)],
            id="inline tables",
        ),
        pytest.param("t = {}\na = 1", [(("t",), 1), (("a",), 2)], id="empty inline table"),
        pytest.param('a = """\nb = 1\n"""\nc = 1', [(("a",), 1), (("c",), 4)], id="multi-line string"),
        pytest.param(
            'a = """x\\"""y"""""\nc = 1',
            [(("a",), 1), (("c",), 2)],
            id="quotes within and at the end of a multi-line string",
        ),
        pytest.param("a = '''\n\\''''\nc = 1", [(("a",), 1), (("c",), 3)], id="multi-line literal string"),
        pytest.param('a = "[b] # = \\" c"\nd = \'"\'', [(("a",), 1), (("d",), 2)], id="signs within strings"),
        pytest.param('a = [\n 1, # ]\n ["]", { b = 2 }],\n]\nc = 1', [(("a",), 1), (("c",), 5)], id="lists"),
        pytest.param(
            "a = 1979-05-27 07:32:00Z\nb = +1e3\nc = true", [(("a",), 1), (("b",), 2), (("c",), 3)], id="scalars"
        ),
    ],
)
def test_each_way_to_write_a_key(text: str, expected: list[tuple[toml_lines.Path, int]]) -> None:
    tomllib.loads(text)
    assert [tuple(place) for place in toml_lines.places(text)] == expected


@pytest.mark.parametrize(
    "rest",
    [
        "b",
        "b =",
        "b = 'x",
        'b = "x',
        "b = [1",
        "b = {c = 1",
        "b = {c = 1 d = 2}",
        "[b",
        "= 1",
        "b = 1 c = 2",
        '"\\UFFFFFFFF" = 1',
    ],
)
def test_what_stands_before_the_first_error_is_found(rest: str) -> None:
    found = toml_lines.places(f"a = 1\n{rest}\n")
    assert found[0] == (("a",), 1)
    assert all(place.line == 2 for place in found[1:])


def test_a_table_stands_where_its_first_key_does() -> None:
    found = toml_lines.places("\n[a.b]\nc = 1\n[a]\nd = 1\n")
    assert [toml_lines.line_of(path, found) for path in [("a",), ("a", "b"), ("a", "b", "c"), ("a", "d")]] == [
        2,
        2,
        3,
        5,
    ]


names = st.text(alphabet="ab.\"'\\ \t\u00e9", max_size=3)
values = st.sampled_from(["1", "'#'", '"]"', '"""\n"""', "[\n{a=1}, ']']", "{ z = 1 }", "1979-05-27 07:32:00"])


def quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'


@given(st.lists(st.tuples(st.lists(names, min_size=1, max_size=3), values, st.booleans()), max_size=6))
def test_the_parser_and_the_scanner_find_the_same_keys(lines: list[tuple[list[str], str, bool]]) -> None:
    text = "".join(
        f"[{'.'.join(map(quoted, path))}] # x\n" if header else f"{'.'.join(map(quoted, path))} = {value}\n"
        for path, value, header in lines
    )
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = toml_lines.places(text)
    prefixes = {place.path[:depth] for place in found for depth in range(1, len(place.path) + 1)}
    assert prefixes == set(paths(tables, ()))


def paths(table: dict[str, Any], above: toml_lines.Path) -> Iterator[toml_lines.Path]:
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from paths(value, (*above, key))


@given(st.text(alphabet="a=[]{}\"'\\,.#\n u0", max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    toml_lines.places(text)
