"""Programs of the outside client: calls that go on while something happens, and connections that are held open."""

import json
import subprocess
from typing import Self

import msgspec

from mooring.lab.lab import Lab
from mooring.lab.place import DATA

PROGRAMS = DATA / "client"
IMPATIENT = 0.2
"""How long a call waits where silence is measured, in seconds."""
PATIENT = 0.9
"""How long where none may fail: a busy machine may be slow, but what is lost is sent again only after a second."""


class Calls(msgspec.Struct, frozen=True):
    """How it went."""

    answered: int
    failed: int
    by: dict[str, int]
    errors: dict[str, int]
    longest: float


class _Program:
    """A program in a host that is spoken to by its input and output."""

    def __init__(self, lab: Lab, host: str, name: str, *words: str) -> None:
        command = [*lab.hosts.enter(host), "/usr/bin/python3", str(PROGRAMS / name), *words]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


class Caller(_Program):
    """Calls a web server again and again, a new connection each time."""

    def __init__(self, lab: Lab, host: str, address: str, port: int = 80, *, patience: float = IMPATIENT) -> None:
        super().__init__(lab, host, "calls.py", address.strip("[]"), str(port), str(patience))

    def end(self) -> Calls:
        """Stop calling; how it went."""
        output, _ = self._process.communicate()
        return msgspec.convert(json.loads(output), Calls)


class Connections(_Program):
    """Connections that a host holds open to an echo server."""

    def __init__(self, lab: Lab, host: str, address: str, *, count: int, port: int = 80) -> None:
        super().__init__(lab, host, "connections.py", address.strip("[]"), str(port), str(count))
        self.count = count

    def working(self, *, first: bool = False, pieces: int = 0) -> int:
        """How many of them carry a word there and back, now, or so many pieces of 16 KiB.

        The first answer comes without asking.
        """
        if not first:
            print(f"check {pieces}" if pieces else "check", file=self._process.stdin, flush=True)
        if self._process.stdout is None:
            return 0
        return int(self._process.stdout.readline() or 0)
