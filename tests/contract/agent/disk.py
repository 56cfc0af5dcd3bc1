"""What holds for a folder of files, and for the journal that is kept in it."""

import pytest

from mooring.host.disk import Disk, DiskError
from mooring.host.journal import DAMAGED, NAME, READY, Journal, JournalDamaged


class Files:
    def test_what_is_not_there_is_none(self, disk: Disk) -> None:
        assert disk.read("a") is None

    def test_a_file_holds_what_was_written_last(self, disk: Disk) -> None:
        disk.write("a", b"long before")
        disk.write("a", b"now")
        disk.sync("a")
        assert disk.read("a") == b"now"

    def test_what_is_appended_comes_behind(self, disk: Disk) -> None:
        disk.write("a", b"one")
        disk.append("a", b"two")
        assert disk.read("a") == b"onetwo"

    def test_a_file_takes_the_place_of_another(self, disk: Disk) -> None:
        disk.write("a", b"old")
        disk.write("b", b"new")
        disk.rename("b", "a")
        disk.sync_names()
        assert (disk.read("a"), disk.read("b")) == (b"new", None)

    def test_the_names_of_two_files_are_two(self, disk: Disk) -> None:
        disk.write("a", b"one")
        disk.write("b", b"two")
        assert (disk.read("a"), disk.read("b")) == (b"one", b"two")

    def test_what_is_not_there_is_told(self, disk: Disk) -> None:
        disk.write("b", b"")
        with pytest.raises(DiskError):
            disk.append("a", b"more")
        with pytest.raises(DiskError):
            disk.rename("a", "b")
        with pytest.raises(DiskError):
            disk.sync("a")
        assert (disk.read("a"), disk.read("b")) == (None, b"")


class Lines:
    def test_without_any_there_is_none(self, disk: Disk) -> None:
        assert Journal(disk).read() is None

    def test_what_is_ready_does_not_count_yet(self, disk: Disk) -> None:
        journal = Journal(disk)
        journal.prepare(b"one")
        assert Journal(disk).read() is None
        journal.commit()
        assert Journal(disk).read() == (b"one",)
        assert disk.read(READY) is None

    def test_lines_are_kept_in_their_order_until_a_new_first_one(self, disk: Disk) -> None:
        journal = Journal(disk)
        journal.prepare(b"one")
        journal.commit()
        journal.add(b"two")
        journal.add(b"three")
        assert Journal(disk).read() == (b"one", b"two", b"three")
        journal.prepare(b"four")
        journal.commit()
        assert Journal(disk).read() == (b"four",)

    def test_half_a_line_does_not_count_and_is_known(self, disk: Disk) -> None:
        journal = Journal(disk)
        journal.prepare(b"one")
        journal.commit()
        disk.append(NAME, b"0000 ha")
        again = Journal(disk)
        assert again.read() == (b"one",)
        assert again.torn

    def test_what_is_damaged_is_told_and_set_aside(self, disk: Disk) -> None:
        disk.write(NAME, b"0000 nonsense\n")
        journal = Journal(disk)
        with pytest.raises(JournalDamaged):
            journal.read()
        journal.set_aside()
        assert (Journal(disk).read(), disk.read(DAMAGED)) == (None, b"0000 nonsense\n")
