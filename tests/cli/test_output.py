"""Pages: plain and whole for programs, folded and coloured for terminals."""

import io
import re

import pytest
from rich.console import Console

from mooring.cli import output
from mooring.cli.output import Lines, Page, Table

WIDE = "x" * 300
PAGE = (Lines(("First.",)), Table(("name", "state"), (("a", "ok"), (WIDE, "not"))), Table(("none",), ()), Lines(()))


def drawn(page: Page, width: int) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=width, highlight=False)
    with console.capture() as captured:
        output.draw(page, console)
    return captured.get()


def test_plain_columns_cut_nothing() -> None:
    gap = " " * 299
    assert output.plain(PAGE) == f"First.\n\nNAME{' ' * 296}  STATE\na{gap}  ok\n{WIDE}  not"


def test_a_terminal_gets_all_of_it_in_its_width() -> None:
    shown = drawn(PAGE, width=40)
    assert shown.startswith("First.\n\n")
    assert shown.count("x") == 300
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 40 for line in shown.splitlines())
    assert "\x1b[32mok" in shown
    assert "\x1b[31mnot" in shown


@pytest.mark.parametrize("text", ["a\x1b[31mb", "a\nb", "a\rb", "a\u202eb", "[red]a[/red]"])
def test_nobody_commands_the_terminal(text: str) -> None:
    page = (Lines((text,)), Table(("name",), ((text,),)))
    plain = output.plain(page)
    assert plain.replace("\n", "").isprintable()
    assert plain.count("\n") == 3
    shown = drawn(page, width=80)
    assert output.printable(text) in shown
    assert "\x1b[31m" not in shown


def test_some_of_many() -> None:
    assert output.cut(["a", "b"], 2) == "a, b"
    assert output.cut(["a", "b", "c"], 2) == "a, b, and 1 more"
    assert output.cut(["a", "b", "c"], None) == "a, b, c"


@pytest.mark.parametrize(
    ("every", "told"),
    [
        ([], ""),
        (["80/TCP"], "80/TCP"),
        (["81/TCP", "80/TCP", "443/TCP"], "80-81/TCP, 443/TCP"),
        (["80/TCP", "81/UDP", "80/UDP"], "80/TCP, 80-81/UDP"),
        ([f"{port}/TCP" for port in range(1000, 1900)], "1000-1899/TCP"),
        ([f"{port}/TCP" for port in range(10, 18, 2)], "10/TCP, 12/TCP, 14/TCP, and 1 more"),
    ],
)
def test_ports_that_follow_one_another_are_told_together(every: list[str], told: str) -> None:
    assert output.ports(every, 3) == told
