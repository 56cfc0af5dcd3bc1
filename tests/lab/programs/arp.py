"""Asks who has an IPv4 address, and prints every hardware address that answers.

    arp.py INTERFACE SOURCE TARGET WANTED

Asks until WANTED has answered some times, or for long enough. Needs nothing but the standard library.
"""

import contextlib
import socket
import struct
import sys
import time

ARP = 0x0806
HEADER = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
TIMES = 5
PATIENCE = 20.0
EVERY = 0.2


def main(interface: str, source: str, target: str, wanted: str) -> None:
    answers: list[str] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP)) as opened:
        opened.bind((interface, ARP))
        opened.settimeout(EVERY)
        own = opened.getsockname()[4]
        question = b"\xff" * 6 + own + struct.pack("!H", ARP) + HEADER
        question += own + socket.inet_aton(source) + bytes(6) + socket.inet_aton(target)
        end = time.monotonic() + PATIENCE
        while answers.count(wanted) < TIMES and time.monotonic() < end:
            opened.send(question)
            with contextlib.suppress(TimeoutError):
                while len(answers) < TIMES * TIMES:
                    frame = opened.recv(1500)
                    if frame[20:22] == b"\x00\x02" and frame[28:32] == socket.inet_aton(target):
                        answers.append(frame[22:28].hex(":"))
    sys.stdout.write("\n".join(sorted(set(answers))))


main(*sys.argv[1:])
