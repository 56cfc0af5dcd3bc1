"""Calls from the hosts of the lab, as a user's program would make them."""

from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab


def get(lab: Lab, host: str, address: str, port: int = 80) -> str:
    """What a web server answers to a host; nothing when it does not. Long enough for a lost first packet."""
    try:
        return lab.hosts.run(
            host, ["curl", "--silent", "--globoff", "--max-time", "4", f"http://{address}:{port}/"]
        ).strip()
    except CommandError:
        return ""
