"""What an agent needs of its host. The real parts are in `mooring.host`; the simulation has others."""

from collections.abc import Collection
from typing import Protocol

from msgspec import Struct

from mooring.host.connections import Way
from mooring.model.gateway import Vrrp


class Journal(Protocol):
    """Keeps one text, whatever happens."""

    def read(self) -> bytes | None: ...

    def prepare(self, content: bytes) -> None:
        """Make a new text ready, without touching the one that counts."""

    def commit(self) -> None:
        """Let the text that is ready count."""

    def set_aside(self) -> None:
        """Let no text count, and keep the one that did for people."""


class Rules(Protocol):
    def run(self, text: str) -> str:
        """Carry out a text for nft, all of it or nothing."""

    def handles(self, table: str) -> tuple[int, ...]:
        """The kernel's numbers of the tables of that name, of one family each; 0: there is none."""


class Daemon(Protocol):
    """The VRRP daemon, which outlives the agent."""

    def configuration(self) -> str: ...

    def configure(self, text: str, *, held: frozenset[str], released: frozenset[str]) -> None: ...

    def start(self) -> None: ...

    def running(self) -> bool: ...

    def state(self) -> Vrrp: ...

    def lower(self, by: int) -> None: ...

    def mark_alive(self, seconds: float) -> None:
        """Let it know that the agent lives. It gives way to others when this is not done again in that time."""


class Connections(Protocol):
    def forget_addresses(self, addresses: Collection[str]) -> int: ...

    def forget_ways(self, ways: Collection[Way]) -> int: ...


class Host(Struct, frozen=True):
    journal: Journal
    rules: Rules
    daemon: Daemon
    connections: Connections
