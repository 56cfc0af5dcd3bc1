"""A gateway's host in memory: a kernel that carries out the texts for nft, a VRRP daemon, a disk.

`point` is called before every effect, with the kind of thing that is touched; it may raise, and then the effect did
not happen. What the kernel refuses here was tried on a real one: deleting what is not there, adding what is there with
another value, going to a chain that is not there. A text is carried out wholly or not at all.
"""

import copy
import re
from collections.abc import Callable, Collection
from functools import lru_cache

from msgspec import Struct

from mooring.agent.host import Host
from mooring.core import vrrp
from mooring.host.connections import Way
from mooring.host.journal import Journal
from mooring.host.nftables import NftError
from mooring.model.gateway import Vrrp
from tests.simulation.disk import Disk

Point = Callable[[str], None]
Elements = dict[str, dict[str, str]]

OPENED = re.compile(r"table (\w+) mooring \{")
DECLARED = re.compile(r"  (map|set|chain) (\w+) \{")
ELEMENTS = re.compile(r"(add|delete) element (\w+) mooring (\w+) \{ (.+) \}")


class Command(Struct, frozen=True):
    """One line of a text: what to do to which table, and to which map of it."""

    verb: str
    family: str
    name: str = ""
    items: tuple[tuple[str, str], ...] = ()


