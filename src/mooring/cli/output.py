"""Pages for people and for machines. What stands on a page is decided elsewhere.

On a terminal tables have colours and fold what is too wide. Elsewhere they are plain columns, and no value is ever
cut: what reads them then is a program or a file.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import click
import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

GAP = "  "
STYLES: Mapping[str, str] = {
    **dict.fromkeys(("ok", "served", "yes", "master"), "green"),
    **dict.fromkeys(("warn", "refusing", "waiting", "stale", "backup"), "yellow"),
    **dict.fromkeys(("not", "stuck", "unknown", "no", "fault", "stopped"), "red"),
}


class Table(Struct, frozen=True):
    """Columns under a heading. A table without rows is not shown."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Lines(Struct, frozen=True):
    lines: tuple[str, ...]


Page: TypeAlias = "tuple[Table | Lines, ...]"


def show(page: Page) -> None:
    """Print a page on standard output."""
    if not sys.stdout.isatty():
        click.echo(plain(page))
        return
    from rich.console import Console  # noqa: PLC0415 - only who looks at a terminal waits for it

    draw(page, Console(highlight=False))


def show_json(report: Struct) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2))


def plain(page: Page) -> str:
    """The blocks of a page as text, with an empty line between them."""
    texts = ["\n".join(_lines(block)) for block in page]
    return "\n\n".join(text for text in texts if text)


def draw(page: Page, console: "Console") -> None:
    """The same on a terminal."""
    shown = [block for block in page if (block.rows if isinstance(block, Table) else block.lines)]
    for number, block in enumerate(shown):
        if number:
            console.print()
        console.print(_rich(block))


def cut(items: Iterable[str], most: int | None) -> str:
    """Some of many, and how many there are beside them; None is without limit."""
    every = list(items)
    shown = every if most is None else every[:most]
    more = len(every) - len(shown)
    return ", ".join([*shown, f"and {more:,} more"] if more else shown)


def ports(every: Iterable[str], most: int | None) -> str:
    """Some of many ports such as 80/TCP; where one follows another, 80-89/TCP stands for all of them."""
    numbers: dict[str, list[int]] = {}
    for port in every:
        text, _, protocol = port.partition("/")
        numbers.setdefault(protocol, []).append(int(text))
    found: list[tuple[int, int, str]] = []
    for protocol, each in numbers.items():
        for number in sorted(each):
            joins = bool(found) and found[-1][1:] == (number - 1, protocol)
            found.append((found.pop()[0] if joins else number, number, protocol))
    spans = (f"{first}/{name}" if first == last else f"{first}-{last}/{name}" for first, last, name in sorted(found))
    return cut(spans, most)


def printable(text: str) -> str:
    """Without line ends, escape sequences of terminals and whatever else cannot be seen: others wrote some of it."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _lines(block: Table | Lines) -> Iterator[str]:
    if isinstance(block, Lines):
        yield from map(printable, block.lines)
        return
    if not block.rows:
        return
    rows = [tuple(each.upper() for each in block.head), *(tuple(map(printable, row)) for row in block.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield GAP.join(cells).rstrip()


def _rich(block: Table | Lines) -> "RenderableType":
    """Names and messages are Text, never markup: a bracket in one is a bracket."""
    from rich import table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415

    if isinstance(block, Lines):
        return Text("\n".join(map(printable, block.lines)))
    view = table.Table(box=None, header_style="bold", pad_edge=False)
    for each in block.head:
        view.add_column(each.upper(), overflow="fold")
    for row in block.rows:
        view.add_row(*(Text(printable(cell), style=STYLES.get(cell, "")) for cell in row))
    return view
