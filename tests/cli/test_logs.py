"""The log: a line for each event whatever is in it, for people and for machines."""

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.typing import FilteringBoundLogger

from mooring.cli import logs
from mooring.model.config import Log

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def text_log(level: Literal["debug", "info", "warning", "error"] = "info") -> tuple[FilteringBoundLogger, io.StringIO]:
    stream = io.StringIO()
    return logs.make(Log(level=level), stream), stream


def json_log() -> tuple[FilteringBoundLogger, io.StringIO]:
    stream = io.StringIO()
    return logs.make(Log(format="json"), stream), stream


def without_time(stream: io.StringIO) -> list[str]:
    lines = stream.getvalue().split("\n")
    assert lines.pop() == ""
    assert all(TIME.match(line) for line in lines)
    return [line.partition(" ")[2] for line in lines]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('a"b', '"a\\"b"'),
        ("a\nb", '"a\\nb"'),
        ("a\u2028b", '"a\\u2028b"'),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("gr\u00fc\u00df", "gr\u00fc\u00df"),
        ("\udc80", '"\\udc80"'),
        (7, "7"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        (["a", 1], '["a", 1]'),
        ({"a": (1, 2)}, '{"a": [1, 2]}'),
        (float("nan"), "nan"),
        (ValueError("no\nway"), '"ValueError: no\\nway"'),
        (KeyError(), "KeyError"),
    ],
)
def test_values_for_people(value: object, shown: str) -> None:
    log, stream = text_log()
    log.info("said", key=value)
    assert without_time(stream) == [f"info    said key={shown}"]
    stream.getvalue().encode()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a\u2028\nb", "a\u2028\nb"),
        (7, 7),
        (None, None),
        ({"a": {1}}, {"a": [1]}),
        ({("a", 1): float("inf")}, {"('a', 1)": "inf"}),
        (ValueError("no\nway"), "ValueError: no\nway"),
        ([OSError(2, "gone")], ["FileNotFoundError: [Errno 2] gone"]),
        (
            ExceptionGroup("all", [ValueError("a"), KeyError("b")]),
            "ExceptionGroup: all (2 sub-exceptions) [ValueError: a; KeyError: 'b']",
        ),
    ],
)
def test_values_for_machines(value: object, said: object) -> None:
    log, stream = json_log()
    log.info("said", key=value)
    [line] = stream.getvalue().splitlines()
    assert list(json.loads(line)) == ["time", "level", "event", "key"]
    assert json.loads(line)["key"] == said
    assert TIME.fullmatch(json.loads(line)["time"])


def test_a_value_that_holds_itself_is_cut() -> None:
    log, stream = json_log()
    loop: list[object] = []
    loop.append(loop)
    log.info("said", key=loop)
    assert json.loads(stream.getvalue())["key"] == [[[["[[...]]"]]]]


def test_our_own_keys_are_not_lost_to_others() -> None:
    log, stream = json_log()
    log.info("said", level=3, time="noon")
    line = json.loads(stream.getvalue())
    assert (line["level"], line["level_"], line["time_"]) == ("info", 3, "noon")


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warning", "error", "critical"]),
        ("info", ["info", "warning", "error", "critical"]),
        ("warning", ["warning", "error", "critical"]),
        ("error", ["error", "critical"]),
    ],
)
def test_levels(level: Literal["debug", "info", "warning", "error"], written: list[str]) -> None:
    log, stream = text_log(level)
    for name in ("debug", "info", "warning", "error", "critical"):
        getattr(log, name)("x")
    assert [line.split()[0] for line in without_time(stream)] == written


def test_what_is_bound_is_in_every_line() -> None:
    log, stream = text_log()
    inner = log.bind(gateway="gw1")
    inner.info("a")
    inner.info("b", n=1)
    log.info("c")
    assert without_time(stream) == ["info    a gateway=gw1", "info    b gateway=gw1 n=1", "info    c"]


def test_two_logs_do_not_know_each_other() -> None:
    (people, lines), (machines, objects) = text_log("error"), json_log()
    people.info("x")
    machines.info("y")
    assert lines.getvalue() == ""
    assert json.loads(objects.getvalue())["event"] == "y"


