"""A folder for one process at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

from mooring.host import locking
from mooring.host.locking import Locked

HOLD = """
import sys
from pathlib import Path
from mooring.host import locking
with locking.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_who_comes_second_is_told_what_to_do(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "state")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(Locked, match=r"another agent works with .*; end it first"),
            locking.held(tmp_path / "state"),
        ):
            pytest.fail("it is held")
        other.kill()
    with locking.held(tmp_path / "state"):
        pass
    with locking.held(tmp_path / "state"):
        pass


def test_a_folder_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Locked, match=r"Not a directory|File exists"), locking.held(tmp_path / "file" / "state"):
        pytest.fail("it is no folder")
