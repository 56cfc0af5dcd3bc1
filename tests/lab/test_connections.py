"""Entries of the kernel's connection tracking, forgotten by what they are, in a namespace of its own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nft

INSIDE = """
import socket, subprocess
from mooring.host.connections import FEW, Connections, Way

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
rules = "table inet t { chain o { type filter hook output priority 0; ct state new accept; }; }"
subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=True)
FOURS = [f"127.0.1.{number}" for number in range(1, FEW + 11)]
for address in (*FOURS, "::1"):
    for port in (53, 54):
        for _ in range(3):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"x", (address, port))
table = Connections()
print(table.forget_ways([Way(FOURS[0], "UDP", 53, FOURS[0], 53), Way("::1", "UDP", 54, "::1", 54)]))
print(table.forget_ways([Way(FOURS[0], "UDP", 53, FOURS[0], 53)]))
print(table.forget_ways([Way(FOURS[1], "UDP", 53, FOURS[2], 53)]))
print(table.forget_strays(FOURS[:2], ["UDP"], [Way(FOURS[1], "UDP", 53, FOURS[1], 53)]))
print(table.forget_strays(FOURS[1:2], ["TCP"], []))
print(table.forget_addresses(["::1"]))
print(table.forget_addresses(FOURS))
"""


def test_just_those_are_forgotten_that_are_meant() -> None:
    """Three of each family; none twice; none of another way; strays; none of another protocol; all the rest."""
    command = ["unshare", "--net", sys.executable, "-c", INSIDE]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    many = 26 * 2 * 3
    assert told == ["6", "0", "0", "6", "0", "3", str(many - 3 - 6)]
