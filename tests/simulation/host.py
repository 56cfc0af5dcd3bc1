"""A gateway's host in memory: a packet filter that does what it is told, a VRRP daemon, a disk.

`point` is called before every effect, with the kind of thing that is touched; it may raise, and then the effect did
not happen. What the packet filter refuses here was tried on a real one: deleting what is not there, adding what is
there with another value, going to a chain that is not there. A change is carried out wholly or not at all.
"""

import copy
import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from mooring.agent.host import Host
from mooring.core import vrrp
from mooring.host.connections import Way
from mooring.host.disk import DiskError
from mooring.host.journal import Journal
from mooring.host.nftables import NftError, NftGone
from mooring.model.gateway import Backend, Vrrp
from mooring.model.rules import Element, Recalled, Transaction
from tests.simulation.disk import Disk

Point = Callable[[str], None]
FAMILIES = ("ip", "ip6")

BEGUN = re.compile(r"(delete )?table (\w+) (\w+)( \{)?")
DECLARED = re.compile(r"  (map|set|chain) (\w+) \{")


class Table:
    """One table: maps and sets with their elements by key, and chains. One that is dormant does nothing."""

    def __init__(self) -> None:
        self.awake = True
        self.chains: frozenset[str] = frozenset()
        self.maps: dict[str, dict[bytes, Element]] = {}
        self.left: dict[tuple[str, bytes], float] = {}
        """How many seconds longer an element lasts. No time passes here."""

    def copy(self) -> "Table":
        other = Table()
        other.awake, other.chains = self.awake, self.chains
        other.maps = {name: dict(found) for name, found in self.maps.items()}
        other.left = dict(self.left)
        return other


class Kernel:
    def __init__(self, point: Point) -> None:
        self.all: dict[tuple[str, str], Table] = {}
        self.passed = 0  # what each element has counted
        self._generation = 0
        self._point = point

    def run(self, text: str) -> str:
        self._point("rules")
        tables = dict(self.all)
        opened = Table()
        for line in text.splitlines():
            if match := BEGUN.fullmatch(line):
                delete, family, name, opens = match.groups()
                if delete:
                    del tables[family, name]
                else:
                    tables.setdefault((family, name), Table())
                if opens:
                    opened = tables[family, name] = tables[family, name].copy()
            elif match := DECLARED.match(line):
                if match.group(1) == "chain":
                    opened.chains |= {match.group(2)}
                else:
                    opened.maps.setdefault(match.group(2), {})
            elif line == "  flags dormant;":
                opened.awake = False
            elif not line.startswith(("    ", "  }", "}")):
                raise NftError(f"syntax error: {line}")
        self._made(tables)
        return ""

    def change(self, table: str, change: Transaction, chains: dict[int, str]) -> None:
        if not change and not chains:
            return
        self._point("rules")
        tables = {where: each.copy() if where[1] == table else each for where, each in self.all.items()}
        for family in FAMILIES:
            if chains:
                _table(tables, family, table).chains |= frozenset(chains.values())
        for each in change.removed:
            if _map(tables, each.family, table, each.set).pop(each.key, None) is None:
                raise NftGone(f"No such file or directory: {each}")
        for each in change.added:
            _add(tables, table, each)
        self._made(tables)

    def fill(self, table: str, elements: Iterable[Element]) -> None:
        self.change(table, Transaction(added=tuple(elements)), {})

    def copy(self, family: str, old: str, new: str, name: str, wanted: Callable[[Element], bool]) -> list[Element]:
        found = [each for each in self.elements(family, old, name) if wanted(each)]
        self.fill(new, found)
        left, copied = self.all[family, old].left, ((name, each.key) for each in found)
        self.all[family, new].left |= {which: left[which] for which in copied if which in left}
        return found

    def remember(self, table: str, recalled: Sequence[Recalled]) -> int:
        self._point("rules")
        tables = {where: each.copy() if where[1] == table else each for where, each in self.all.items()}
        taken = 0
        for each, seconds, there in recalled:
            if (each.family, table) not in tables:
                continue
            found = _map(tables, each.family, table, each.set)
            if there == (each.key in found):
                found[each.key] = each
                tables[each.family, table].left[each.set, each.key] = seconds
                taken += 1
        if taken:
            self._made(tables)
        return min(taken, 1)

    def remembered(self, family: str, table: str, name: str) -> Iterator[tuple[Element, float]]:
        left = _table(self.all, family, table).left
        for each in self.elements(family, table, name):
            yield each, left.get((name, each.key), 0.0)

    def forget(self, family: str, table: str, name: str, unwanted: Callable[[Element], bool]) -> int:
        found = [each for each in self.elements(family, table, name) if unwanted(each)]
        for each in found:
            self.change(table, Transaction(removed=(each,)), {})
        return len(found)

    def switch(self, on: str, off: str) -> None:
        self._point("rules")
        tables = {where: each for where, each in self.all.items() if where[1] != off}
        for family in FAMILIES:
            tables[family, on] = _table(tables, family, on).copy()
            tables[family, on].awake = True
        self._made(tables)

    def tables(self) -> dict[tuple[str, str], bool]:
        return {where: each.awake for where, each in self.all.items()}

    def elements(self, family: str, table: str, name: str) -> Iterator[Element]:
        yield from list(_map(self.all, family, table, name).values())

    def counted(self, family: str, table: str, name: str) -> Iterator[tuple[Element, int, int]]:
        for each in self.elements(family, table, name):
            yield each, self.passed, self.passed

    def fingerprint(self, table: str) -> str:
        return repr([sorted(_table(self.all, family, table).chains) for family in FAMILIES])

    def generation(self) -> int:
        return self._generation

    def spoil(self, tables: dict[tuple[str, str], Table]) -> None:
        """Somebody else changes rules."""
        self._made(tables)

    @property
    def in_force(self) -> frozenset[Element]:
        """The elements of all tables that are awake."""
        awake = [each for each in self.all.values() if each.awake]
        return frozenset(one for each in awake for found in each.maps.values() for one in found.values())

    @property
    def vips(self) -> set[bytes]:
        """The addresses for which there are rules."""
        awake = [each for each in self.all.values() if each.awake]
        return {key for each in awake for key in each.maps.get("vips", {})}

    def _made(self, tables: dict[tuple[str, str], Table]) -> None:
        self.all = tables
        self._generation += 1


