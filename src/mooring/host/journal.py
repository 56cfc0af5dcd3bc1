"""What an agent was told, kept on a disk so that no crash takes it away or leaves a half of it.

One file of lines: the first is all that was told once, each further one what changed. A new first line is made ready in
another file, where a full disk shows, and takes the old one's place later, in one step. Each line bears a checksum: one
that was cut off by a crash was never acknowledged, and does not count.
"""

import zlib

from mooring.host.disk import Disk
from mooring.host.errors import HostError

NAME = "document.json"
READY = "document.new"
DAMAGED = "document.damaged"
LEAST_GROWTH = 1 << 20
"""Bytes of changes that are not worth a new first line."""


class JournalDamaged(HostError):
    """What stands in the journal is not what was written. The text says why."""


class Journal:
    """Lines, wholly there or not at all after a crash anywhere; surely there after `commit` or `add`.

    `torn`: what stands at the end is half a line, behind which nothing may be added.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._whole = self._ready = self._changes = 0
        self.torn = False

    @property
    def grown(self) -> bool:
        """Whether the changes are so many that all in one would be read sooner."""
        return self._changes > max(self._whole, LEAST_GROWTH)

    def read(self) -> tuple[bytes, ...] | None:
        """The lines; None, if there is no journal."""
        content = self._disk.read(NAME)
        if content is None:
            return None
        *lines, rest = content.split(b"\n")
        kept = [each for each in map(_checked, lines) if each is not None]
        self.torn = bool(rest) or len(kept) < len(lines)
        if not kept or _checked(lines[0]) is None:
            raise JournalDamaged("its first line is not what was written")
        if len(kept) < len(lines) - 1 or (rest and len(kept) < len(lines)):
            raise JournalDamaged("a line that is not its last one is not what was written")
        self._whole, self._changes = len(kept[0]), sum(map(len, kept[1:]))
        return tuple(kept)

    def prepare(self, content: bytes) -> None:
        """Make a new first line ready, without touching what counts."""
        self._disk.write(READY, _line(content))
        self._disk.sync(READY)
        self._ready = len(content)

    def commit(self) -> None:
        """Let the line that is ready count, in place of all."""
        self._disk.rename(READY, NAME)
        self._disk.sync_names()
        self._whole, self._changes, self.torn = self._ready, 0, False

    def add(self, change: bytes) -> None:
        """Let a further line count. When that fails, nobody knows how much of it is there."""
        self.torn = True
        self._disk.append(NAME, _line(change))
        self._disk.sync(NAME)
        self.torn = False
        self._changes += len(change)

    def set_aside(self) -> None:
        """Of those that were set aside, the last one is kept."""
        self._disk.rename(NAME, DAMAGED)
        self._disk.sync_names()


def _line(content: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _checked(line: bytes) -> bytes | None:
    sum_, _, content = line.partition(b" ")
    return content if sum_ == b"%08x" % zlib.crc32(content) else None
