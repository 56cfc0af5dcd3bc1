"""What an agent was told last, kept on a disk so that no crash takes it away or leaves a half of it.

A new text is made ready first, where a full disk shows, and takes the old one's place later, in one step.
"""

from mooring.host.disk import Disk

NAME = "document.json"
READY = "document.new"
DAMAGED = "document.damaged"


class Journal:
    """One text, wholly old or wholly new after a crash anywhere; surely new after `commit`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def read(self) -> bytes | None:
        return self._disk.read(NAME)

    def prepare(self, content: bytes) -> None:
        self._disk.write(READY, content)
        self._disk.sync(READY)

    def commit(self) -> None:
        self._disk.rename(READY, NAME)
        self._disk.sync_names()

    def set_aside(self) -> None:
        """Of those that were set aside, the last one is kept."""
        self._disk.rename(NAME, DAMAGED)
        self._disk.sync_names()
