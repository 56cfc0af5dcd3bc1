"""Calls from the hosts of the lab, as a user's program would make them."""

from pathlib import Path

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
