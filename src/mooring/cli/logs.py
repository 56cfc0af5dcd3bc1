"""The daemons' log: one line for each event, for people or for machines.

A logger is made from the configuration and handed down; nothing of structlog is configured globally. What libraries
write through Python's own logging comes in the same lines while `libraries` holds.

text    2026-01-31T12:00:00.000Z warning  not reached gateway=gw1 error="Unreachable: no route"
json    {"time": "2026-01-31T12:00:00.000Z", "level": "warning", "event": "not reached", "gateway": "gw1", "error": ...}

Nothing that is logged can break a line or a terminal: what cannot be printed is escaped.
"""

import datetime as dt
import json
import logging
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import PurePath
from types import TracebackType
from typing import Any, TextIO, TypeAlias, cast

import click
import structlog
from structlog.typing import FilteringBoundLogger

from mooring.model.config import Log

Plain: TypeAlias = "str | int | float | list[Plain] | dict[str, Plain] | None"
Renderer = Callable[[Mapping[str, Plain]], str]

OURS = ("time", "level", "event")
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
COLOURS = {"debug": "bright_black", "info": "green", "warning": "yellow", "error": "red", "critical": "red"}
WIDEST = max(map(len, LEVELS))
DEEPEST = 4  # beyond it a value is shown as its text
BARE = re.compile(r"[^\s\"'=\[{]+")  # what needs no quotes beside a key


def make(log: Log, stream: TextIO) -> FilteringBoundLogger:
    """A logger for one stream. Colours are for terminals only."""
    if log.format == "json":
        render: Renderer = json.dumps  # without characters that are not ASCII: they cannot end a line anywhere
    else:
        render = _coloured_text if stream.isatty() else _text

    def line(_logger: object, level: str, event: MutableMapping[str, Any]) -> str:
        return render(_plain_event(level, event))

    return cast(
        "FilteringBoundLogger",
        structlog.wrap_logger(
            structlog.WriteLogger(stream),
            processors=[line],
            wrapper_class=structlog.make_filtering_bound_logger(LEVELS[log.level]),
            context_class=dict,
        ).bind(),
    )


@contextmanager
def libraries(log: FilteringBoundLogger) -> Iterator[None]:
    """What libraries say at warning and above goes to this log; Python's own warnings too."""
    handler = _Bridge(log)
    root = logging.getLogger()
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)


class _Bridge(logging.Handler):
    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):  # the library gave other values than its text has places for
            message = f"{record.msg} {record.args}"
        level = min(record.levelno // 10 * 10, logging.CRITICAL)
        self._log.log(level, message.strip(), logger=record.name, **_reason(record.exc_info))


def _reason(exc_info: object) -> dict[str, object]:
    """The exception of a record, if it has one: outside of `except`, logging gives three times None."""
    return {"exc_info": exc_info} if isinstance(exc_info, tuple) and exc_info[1] is not None else {}


def _plain_event(level: str, event: MutableMapping[str, Any]) -> dict[str, Plain]:
    exc_info = event.pop("exc_info", None)
    now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # `log.exception` is an error that brings its exception along.
    line: dict[str, Plain] = {"time": now, "level": "error" if level == "exception" else level}
    line["event"] = _as_text(event.pop("event", ""))
    for key, value in event.items():
        line[f"{key}_" if key in OURS else key] = _plain(value)
    error = _exception(exc_info)
    if error is not None:
        line["exception"] = one_line(error)
        line["at"] = _trace(error.__traceback__)
    return line


def _exception(exc_info: object) -> BaseException | None:
    """An exception in any of the ways to give one: itself, what sys.exc_info tells, or just "the current one"."""
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return cast("BaseException | None", exc_info[1])
    return sys.exc_info()[1] if exc_info else None


def one_line(error: BaseException) -> str:
    """An exception, those within it and its cause."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        text += f" [{'; '.join(map(one_line, error.exceptions))}]"
    return f"{text}, because of {one_line(error.__cause__)}" if error.__cause__ else text


def _trace(last: TracebackType | None) -> str:
    """Where an exception came from, the innermost call first."""
    frames = reversed(traceback.extract_tb(last))
    return " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)


def _plain(value: object, depth: int = 0) -> Plain:
    """What JSON can say."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth < DEEPEST and isinstance(value, Mapping):
        return {_as_text(key): _plain(each, depth + 1) for key, each in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth + 1) for each in value]
    return _as_text(value)


def _as_text(value: object) -> str:
    return one_line(value) if isinstance(value, BaseException) else str(value)


def _text(line: Mapping[str, Plain], level_style: Callable[[str], str] = str) -> str:
    pairs = [f"{_escaped(key)}={_shown(value)}" for key, value in line.items() if key not in OURS]
    level = str(line["level"])
    padded = level_style(level) + " " * (WIDEST - len(level))
    return " ".join([str(line["time"]), padded, _escaped(str(line["event"])), *pairs])


def _coloured_text(line: Mapping[str, Plain]) -> str:
    return _text(line, lambda level: click.style(level, fg=COLOURS.get(level)))


def _shown(value: Plain) -> str:
    if isinstance(value, str) and BARE.fullmatch(value) and value.isprintable():
        return value
    return _escaped(json.dumps(value, ensure_ascii=False))


def _escaped(text: str) -> str:
    """Without line ends, escape sequences of terminals and whatever else cannot be seen."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