def test_colours_are_for_terminals() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        logs.make(Log(), stream).warning("x", key="v")
    assert "\x1b[33mwarning\x1b[0m x key=v\n" in terminal.getvalue()
    assert "\x1b" not in file.getvalue()
    objects = Terminal()
    logs.make(Log(format="json"), objects).warning("x")
    assert "\x1b" not in objects.getvalue()


def fail() -> None:
    try:
        {"outer": 1}["inner"]
    except KeyError as error:
        raise ValueError("outer\nline") from error


def test_an_exception_is_one_line_with_its_cause_and_its_way() -> None:
    log, stream = text_log()
    try:
        fail()
    except ValueError:
        log.exception("failed", n=1)
    [line] = without_time(stream)
    told = """error   failed n=1 exception="ValueError: outer\\nline, because of KeyError: 'inner'" at="test_logs.py:"""
    assert line.startswith(told)
    assert re.search(r' at="test_logs\.py:\d+ fail < test_logs\.py:\d+ test_an_exception_is_one_line', line)


@contextmanager
def bridged() -> Iterator[io.StringIO]:
    log, stream = text_log()
    root = logging.getLogger()
    others, root.handlers = root.handlers, []  # pytest's own handlers raise what a library does wrong
    with logs.libraries(log):
        yield stream
    root.handlers = others


@pytest.mark.parametrize(
    ("level", "arguments", "told"),
    [
        (logging.INFO, ("x",), []),
        (logging.WARNING, ("%s lost", "c1"), ["warning c1 lost logger=uvicorn.error"]),
        (logging.ERROR, ("a\nb\n",), ["error   a\\nb logger=uvicorn.error"]),
        (logging.CRITICAL, ("x",), ["critical x logger=uvicorn.error"]),
        (35, ("x",), ["warning x logger=uvicorn.error"]),
        (99, ("x",), ["critical x logger=uvicorn.error"]),
        (logging.WARNING, ("%d", "no number"), ["warning %d ('no number',) logger=uvicorn.error"]),
    ],
)
def test_what_libraries_say(level: int, arguments: tuple[str, ...], told: list[str]) -> None:
    library = logging.getLogger("uvicorn.error")
    library.setLevel(logging.DEBUG)  # some let themselves say more than Python's default
    with bridged() as stream:
        library.log(level, *arguments)
    library.setLevel(logging.NOTSET)
    assert without_time(stream) == told


def test_an_exception_of_a_library_is_one_line() -> None:
    with bridged() as stream:
        try:
            fail()
        except ValueError:
            logging.getLogger("aiohttp").exception("no luck")
        logging.getLogger("aiohttp").error("without", exc_info=True)  # noqa: LOG014 - libraries do that
    first, second = without_time(stream)
    assert first.startswith("error   no luck logger=aiohttp exception=")
    assert second == "error   without logger=aiohttp"


def test_a_warning_of_python_is_one_line() -> None:
    log, stream = text_log()
    with warnings.catch_warnings(action="always"), logs.libraries(log):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    [line] = without_time(stream)
    assert "DeprecationWarning: old" in line
    assert line.endswith("logger=py.warnings")


def test_afterwards_libraries_are_on_their_own_again() -> None:
    log, stream = text_log()
    before = list(logging.getLogger().handlers)
    with logs.libraries(log):
        assert len(logging.getLogger().handlers) == len(before) + 1
    assert logging.getLogger().handlers == before
    logging.getLogger("aiohttp").warning("unheard")
    assert stream.getvalue() == ""


anything = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.builds(ValueError, st.text())
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(
    event=st.text(),
    values=st.dictionaries(st.text(min_size=1), anything, max_size=3),
    fmt=st.sampled_from(["text", "json"]),
)
def test_whatever_is_logged_is_one_line(event: str, values: dict[str, object], fmt: Literal["text", "json"]) -> None:
    stream = io.StringIO()
    log = logs.make(Log(format=fmt), stream).bind(**values)
    log.info(event)
    [line] = stream.getvalue().splitlines()
    line.encode()
    if fmt == "json":
        assert json.loads(line)["event"] == event
