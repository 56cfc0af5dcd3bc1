"""Holds TCP connections to an echo server open, and tells on request how many of them still work.

    connections.py ADDRESS PORT COUNT
    reads lines: `check` -> sends a word on each connection, prints how many came back; end of input ends it
                 `check 64` -> so many times 16 KiB instead: much more than a window

Run by the system's Python in a host of the lab; needs nothing but the standard library.
"""

import socket
import sys

PATIENCE = 8.0
PIECE = bytes(16 * 1024)


def connect(address: str, port: int) -> socket.socket:
    connection = socket.create_connection((address, port), timeout=PATIENCE)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection


def works(connection: socket.socket, word: bytes) -> bool:
    try:
        connection.sendall(word)
        got = b""
        while len(got) < len(word):
            piece = connection.recv(len(word) - len(got))
            if not piece:
                return False
            got += piece
    except OSError:
        return False
    return got == word


def main() -> None:
    address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    connections = [connect(address, port) for _ in range(count)]
    print(sum(works(each, b"hello\n") for each in connections), flush=True)  # noqa: T201 - this is how it answers
    for number, line in enumerate(sys.stdin):
        pieces = [PIECE] * int(line.split()[1]) if len(line.split()) > 1 else [b"still %d\n" % number]
        print(sum(all(works(each, piece) for piece in pieces) for each in connections), flush=True)  # noqa: T201 - as above


main()
