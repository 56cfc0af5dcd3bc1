"""Programs that end, programs that do not, and programs that leave others behind."""

import time
from pathlib import Path

import pytest

from mooring.host import commands
from mooring.lab import waiting


def test_the_status_and_all_that_was_said() -> None:
    assert commands.run(["sh", "-c", "echo one; echo two >&2; exit 3"], seconds=10) == (3, "one\ntwo\n")


def test_who_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    before = time.monotonic()
    note = tmp_path / "pid"
    with pytest.raises(TimeoutError, match=r"did not end within 0\.5 s"):
        commands.run(["sh", "-c", f"sleep 60 & echo $! >{note}; sleep 60"], seconds=0.5)
    assert time.monotonic() - before < 10
    started = Path(f"/proc/{note.read_text().strip()}/cmdline")  # empty, while nobody has asked how it ended
    waiting.until(lambda: not started.exists() or not started.read_bytes(), seconds=5, what="the other to end")


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    before = time.monotonic()
    assert commands.run(["sh", "-c", "sleep 20 & echo done"], seconds=15) == (0, "done\n")
    assert time.monotonic() - before < 10


def test_no_such_program() -> None:
    with pytest.raises(FileNotFoundError):
        commands.run(["/nowhere/program"], seconds=1)
