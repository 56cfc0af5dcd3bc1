"""Asks `who`, each time from another port, and prints each answer, or `refused` or `silence`.

    ask.py tcp|udp ADDRESS PORT COUNT
    a count of 0: until the input ends

Needs nothing but the standard library.
"""

import itertools
import select
import socket
import sys

PATIENCE = 3.0


def ask(kind: socket.SocketKind, address: str, port: int) -> str:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, kind) as opened:
        opened.settimeout(PATIENCE)
        try:
            opened.connect((address, port))
            opened.send(b"who\n")
            return opened.recv(200).decode().strip()
        except ConnectionRefusedError:
            return "refused"
        except OSError:
            return "silence"


def main() -> None:
    protocol, target, number, count = sys.argv[1:]
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    for asked in itertools.count():
        if asked == int(count) and asked > 0:
            return
        if count == "0" and select.select([sys.stdin], [], [], 0)[0]:
            return
        print(ask(kind, target, int(number)))  # noqa: T201 - this is how it answers


main()
