"""Calls from the hosts of the lab, as a user's program would make them."""

import subprocess
from pathlib import Path
from typing import Self

from mooring.lab import waiting
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab

PROGRAMS = Path(__file__).parent / "programs"


def get(lab: Lab, host: str, address: str, port: int = 80) -> str:
    """What a web server answers to a host; nothing when it does not. Long enough for a lost first packet."""
    try:
        return lab.hosts.run(
            host, ["curl", "--silent", "--globoff", "--max-time", "4", f"http://{address}:{port}/"]
        ).strip()
    except CommandError:
        return ""


def first_answer(lab: Lab, host: str, address: str, port: int = 80) -> str:
    """What a web server answers as soon as it does: rules for a new address take a moment."""
    answers: list[str] = []

    def answered() -> bool:
        answers.append(get(lab, host, address, port))
        return answers[-1] != ""

    waiting.until(answered, seconds=30, what=f"{address} to answer {host}")
    return answers[-1]


class Connections:
    """Connections that a host holds open to an echo server."""

    def __init__(self, lab: Lab, host: str, address: str, *, count: int) -> None:
        self.count = count
        program = [
            *lab.hosts.enter(host),
            "/usr/bin/python3",
            str(PROGRAMS / "connections.py"),
            address.strip("[]"),
            "80",
        ]
        self._process = subprocess.Popen(
            [*program, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def working(self, *, first: bool = False) -> int:
        """How many of them carry a word there and back, now. The first answer comes without asking."""
        if not first:
            print("check", file=self._process.stdin, flush=True)
        if self._process.stdout is None:
            return 0
        return int(self._process.stdout.readline() or 0)
