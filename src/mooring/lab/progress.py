"""What people see while a lab comes up: live lines in a terminal, plain ones elsewhere; and where the time went."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mooring.lab.parts import Part
from mooring.lab.runner import Took, path

NOTICEABLE = 0.05


class PlainProgress:
    """One line per part; for logs and pipes."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._total = 0
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def planned(self, parts: Sequence[Part]) -> None:
        """Remember how many there are."""
        self._total = len(parts)

    def began(self, part: str) -> None:
        """Say nothing: the end of a part is what counts."""

    def finished(self, part: str, seconds: float) -> None:
        """Say that a part is up, and when."""
        self._done += 1
        self._say(f"{part} ({seconds:.1f} s)")

    def failed(self, part: str) -> None:
        """Say which part it was."""
        self._say(f"{part} FAILED")

    def _say(self, what: str) -> None:
        print(f"{time.monotonic() - self._begin:6.1f} s  {self._done:2}/{self._total}  {what}", flush=True)  # noqa: T201 - its only purpose


class LiveProgress(PlainProgress):
    """Parts that are being started stand below, with their seconds running; finished ones scroll away above."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._running: dict[str, float] = {}
        self._live = Live(console=console, get_renderable=self._table, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def began(self, part: str) -> None:
        """Show it below."""
        self._running[part] = time.monotonic()

    def finished(self, part: str, seconds: float) -> None:
        """Let it scroll away."""
        self._done += 1
        self._running.pop(part, None)
        if seconds >= NOTICEABLE:
            self._console.print(Text.assemble(("✔ ", "green"), f"{part:<28}", (f"{seconds:6.1f} s", "dim")))

    def failed(self, part: str) -> None:
        """Mark it."""
        self._running.pop(part, None)
        self._console.print(Text.assemble(("✘ ", "red"), part))

    def _table(self) -> Table:
        now = time.monotonic()
        table = Table.grid(padding=(0, 1))
        table.add_row(Text(f"{self._done} of {self._total} parts, {now - self._begin:.0f} s", style="bold"))
        for part, began in list(self._running.items())[:12]:
            table.add_row(Text.assemble(("… ", "yellow"), f"{part:<28}", (f"{now - began:6.1f} s", "dim")))
        return table


def progress() -> PlainProgress:
    """The form that fits where the output goes."""
    console = Console()
    return LiveProgress(console) if console.is_terminal and sys.stdout.isatty() else PlainProgress()


def times(took: Sequence[Took], *, count: int = 12) -> Table:
    """Where the time went: the chain of parts that decided it, each waiting for the one above."""
    table = Table(box=None)
    table.add_column("part")
    table.add_column("began", justify="right")
    table.add_column("took", justify="right")
    for each in [each for each in path(took) if each.seconds >= NOTICEABLE][-count:]:
        table.add_row(each.part, f"{each.began:.1f} s", f"{each.seconds:.1f} s")
    return table
