"""From the text of the configuration file and the environment to the settings in force, or to all that is wrong.

Knows nothing of where the text comes from. The environment goes before the file, the file before the defaults. Only the
variables of known keys are looked at: the rest of the environment belongs to others, and Kubernetes itself puts names
such as MOORING_LOG_PORT into a pod beside a Service that is called mooring-log.

section  key      value     ->  answer
-------  -------  -------       ------
unknown  -        -             problem: unknown section
known    (no table)             problem: not a table
known    unknown  -             problem: unknown key
known    known    refused       problem: what was given, what is allowed
known    known    fits          setting from the file
known    absent   -             setting from the default
"""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mooring.core import config_keys, toml_lines
from mooring.core.config_keys import Key, Section
from mooring.core.toml_lines import Place
from mooring.model.config import FromDefault, FromEnvironment, FromFile, Origin, Problem, Setting, Settings

WHERE = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)
TWICE = ("Cannot declare", "Cannot overwrite", "Duplicate inline table key")

# What the parser makes of a value, in the words of somebody who writes a file.
KINDS = {bool: "a truth value", int: "a whole number", float: "a number", list: "a list", dict: "a table"}


def read(text: str, file: str, environment: Mapping[str, str]) -> Settings | tuple[Problem, ...]:
    """The settings in force, or every problem in the order of the text."""
    try:
        found = toml_lines.places(text)
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return (_syntax_problem(str(error), text, file),)
    except (RecursionError, ValueError):  # where Python itself gives up, without a position
        return (Problem(FromFile(file, 1), "", "nested too deeply, or a number too long, to be read"),)

    sections = config_keys.sections()
    problems = [*_unknown(tables, sections, file, found)]
    settings: list[Setting] = []
    for key in (key for section in sections for key in section.keys):
        setting = Setting(key.section, key.name, key.default, FromDefault())
        for given, origin in _given(key, tables, file, found, environment):
            try:
                setting = Setting(key.section, key.name, msgspec.convert(given, key.type), origin)
            except msgspec.ValidationError:
                problems.append(Problem(origin, key.path, f"{_shown(given)} is refused, allowed: {key.allowed}"))
        settings.append(setting)
    if problems:
        return tuple(sorted(problems, key=_order))
    return Settings(config_keys.config_of(_nested(settings)), tuple(settings))


def sentence(problem: Problem) -> str:
    """One line for a person: file, line, key and what is wrong."""
    return ": ".join(part for part in (place(problem.origin), problem.key, problem.message) if part)


def place(origin: Origin) -> str:
    match origin:
        case FromFile(file, line):
            return f"{file}:{line}"
        case FromEnvironment(variable):
            return f"environment variable {variable}"
        case FromDefault():
            return "default"


def as_toml(settings: Settings) -> str:
    """The settings in force as a file that could be read again, each with its origin as a comment."""
    lines: list[str] = []
    section = ""
    for setting in settings.list:
        if setting.section != section:
            section = setting.section
            lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        if setting.value is None:
            lines.append(f"# {setting.key} is not set")
        else:
            lines.append(f"{setting.key} = {_quoted(setting.value)}  # {place(setting.origin)}")
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    """A basic string of TOML: JSON's, but for DEL, which JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _given(
    key: Key, tables: Mapping[str, Any], file: str, found: tuple[Place, ...], environment: Mapping[str, str]
) -> Iterable[tuple[Any, FromFile | FromEnvironment]]:
    """Every value that was given for a key. The last one counts; a wrong one is a problem also where it does not."""
    table = tables.get(key.section)
    if isinstance(table, dict) and key.name in table:
        yield table[key.name], FromFile(file, toml_lines.line_of((key.section, key.name), found))
    if key.variable in environment:
        yield environment[key.variable], FromEnvironment(key.variable)


def _unknown(
    tables: Mapping[str, Any], sections: tuple[Section, ...], file: str, found: tuple[Place, ...]
) -> Iterable[Problem]:
    """Sections and keys that no struct has, and sections that are not tables."""
    known = {section.name: section for section in sections}
    for name, table in tables.items():
        origin = FromFile(file, toml_lines.line_of((name,), found))
        if name not in known:
            yield Problem(origin, _dotted(name), _unknown_message("section", name, known))
        elif not isinstance(table, dict):
            yield Problem(origin, name, f"{_shown(table)} is refused, allowed: a table, [{name}]")
        else:
            keys = [key.name for key in known[name].keys]
            for key in table:
                if key not in keys:
                    origin = FromFile(file, toml_lines.line_of((name, key), found))
                    yield Problem(origin, _dotted(name, key), _unknown_message("key", key, keys))


def _unknown_message(what: str, name: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    near = difflib.get_close_matches(name.lower(), names, n=1)
    guess = f', did you mean "{near[0]}"?' if near else ","
    return f"unknown {what}{guess} allowed: {', '.join(names)}"


def _syntax_problem(error: str, text: str, file: str) -> Problem:
    match = WHERE.match(error)
    what = match["what"] if match else error
    line = int(match["line"]) if match and match["line"] else text.count("\n") + 1
    found = toml_lines.places(text)
    here = next((place for place in reversed(found) if place.line == line), None)
    if here is None:
        return Problem(FromFile(file, line), "", f"not valid TOML: {what}")
    first = toml_lines.line_of(here.path, found)
    message = f"given twice, first on line {first}" if what.startswith(TWICE) else f"not valid TOML: {what}"
    return Problem(FromFile(file, line), _dotted(*here.path), message)


def _shown(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else KINDS.get(type(value), "a date or time")


def _dotted(*parts: str) -> str:
    return ".".join(part if toml_lines.BARE.fullmatch(part) else _quoted(part) for part in parts)


def _nested(settings: Iterable[Setting]) -> dict[str, dict[str, str | None]]:
    tables: dict[str, dict[str, str | None]] = {}
    for setting in settings:
        tables.setdefault(setting.section, {})[setting.key] = setting.value
    return tables


def _order(problem: Problem) -> tuple[int, str]:
    """The file's problems by line, then the environment's."""
    return (problem.origin.line if isinstance(problem.origin, FromFile) else 1 << 62, problem.key)
