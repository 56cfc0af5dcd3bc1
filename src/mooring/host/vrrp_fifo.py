"""What keepalived says of itself, line by line, in a FIFO of ours: `INSTANCE "mooring" MASTER 250`.

keepalived neither waits for a reader nor ends without one: it opens both ends itself, and what does not fit is lost. So
what is heard here is never all that one knows.
"""

import os
import re
import stat
import threading
from collections.abc import Mapping
from pathlib import Path

from mooring.model.gateway import Vrrp

LINE = re.compile(r'INSTANCE "(?P<name>[^"]*)" (?P<word>[A-Z_]+) [0-9]+')
WORDS = {"MASTER": Vrrp.MASTER, "BACKUP": Vrrp.BACKUP, "FAULT": Vrrp.FAULT, "STOP": Vrrp.STOPPED}
GONE = "DELETED"
CHUNK = 1 << 16


def after(before: Mapping[str, Vrrp], line: str) -> dict[str, Vrrp]:
    """The state of each instance by its name. Lines of others and words that are no states change nothing."""
    found = LINE.fullmatch(line)
    states = dict(before)
    if found is None:
        return states
    if found["word"] == GONE:
        states.pop(found["name"], None)
    elif found["word"] in WORDS:
        states[found["name"]] = WORDS[found["word"]]
    return states


class Fifo:
    """May be used by several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._rest = b""
        self._states: dict[str, Vrrp] = {}
        self._one_at_a_time = threading.Lock()

    def make(self) -> None:
        """One that keepalived made itself would go with it; so it finds ours."""
        try:
            if stat.S_ISFIFO(self._path.lstat().st_mode):
                return
            self._path.unlink()
        except FileNotFoundError:
            pass
        os.mkfifo(self._path, 0o600)

    def open(self) -> int:
        """The descriptor, which never blocks. Open for writing too: without a writer it would be ready all the time."""
        with self._one_at_a_time:
            return self._open()

    def heard(self) -> Mapping[str, Vrrp]:
        """What each instance said last, with all that has been said until now."""
        with self._one_at_a_time:
            *lines, self._rest = (self._rest + _drained(self._open())).split(b"\n")
            for line in lines:
                self._states = after(self._states, line.decode(errors="replace"))
            return self._states

    def close(self) -> None:
        with self._one_at_a_time:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            self.make()
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        return self._descriptor


def _drained(descriptor: int) -> bytes:
    said = b""
    try:
        while more := os.read(descriptor, CHUNK):
            said += more
    except BlockingIOError:
        pass
    return said