class Daemon:
    """A master at all times. It outlives the agent; `running` is taken away from outside."""

    def __init__(self, point: Point) -> None:
        self.text = ""
        self.addresses: frozenset[str] = frozenset()
        self.alive = False
        self.lowered_by = 0
        self.hanging = False
        self.own: frozenset[str] = frozenset()
        self.six = True
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

    def holding(self) -> frozenset[int]:
        return frozenset({0}) if self.state() is Vrrp.MASTER else frozenset()

    def changes(self) -> int | None:
        return None

    def heard(self) -> dict[str, Vrrp]:
        return {}

    def lower(self, by: int) -> None:
        self._point("vrrp")
        self.lowered_by = by

    def lowered(self) -> bool:
        return self.lowered_by > 0

    def hangs(self) -> bool:
        return self.hanging

    def end(self) -> None:
        self.alive = self.hanging = False

    def there(self) -> frozenset[str]:
        return self.own | self.addresses

    def has_six(self) -> bool:
        return self.six

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

    def append(self, name: str, content: bytes) -> None:
        self._point("disk")
        self._check(name)
        self._disk.append(name, content)

    def rename(self, old: str, new: str) -> None:
        self._point("disk")
        self._check(old)
        self._disk.rename(old, new)

    def sync(self, name: str) -> None:
        self._point("disk")
        self._check(name)
        self._disk.sync(name)

    def sync_names(self) -> None:
        self._point("disk")
        self._disk.sync_names()

    def _check(self, name: str) -> None:
        if self._disk.read(name) is None:
            raise DiskError(f"{name}: No such file or directory")


class Connections:
    """Remembers what was to be forgotten."""

    def __init__(self) -> None:
        self.addresses: list[frozenset[str]] = []
        self.ways: list[Way] = []
        self.strays: list[tuple[frozenset[str], frozenset[str], frozenset[Way]]] = []

    def count(self) -> int:
        return 0

    def limit(self) -> int:
        return 0

    def forget_addresses(self, addresses: Collection[str]) -> int:
        self.addresses.append(frozenset(addresses))
        return 0

    def forget_ways(self, ways: Collection[Way]) -> int:
        self.ways += ways
        return 0

    def forget_strays(self, addresses: Collection[str], protocols: Collection[str], ways: Collection[Way]) -> int:
        self.strays.append((frozenset(addresses), frozenset(protocols), frozenset(ways)))
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
        self.unreached: set[str] = set()
        self._journal = journal
        self._checked: tuple[dict[tuple[str, str], Table], frozenset[str]] = ({}, frozenset())

    @property
    def host(self) -> Host:
        journal = self._journal(PointedDisk(self.disk, self._point))
        return Host(journal, self.kernel, self.daemon, self.connections, self.kernel, self._answers)

    def copy(self, point: Point) -> "Machine":
        """Another host that is as this one is now."""
        other = Machine(point, self._journal)
        other.kernel.all = dict(self.kernel.all)
        other.daemon.text, other.daemon.addresses = self.daemon.text, self.daemon.addresses
        other.daemon.alive, other.daemon.lowered_by = self.daemon.alive, self.daemon.lowered_by
        other.disk = copy.deepcopy(self.disk)
        return other

    async def _answers(self, target: Backend) -> bool:
        return target.address not in self.unreached

    def check(self) -> None:
        looked_at = (self.kernel.all, self.daemon.addresses)
        if looked_at[0] is not self._checked[0] or looked_at[1] is not self._checked[1]:
            self._checked = looked_at
            vips = self.kernel.vips
            bare = [each for each in sorted(self.daemon.addresses) if ipaddress.ip_address(each).packed not in vips]
            self.bare = bare[0] if bare else self.bare

    def _point(self, kind: str) -> None:
        self.check()
        self._outer(kind)


def _table(tables: dict[tuple[str, str], Table], family: str, table: str) -> Table:
    found = tables.get((family, table))
    if found is None:
        raise NftGone(f"No such file or directory: table {family} {table}")
    return found


def _map(tables: dict[tuple[str, str], Table], family: str, table: str, name: str) -> dict[bytes, Element]:
    found = _table(tables, family, table).maps.get(name)
    if found is None:
        raise NftGone(f"No such file or directory: {name} of {family} {table}")
    return found


def _add(tables: dict[tuple[str, str], Table], table: str, element: Element) -> None:
    there = _map(tables, element.family, table, element.set)
    overlapping = element.end and any(
        each.key <= element.end and element.key <= each.end for each in there.values() if each != element
    )
    if overlapping or there.setdefault(element.key, element) != element:
        raise NftError(f"File exists: {element}")
    chains = _table(tables, element.family, table).chains
    if isinstance(element.value, str) and element.value not in chains:
        raise NftGone(f"No such file or directory: {element}")
