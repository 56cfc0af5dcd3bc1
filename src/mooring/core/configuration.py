"""From the text of the configuration file and the environment to the settings in force, or to all that is wrong.

Knows nothing of where the text comes from. The environment goes before the file, the file before the defaults. Only the
variables of known keys are looked at: the rest of the environment belongs to others (config_variables.py tells of those
that look misspelt).

section  key      value     ->  answer
-------  -------  -------       ------
unknown  -        -             problem: unknown section
known    (no table)             problem: not a table
known    unknown  -             problem: unknown key
known    known    refused       problem: what was given, what is allowed
known    known    fits          setting from the file
known    absent   -             setting from the default; a problem where there is none

A section of named tables is judged name by name: the name itself, then its table like a section.
"""

import difflib
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mooring.core import config_addresses, config_keys, config_values, toml_lines
from mooring.core.config_keys import Key, Section
from mooring.core.config_values import RefusedValue
from mooring.core.toml_lines import Place
from mooring.model.config import LABEL, LABEL_ALLOWED, LABEL_LENGTH
from mooring.model.settings import FromDefault, FromEnvironment, FromFile, Origin, Problem, Setting, Settings, Value

WHERE = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)
TWICE = ("Cannot declare", "Cannot overwrite", "Duplicate inline table key")


class File(NamedTuple):
    """What the text says, and on which lines."""

    name: str
    tables: Mapping[str, Any]
    places: tuple[Place, ...]

    def origin(self, *path: str) -> FromFile:
        return FromFile(self.name, toml_lines.line_of(path, self.places))


def read(text: str, file: str, environment: Mapping[str, str]) -> Settings | tuple[Problem, ...]:
    """The settings in force, or every problem in the order of the text."""
    try:
        places = toml_lines.places(text)
        given = File(file, tomllib.loads(text), places)
    except tomllib.TOMLDecodeError as error:
        return (_syntax_problem(str(error), text, file),)
    except (RecursionError, ValueError):  # where Python itself gives up, without a position
        return (Problem(FromFile(file, 1), "", "nested too deeply, or a number too long, to be read"),)

    sections = config_keys.sections()
    problems = [*_unknown(given, sections)]
    settings: list[Setting] = []
    for key in _keys(given, sections):
        setting, wrong = _judged(key, given, environment)
        settings.append(setting)
        problems += wrong
    problems += _twice(settings)
    refused = {problem.key for problem in problems}
    together = config_addresses.problems(settings, given.origin, refused)
    problems += [each for each in together if each.key not in refused]
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
    parts = {name: [*each] for name, each in itertools.groupby(settings.list, lambda setting: setting.section)}
    blocks: list[str] = []
    for section in config_keys.sections():
        names = [name for name in parts if name.split(".")[0] == section.name]
        blocks += [_block(name, parts[name]) for name in names] or [f"# no table [{section.header}] is given"]
    return "\n\n".join(blocks) + "\n"


def _block(section: str, settings: Iterable[Setting]) -> str:
    return "\n".join([f"[{section}]", *map(_line, settings)])


def _line(setting: Setting) -> str:
    if setting.value is None:
        return f"# {setting.key} is not set"
    return f"{setting.key} = {config_values.as_toml(setting.value)}  # {place(setting.origin)}"


def _keys(given: File, sections: tuple[Section, ...]) -> Iterator[Key]:
    """Every key that there is a setting for: those of named tables come with the tables."""
    for section in sections:
        if not section.named:
            yield from section.keys
            continue
        tables = given.tables.get(section.name)
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if _is_name(name) and isinstance(table, dict):
                yield from section.keys_of(name)


