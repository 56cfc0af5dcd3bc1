"""The journal on a real disk."""

from pathlib import Path

import pytest

from mooring.host.disk import DiskError, Folder
from mooring.host.journal import Journal


def test_what_is_committed_is_read_and_what_is_only_ready_is_not(tmp_path: Path) -> None:
    journal = Journal(Folder(tmp_path / "state"))
    assert journal.read() is None
    journal.prepare(b"first")
    assert journal.read() is None
    journal.commit()
    journal.prepare(b"second")
    assert Journal(Folder(tmp_path / "state")).read() == (b"first",)
    journal.commit()
    assert Journal(Folder(tmp_path / "state")).read() == (b"second",)


def test_nobody_else_may_look_into_the_folder(tmp_path: Path) -> None:
    Journal(Folder(tmp_path / "state")).prepare(b"")
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_an_error_names_the_file_and_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match=r"file/document.new: (Not a directory|File exists)"):
        Journal(Folder(tmp_path / "file")).prepare(b"")
    with pytest.raises(DiskError, match=r"document.json: No such file"):
        Journal(Folder(tmp_path)).commit()


def test_a_full_disk_is_told_and_the_old_text_is_there() -> None:
    folder = Folder(Path("/dev"))
    with pytest.raises(DiskError, match="No space left on device"):
        folder.write("full", b"x" * 10_000)
