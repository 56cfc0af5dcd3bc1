"""The commands in the documentation, with what is to be done with each.

Every console block has a mark, a comment in the line above it that readers do not see:

    <!-- run -->             the tests execute it in a scratch directory, page by page; `run: exit 2` expects that code
    <!-- lab -->             the tests of the lab execute it against a running lab
    <!-- moored -->          the same, in a lab with Mooring in it, of which gw1 holds the addresses
    <!-- walk -->            the same, from a cluster without Mooring to one without it: install, upgrade, remove
    <!-- shown: reason -->   nobody executes it, and this is why

`moored: gw1` and `walk: gw1` are commands for the host of that gateway.

A mark `<!-- file: NAME -->` above a block of any language puts its text into the scratch directory.

In a block, a line that begins with `$ ` is a command (a backslash at its end continues it) and what follows is what it
prints. Without such lines any output will do; a line `...` stands for any number of lines, `...` within a line for any
text.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import msgspec

ROOT = Path(__file__).parents[2]

Kind = Literal["run", "lab", "moored", "walk", "shown", "file"]

FENCE = re.compile(r"(?P<indent> *)(?P<ticks>`{3,})(?P<language>[^`\s]*)[^`]*")
MARK = re.compile(r" *<!-- (?P<kind>run|lab|moored|walk|shown|file)(?:: (?P<note>.+))? -->")
EXIT = re.compile(r"exit (\d+)")
HOST = re.compile(r"gw\d+")
LOOK = re.compile(r"(mooring (status|plan|doctor|why|who|gateway list)|kubectl get)\b[^|>]*")
COMMANDS = ("run", "lab", "moored", "walk", "shown")
SHELLS = ("bash", "sh", "shell", "zsh", "shell-session")


class Command(msgspec.Struct, frozen=True):
    file: str
    line: int
    text: str
    output: tuple[str, ...] = ()
    exit_code: int = 0
    host: str = ""
    """The gateway on whose host it is to be run; else where people work."""

    @property
    def looks(self) -> bool:
        """Whether it changes nothing, and so may be asked again until what it shows has come about."""
        return LOOK.fullmatch(self.text) is not None


class Block(msgspec.Struct, frozen=True):
    file: str
    line: int
    kind: Kind
    note: str
    lines: tuple[str, ...]

    @property
    def commands(self) -> tuple[Command, ...]:
        return () if self.kind == "file" else tuple(_commands(self))


class MarkError(Exception):
    """A block that does not say what is to be done with it. The text names file, line and remedy."""


def pages(root: Path = ROOT) -> tuple[Path, ...]:
    return (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")))


def commands(kind: Kind, root: Path = ROOT) -> tuple[Command, ...]:
    """Every command of one kind, page by page."""
    return tuple(
        command
        for page in pages(root)
        for block in blocks(page.read_text(), page.relative_to(root).as_posix())
        if block.kind == kind
        for command in block.commands
    )


def blocks(text: str, file: str) -> tuple[Block, ...]:
    """The marked blocks of one page. Raises MarkError for one that should be marked and is not."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = FENCE.fullmatch(lines[at])
        if fence is None:
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == fence["ticks"]), len(lines))
        mark = MARK.fullmatch(lines[at - 1]) if at else None
        _complain(fence["language"], mark, f"{file}:{at + 1}")
        if mark is not None:
            inner = tuple(line.removeprefix(fence["indent"]) for line in lines[at + 1 : end])
            found.append(Block(file, at + 1, cast("Kind", mark["kind"]), mark["note"] or "", inner))
        at = end + 1
    return tuple(found)


def _complain(language: str, mark: re.Match[str] | None, where: str) -> None:
    kind = mark["kind"] if mark else None
    note = (mark["note"] or "") if mark else ""
    if language in SHELLS:
        raise MarkError(f"{where}: write commands as ```console, with `$ ` before each")
    if language == "console" and kind not in COMMANDS:
        raise MarkError(
            f"{where}: say in the line above: <!-- run -->, <!-- lab -->, <!-- moored -->, <!-- walk --> or "
            "<!-- shown: why -->"
        )
    if language != "console" and kind in COMMANDS:
        raise MarkError(f"{where}: only ```console blocks are {kind}")
    if kind in ("shown", "file") and not note:
        raise MarkError(f"{where}: <!-- {kind}: ... --> needs a text after the colon")
    hosted = kind in ("moored", "walk") and HOST.fullmatch(note)
    if kind not in ("shown", "file", None) and note and not EXIT.fullmatch(note) and not hosted:
        raise MarkError(f"{where}: the only notes are `exit N` and, for moored and walk, a gateway")


def _commands(block: Block) -> Iterator[Command]:
    expected = EXIT.fullmatch(block.note)
    exit_code = int(expected[1]) if expected else 0
    host = block.note if HOST.fullmatch(block.note) else ""
    starts = [n for n, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        first_output = start + 1
        while block.lines[first_output - 1].endswith("\\"):
            first_output += 1
        text = "\n".join(block.lines[start:first_output]).removeprefix("$ ")
        output = block.lines[first_output:end]
        yield Command(block.file, block.line + 1 + start, text, output, exit_code, host)


def fits(output: str, expected: tuple[str, ...]) -> bool:
    """Whether a command printed what the page says; empty lines at the end do not count."""
    if not expected:
        return True
    wanted = "\n".join(expected).rstrip("\n").split("\n")
    parts = (r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in wanted)
    return re.fullmatch("".join(parts), output.rstrip("\n") + "\n") is not None
