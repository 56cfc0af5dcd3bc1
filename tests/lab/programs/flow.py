"""One connection, or one flow of UDP: asks `who` for every line that it reads, always from the same port.

    flow.py tcp|udp ADDRESS PORT

Prints the answer, or `refused`, `reset` or `silence`. Needs nothing but the standard library.
"""

import socket
import sys

PATIENCE = 3.0


def asked(opened: socket.socket) -> str:
    try:
        opened.send(b"who\n")
        return opened.recv(200).decode().strip() or "closed"
    except ConnectionRefusedError:
        return "refused"
    except ConnectionResetError:
        return "reset"
    except OSError:
        return "silence"


protocol, address, port = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
with socket.socket(family, kind) as flow:
    flow.settimeout(PATIENCE)
    flow.connect((address, int(port)))
    for _ in sys.stdin:
        print(asked(flow), flush=True)  # noqa: T201 - this is how it answers
