"""What a run of Kubernetes' own suite says: from its reports and the gateways' counters to a table. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal
from xml.etree import ElementTree as ET

from msgspec import Struct
from rich.table import Table
from rich.text import Text

State = Literal["passed", "failed", "skipped", "not run"]

_STATES: Mapping[str, State] = {"passed": "passed", "skipped": "skipped"}  # others are ways to fail
_LISTED = re.compile(r"^\s*\S+\.go:\d+: (?P<name>.+)$", re.MULTILINE)
_LABEL = re.compile(r"\s*\[[^]]*\]")
_COUNTER = re.compile(r"mooring_service_connections_total\{(?P<labels>.*)\} (?P<number>\S+)")
_NAMESPACE = re.compile(r'STEP: Destroying namespace "([^"]+)"')


class Outcome(Struct, frozen=True):
    """How one test ended. `connections` is how many new ones the gateways saw of its Services."""

    name: str
    state: State
    seconds: float = 0.0
    connections: int = 0
    why: str = ""

    @property
    def short(self) -> str:
        """Its name without labels, which say the same of all."""
        return _LABEL.sub("", self.name).strip()


def listed(output: str, focus: str) -> tuple[str, ...]:
    """The tests whose names begin in a way, in the order of the suite's own list."""
    return tuple(found["name"] for found in _LISTED.finditer(output) if found["name"].startswith(focus))


def outcome(name: str, report: str) -> Outcome:
    """What a report in JUnit's format says of a test. One that is not in it did not run."""
    for case in ET.fromstring(report).iter("testcase") if report else ():  # noqa: S314 - the suite wrote it for us
        if case.get("name") == f"[It] {name}":
            said = next((each for each in case if each.tag in {"failure", "error", "skipped"}), None)
            state = _STATES.get(case.get("status", ""), "failed")
            why = "" if said is None else _first_line(said.get("message", "") or said.text or "")
            why = why.removeprefix("skipped - ").removeprefix("[FAILED] ")
            return Outcome(name, state, float(case.get("time", 0)), why=why)
    return Outcome(name, "not run", why="the suite ended without a report")


class Connections:
    """What gateways have counted: the most of each counter, because counters go with their Service."""

    def __init__(self) -> None:
        self._most: dict[tuple[str, str], int] = {}

    def take(self, gateway: str, line: str) -> None:
        """A line that an agent told Prometheus; those about something else are skipped."""
        if found := _COUNTER.match(line):
            key = gateway, found["labels"]
            self._most[key] = max(int(float(found["number"])), self._most.get(key, 0))

    def of(self, namespaces: frozenset[str]) -> int:
        """How many new ones there were for the Services of some namespaces, by all gateways."""
        places = tuple(f'service="{namespace}/' for namespace in namespaces)
        return sum(number for (_, labels), number in list(self._most.items()) if any(each in labels for each in places))


def namespaces(log: str) -> frozenset[str]:
    """The namespaces that a test made for itself and took away at its end. It may have written of others."""
    return frozenset(_NAMESPACE.findall(log))


def counts(outcomes: Iterable[Outcome]) -> str:
    """A line: how many ran, and how they ended."""
    states = [each.state for each in outcomes]
    ran = len(states) - states.count("not run") - states.count("skipped")
    unrun = f", {states.count('not run')} not run" if "not run" in states else ""
    return (
        f"{len(states)} tests: {ran} run, {states.count('passed')} passed, {states.count('failed')} failed, "
        f"{states.count('skipped')} skipped{unrun}"
    )


def table(title: str, outcomes: Sequence[Outcome]) -> Table:
    """For people: a row for each test."""
    view = Table(title=title, title_justify="left", box=None, header_style="bold")
    for column in ("test", "state", "seconds", "connections through a gateway", "why"):
        view.add_column(column, justify="right" if column == "seconds" else "left", overflow="fold")
    colours = {"passed": "green", "failed": "red bold", "skipped": "yellow", "not run": "red"}
    for each in outcomes:
        state = Text(each.state, style=colours[each.state])
        view.add_row(each.short, state, f"{each.seconds:.0f}", str(each.connections or "none"), Text(each.why))
    return view


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
