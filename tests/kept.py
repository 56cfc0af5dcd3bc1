"""What of the long tests was run already, of just this source: `make soak` takes hours, and goes on where it was ended.

A folder below `build/soak` belongs to one digest of all Python files. In it, `passed` lists tests that are done; every
test that is run in parts has a file of its own with what each of its parts came to. A change of any line begins anew.
"""

import functools
import hashlib
import re
from pathlib import Path
from typing import TypeVar

import msgspec

ROOT = Path(__file__).parents[1]
PASSED = "passed"

T = TypeVar("T")


@functools.cache
def folder(root: Path = ROOT) -> Path:
    """Where the results of this source are."""
    digest = hashlib.sha256()
    for file in sorted(each for top in ("src", "tests") for each in (root / top).rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return root / "build" / "soak" / digest.hexdigest()[:16]


class Kept:
    """What the parts of one test came to. Without a file, nothing is kept and nothing is found."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file

    @classmethod
    def of_test(cls, where: Path, test: str) -> "Kept":
        return cls(where / (re.sub(r"[^A-Za-z0-9]+", "-", test).strip("-") + ".jsonl"))

    def found(self, result: type[T]) -> dict[int, T]:
        """By part what it came to; a line that was cut off says nothing."""
        found: dict[int, T] = {}
        for line in self._file.read_bytes().splitlines() if self._file and self._file.exists() else ():
            try:
                part, came_to = msgspec.json.decode(line, type=tuple[int, result])  # type: ignore[valid-type]
            except msgspec.MsgspecError:
                continue
            found[part] = came_to
        return found

    def add(self, part: int, result: object) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("ab") as file:
            file.write(b"\n" + msgspec.json.encode((part, result)) + b"\n")


def passed(where: Path) -> frozenset[str]:
    """The tests that passed."""
    file = where / PASSED
    return frozenset(file.read_text().splitlines()) if file.exists() else frozenset()


def add_passed(where: Path, test: str) -> None:
    where.mkdir(parents=True, exist_ok=True)
    with (where / PASSED).open("a") as file:
        file.write(f"{test}\n")
