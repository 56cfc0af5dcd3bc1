"""One flow of UDP: asks `who` for every line that it reads, always from the same port, and prints the answer.

    flow.py ADDRESS PORT

Needs nothing but the standard library.
"""

import socket
import sys

PATIENCE = 3.0

family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as opened:
    opened.settimeout(PATIENCE)
    opened.connect((sys.argv[1], int(sys.argv[2])))
    for _ in sys.stdin:
        opened.send(b"who\n")
        print(opened.recv(200).decode().strip(), flush=True)  # noqa: T201 - this is how it answers
