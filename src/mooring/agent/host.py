"""What an agent needs of its host. The real parts are in `mooring.host`; the simulation has others."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from mooring.host.connections import Way
from mooring.host.reaching import connects
from mooring.model.gateway import Backend, Vrrp
from mooring.model.rules import Element, Recalled, Transaction


class Journal(Protocol):
    """Keeps lines, whatever happens. `torn`: nothing may be added until all is written anew."""

    torn: bool

    @property
    def grown(self) -> bool: ...

    def read(self) -> tuple[bytes, ...] | None: ...

    def prepare(self, content: bytes) -> None:
        """Make a new first line ready, without touching what counts."""

    def commit(self) -> None:
        """Let the line that is ready count, in place of all."""

    def add(self, change: bytes) -> None:
        """Let a further line count."""

    def set_aside(self) -> None:
        """Let no line count, and keep those that did for people."""


class Filter(Protocol):
    """The kernel's packet filter. Each change is made wholly or not at all."""

    def run(self, text: str) -> str: ...

    def change(self, table: str, change: Transaction, chains: dict[int, str]) -> None: ...

    def fill(self, table: str, elements: Iterable[Element]) -> None: ...

    def copy(self, family: str, old: str, new: str, name: str, wanted: Callable[[Element], bool]) -> list[Element]: ...

    def forget(self, family: str, table: str, name: str, unwanted: Callable[[Element], bool]) -> int: ...

    def remember(self, table: str, recalled: Sequence[Recalled]) -> int: ...

    def remembered(self, family: str, table: str, name: str) -> Iterable[tuple[Element, float]]: ...

    def switch(self, on: str, off: str) -> None: ...

    def tables(self) -> dict[tuple[str, str], bool]: ...

    def elements(self, family: str, table: str, name: str) -> Iterable[Element]: ...

    def counted(self, family: str, table: str, name: str) -> Iterable[tuple[Element, int, int]]: ...

    def fingerprint(self, table: str) -> str: ...

    def generation(self) -> int: ...


class Daemon(Protocol):
    """The VRRP daemon, which outlives the agent."""

    def configuration(self) -> str: ...

    def configure(self, text: str, *, held: frozenset[str], released: frozenset[str]) -> None: ...

    def start(self) -> None: ...

    def running(self) -> bool: ...

    def state(self) -> Vrrp: ...

    def holding(self) -> frozenset[int]:
        """The instances that it is master of."""

    def changes(self) -> int | None:
        """A descriptor that can be read when its state has changed; None, where there is none."""

    def heard(self) -> Mapping[str, Vrrp]:
        """Take in what it said of its state since."""

    def lower(self, by: int) -> None: ...

    def lowered(self) -> bool:
        """Whether it was lowered last, by whichever agent."""

    def hangs(self) -> bool:
        """Whether it is there and does nothing."""

    def end(self) -> None:
        """End it at once."""

    def there(self) -> frozenset[str]:
        """All addresses that the host has."""

    def has_six(self) -> bool:
        """Whether it can hold addresses of IPv6."""

    def mark_alive(self, seconds: float) -> None:
        """Let it know that the agent lives. It gives way to others when this is not done again in that time."""


class Connections(Protocol):
    def forget_addresses(self, addresses: Collection[str]) -> int: ...

    def forget_ways(self, ways: Collection[Way]) -> int: ...

    def forget_strays(self, addresses: Collection[str], protocols: Collection[str], ways: Collection[Way]) -> int: ...

    def count(self) -> int:
        """How many there are now; 0, if nobody can tell."""

    def limit(self) -> int:
        """How many there can be; 0, if nobody can tell."""


Ask: TypeAlias = Callable[[Backend], Awaitable[bool]]
"""Whether somebody answers there."""


class Host(Struct, frozen=True):
    """`reader`: the same packet filter, for threads that only look."""

    journal: Journal
    filter: Filter
    daemon: Daemon
    connections: Connections
    reader: Filter
    ask: Ask = connects