class Table:
    """One table: maps and sets with their elements, and chains. One that is made anew has another number."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.chains: set[str] = set()
        self.maps: Elements = {}

    def copy(self) -> "Table":
        other = Table(self.handle)
        other.chains = set(self.chains)
        other.maps = {name: dict(found) for name, found in self.maps.items()}
        return other


class Kernel:
    def __init__(self, point: Point) -> None:
        self.tables: dict[str, Table] = {}
        self.runs = 0
        self._point = point

    def run(self, text: str) -> str:
        self._point("rules")
        self.runs += 1
        tables = {family: table.copy() for family, table in self.tables.items()}
        for number, command in enumerate(_commands(text)):
            _obey(tables, command, self.runs * 1000 + number)
        self.tables = tables
        return ""

    def handles(self, table: str) -> tuple[int, ...]:
        assert table == "mooring"
        return tuple(self.tables[family].handle if family in self.tables else 0 for family in ("ip", "ip6"))

    def elements(self, family: str) -> Elements:
        return self.tables[family].maps if family in self.tables else {}

    @property
    def vips(self) -> set[str]:
        """The addresses for which there are rules."""
        return {each for table in self.tables.values() for each in table.maps.get("vips", {})}


class Daemon:
    """A master at all times. It outlives the agent; `running` is taken away from outside."""

    def __init__(self, point: Point) -> None:
        self.text = ""
        self.addresses: frozenset[str] = frozenset()
        self.alive = False
        self.lowered = 0
        self.marks: list[float] = []
        self.vrrp = Vrrp.MASTER
        self._point = point

    def configuration(self) -> str:
        return self.text

    def configure(self, text: str, *, held: frozenset[str], released: frozenset[str]) -> None:
        self._point("vrrp")
        self.text = text
        self._point("vrrp")
        self.start()
        assert self.addresses == held
        assert not released & held

    def start(self) -> None:
        self.alive = True
        self.addresses = vrrp.addresses(self.text)

    def running(self) -> bool:
        return self.alive

    def state(self) -> Vrrp:
        return self.vrrp if self.alive else Vrrp.STOPPED

    def lower(self, by: int) -> None:
        self._point("vrrp")
        self.lowered = by

    def mark_alive(self, seconds: float) -> None:
        self._point("alive")
        self.marks.append(seconds)


class PointedDisk:
    """A disk on which every write is a point."""

    def __init__(self, disk: Disk, point: Point) -> None:
        self._disk = disk
        self._point = point

    def read(self, name: str) -> bytes | None:
        return self._disk.read(name)

    def write(self, name: str, content: bytes) -> None:
        self._point("disk")
        self._disk.write(name, content)

    def rename(self, old: str, new: str) -> None:
        self._point("disk")
        self._disk.rename(old, new)

    def sync(self, name: str) -> None:
        self._point("disk")
        self._disk.sync(name)

    def sync_names(self) -> None:
        self._point("disk")
        self._disk.sync_names()


class Connections:
    """Remembers what was to be forgotten."""

    def __init__(self) -> None:
        self.addresses: list[frozenset[str]] = []
        self.ways: list[Way] = []

    def forget_addresses(self, addresses: Collection[str]) -> int:
        self.addresses.append(frozenset(addresses))
        return 0

    def forget_ways(self, ways: Collection[Way]) -> int:
        self.ways += ways
        return 0


class Machine:
    """All of a host. `bare` is an address that was held at some point without rules, which must never be."""

    def __init__(self, point: Point, journal: type[Journal] = Journal) -> None:
        self._outer = point
        self.kernel = Kernel(self._point)
        self.daemon = Daemon(self._point)
        self.disk = Disk()
        self.connections = Connections()
        self.bare: str | None = None
        self._journal = journal
        self._checked: tuple[dict[str, Table], frozenset[str]] = ({}, frozenset())

    @property
    def host(self) -> Host:
        return Host(self._journal(PointedDisk(self.disk, self._point)), self.kernel, self.daemon, self.connections)

    def copy(self, point: Point) -> "Machine":
        """Another host that is as this one is now."""
        other = Machine(point, self._journal)
        other.kernel.tables = dict(self.kernel.tables)
        other.daemon.text, other.daemon.addresses = self.daemon.text, self.daemon.addresses
        other.daemon.alive, other.daemon.lowered = self.daemon.alive, self.daemon.lowered
        other.disk = copy.deepcopy(self.disk)
        return other

    def check(self) -> None:
        looked_at = (self.kernel.tables, self.daemon.addresses)
        if looked_at[0] is not self._checked[0] or looked_at[1] is not self._checked[1]:
            self._checked = looked_at
            self.bare = min(self.daemon.addresses - self.kernel.vips, default=self.bare)

    def _point(self, kind: str) -> None:
        self.check()
        self._outer(kind)


@lru_cache(maxsize=1024)
def _commands(text: str) -> tuple[Command, ...]:
    found = []
    opened = ""
    for line in text.splitlines():
        if match := ELEMENTS.fullmatch(line):
            verb, family, name, items = match.groups()
            pairs = tuple((key, value) for key, _, value in (each.partition(" : ") for each in items.split(", ")))
            found.append(Command(f"{verb} element", family, name, pairs))
        elif match := OPENED.fullmatch(line):
            opened = match.group(1)
            found.append(Command("table", opened))
        elif match := DECLARED.match(line):
            found.append(Command(match.group(1), opened, match.group(2)))
        elif line.startswith(("table ", "delete table ")):
            *verb, family, _ = line.split()
            found.append(Command(" ".join(verb), family))
        elif not line.startswith(("    ", "  }", "}")):
            raise NftError(f"syntax error: {line}")
    return tuple(found)


def _obey(tables: dict[str, Table], command: Command, number: int) -> None:
    if command.verb == "table":
        tables.setdefault(command.family, Table(number))
        return
    table = tables.get(command.family)
    if table is None:
        raise NftError(f"No such file or directory: table {command.family}")
    match command.verb:
        case "delete table":
            del tables[command.family]
        case "chain":
            table.chains.add(command.name)
        case "map" | "set":
            table.maps.setdefault(command.name, {})
        case "add element":
            _add(table, command)
        case "delete element":
            for key, _ in command.items:
                if table.maps[command.name].pop(key, None) is None:
                    raise NftError(f"No such file or directory: {key}")


def _add(table: Table, command: Command) -> None:
    for key, value in command.items:
        if table.maps[command.name].setdefault(key, value) != value:
            raise NftError(f"File exists: {key}")
        if value.startswith("goto ") and value.removeprefix("goto ") not in table.chains:
            raise NftError(f"No such file or directory: {value}")