def _judged(key: Key, given: File, environment: Mapping[str, str]) -> tuple[Setting, list[Problem]]:
    setting = Setting(key.section, key.name, key.default, FromDefault())
    problems: list[Problem] = []
    values = [*_given(key, given, environment)]
    for value, origin in values:
        try:
            setting = Setting(key.section, key.name, config_values.taken(key, value), origin)
        except RefusedValue as refused:
            problems.append(Problem(origin, key.path, f"{refused} is refused, allowed: {key.allowed}"))
    if key.required and not values:
        problems.append(Problem(given.origin(*key.parts[:-1]), key.path, f"missing, allowed: {key.allowed}"))
    return setting, problems


def _twice(settings: list[Setting]) -> Iterator[Problem]:
    """Two gateways are two hosts: they have no agent and no port in common."""
    owners: dict[tuple[str, Value], str] = {}
    for setting in settings:
        if setting.section.startswith("gateways.") and isinstance(setting.origin, FromFile):
            owner = owners.setdefault((setting.key, setting.value), setting.section)
            if owner != setting.section:
                told = f'"{setting.value}" is refused: [{owner}] has it already'
                yield Problem(setting.origin, f"{setting.section}.{setting.key}", told)


def _given(key: Key, given: File, environment: Mapping[str, str]) -> Iterator[tuple[Any, FromFile | FromEnvironment]]:
    """Every value that was given for a key. The last one counts; a wrong one is a problem also where it does not."""
    table: Any = given.tables
    for part in key.parts[:-1]:
        table = table.get(part) if isinstance(table, dict) else None
    if isinstance(table, dict) and key.name in table:
        yield table[key.name], given.origin(*key.parts)
    if key.variable is not None and key.variable in environment:
        yield config_values.from_text(key, environment[key.variable]), FromEnvironment(key.variable)


def _unknown(given: File, sections: tuple[Section, ...]) -> Iterator[Problem]:
    """Sections, names and keys that no struct has, and sections that are not tables."""
    known = {section.name: section for section in sections}
    for name, table in given.tables.items():
        if name not in known:
            yield Problem(given.origin(name), _dotted(name), _unknown_message("section", name, known))
        elif not isinstance(table, dict):
            yield _no_table(given, known[name].header, table, name)
        elif known[name].named:
            yield from _unknown_in_named(given, known[name], table)
        else:
            yield from _unknown_keys(given, known[name].keys, table, name)


def _unknown_in_named(given: File, section: Section, tables: Mapping[str, Any]) -> Iterator[Problem]:
    for name, table in tables.items():
        if not _is_name(name):
            message = f"{config_values.as_toml(name)} is refused as a name, allowed: {LABEL_ALLOWED}"
            yield Problem(given.origin(section.name, name), _dotted(section.name, name), message)
        elif not isinstance(table, dict):
            yield _no_table(given, section.header, table, section.name, name)
        else:
            yield from _unknown_keys(given, section.keys, table, section.name, name)


def _unknown_keys(given: File, keys: tuple[Key, ...], table: Mapping[str, Any], *path: str) -> Iterator[Problem]:
    names = [key.name for key in keys]
    for name in table:
        if name not in names:
            yield Problem(given.origin(*path, name), _dotted(*path, name), _unknown_message("key", name, names))


def _no_table(given: File, header: str, value: object, *path: str) -> Problem:
    message = f"{config_values.kind(value)} is refused, allowed: a table, [{header}]"
    return Problem(given.origin(*path), _dotted(*path), message)


def _is_name(name: str) -> bool:
    return re.search(LABEL, name) is not None and len(name) <= LABEL_LENGTH


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


def _dotted(*parts: str) -> str:
    return ".".join(part if toml_lines.BARE.fullmatch(part) else config_values.as_toml(part) for part in parts)


def _nested(settings: Iterable[Setting]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for setting in settings:
        table = tables
        for part in setting.section.split("."):
            table = table.setdefault(part, {})
        table[setting.key] = setting.value
    return tables


def _order(problem: Problem) -> tuple[int, str]:
    """The file's problems by line, then the environment's."""
    return (problem.origin.line if isinstance(problem.origin, FromFile) else 1 << 62, problem.key)
