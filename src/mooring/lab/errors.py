"""What can go wrong in the lab.

LabError            says what, why and what to do; shown to people as it is
+-- PartError      one part of the lab did not come up or ended; carries the end of its log
+-- CommandError   a program that we ran answered with an error; carries what it printed
"""

from collections.abc import Sequence
from pathlib import Path

TAIL_LINES = 15
TAIL_BYTES = 2**20


class LabError(Exception):
    """Something that a person can read and act upon."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class PartError(LabError):
    """A part did not come up, or ended while it was needed."""

    def __init__(self, part: str, why: str, *, log: Path, since: int = 0, hint: str = "") -> None:
        lab = log.parent.parent.name
        look = f"look at `mooring lab logs --name {lab} {part}`; " if log.exists() else ""
        super().__init__(f"{part}: {why}", hint=hint or f"{look}`mooring lab down --name {lab}` ends what was started")
        self.part = part
        self.log = log
        self.since = since

    def log_tail(self) -> list[str]:
        """The last lines that the part wrote since it was started, if it wrote any."""
        return tail(self.log, TAIL_LINES, since=self.since)


class CommandError(LabError):
    """A program ended with another code than 0."""

    def __init__(self, argv: Sequence[str], code: int, output: str) -> None:
        said = "\n".join(output.strip().splitlines()[-TAIL_LINES:])
        super().__init__(f"`{' '.join(argv)}` ended with code {code}" + (f":\n{said}" if said else ""))
        self.code = code
        self.output = output


def tail(log: Path, lines: int, *, since: int = 0) -> list[str]:
    """The last lines of a file, but none before byte `since`; nothing if it is not there."""
    if lines < 1 or not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(since, file.tell() - TAIL_BYTES))
        return file.read().decode(errors="replace").splitlines()[-lines:]
