"""Asks `who`, each time from another port, and prints each answer, or `refused` or `silence`.

    ask.py [--source ADDRESS,...] [--ports FIRST] [--patience SECONDS] [--size BYTES] tcp|udp ADDRESS PORT COUNT
    a count of 0: until the input ends
    --source: from these addresses, one after the other, in place of any
    --ports: from these ports, one after the other, in place of any
    --size: says that much instead, and prints `whole` if the same comes back

Needs nothing but the standard library.
"""

import argparse
import itertools
import select
import socket
import struct
import sys

AT_ONCE = 16384
ABRUPT = struct.pack("ii", 1, 0)
"""Ends a connection so that its port is free at once."""


def ask(wanted: argparse.Namespace, number: int) -> str:
    kind = socket.SOCK_STREAM if wanted.protocol == "tcp" else socket.SOCK_DGRAM
    family = socket.AF_INET6 if ":" in wanted.address else socket.AF_INET
    with socket.socket(family, kind) as opened:
        opened.settimeout(wanted.patience)
        try:
            if wanted.ports:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if wanted.protocol == "tcp":
                    opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
            if wanted.ports or wanted.source:
                sources = wanted.source.split(",")
                opened.bind((sources[number % len(sources)], wanted.ports + number if wanted.ports else 0))
            opened.connect((wanted.address, wanted.port))
            if wanted.size:
                return repeated(opened, wanted.size)
            opened.send(b"who\n")
            return opened.recv(200).decode().strip()
        except ConnectionRefusedError:
            return "refused"
        except OSError:
            return "silence"


def repeated(opened: socket.socket, size: int) -> str:
    """Send many bytes and get them back; datagrams in one piece."""
    if opened.type == socket.SOCK_DGRAM:
        words = bytes(number % 251 for number in range(size))
        opened.send(words)
        return "whole" if opened.recv(65536) == words else "broken"
    for begin in range(0, size, AT_ONCE):
        words = bytes((begin + number) % 251 for number in range(min(AT_ONCE, size - begin)))
        opened.sendall(words)
        got = b""
        while len(got) < len(words):
            piece = opened.recv(AT_ONCE)
            if not piece:
                return "broken"
            got += piece
        if got != words:
            return "broken"
    return "whole"


def main() -> None:
    parser = argparse.ArgumentParser()
    for option, kind, usual in (("source", str, ""), ("ports", int, 0), ("patience", float, 3.0), ("size", int, 0)):
        parser.add_argument(f"--{option}", type=kind, default=usual)
    for argument, kind in (("protocol", str), ("address", str), ("port", int), ("count", int)):
        parser.add_argument(argument, type=kind)
    wanted = parser.parse_args()
    for asked in itertools.count():
        if asked == wanted.count and asked > 0:
            return
        if wanted.count == 0 and select.select([sys.stdin], [], [], 0)[0]:
            return
        print(ask(wanted, asked))  # noqa: T201 - this is how it answers


main()
