"""The first two messages of SCTP, by hand: where the kernel has no SCTP, packets still have to reach their backend.

    sctp.py answer ADDRESS...           answers each INIT with the last part of its own address; prints `ready` first
    sctp.py ask SOURCE ADDRESS PORT N   sends N times INIT, each from another port; prints who answers, or `silence`

A packet whose checksum is wrong is not there. Needs nothing but the standard library.
"""

import select
import socket
import struct
import sys
import time

SCTP = 132
INIT, INIT_ACK = 1, 2
PATIENCE = 2.0
FIRST_PORT = 30000


def table() -> list[int]:
    found = []
    for number in range(256):
        value = number
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        found.append(value)
    return found


TABLE = table()


def checksum(packet: bytes) -> bytes:
    """CRC32c, as it stands in a packet."""
    value = 0xFFFFFFFF
    for octet in packet[:8] + bytes(4) + packet[12:]:
        value = value >> 8 ^ TABLE[(value ^ octet) & 0xFF]
    return struct.pack("<I", value ^ 0xFFFFFFFF)


def packet(source: int, target: int, *, kind: int, verification: int, tag: int) -> bytes:
    cookie = struct.pack(">HH4s", 7, 8, b"cook") if kind == INIT_ACK else b""
    chunk = struct.pack(">BBHIIHHI", kind, 0, 20 + len(cookie), tag, 65536, 1, 1, 1) + cookie
    whole = struct.pack(">HHII", source, target, verification, 0) + chunk
    return whole[:8] + checksum(whole) + whole[12:]


def opened(address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    raw = socket.socket(family, socket.SOCK_RAW, SCTP)
    raw.bind((address, 0))
    return raw


def received(raw: socket.socket) -> tuple[str, int, int, int, int] | None:
    """Whom from, both ports, what kind and its tag; None, if it is not right."""
    words, peer = raw.recvfrom(65536)
    if raw.family == socket.AF_INET:
        words = words[4 * (words[0] & 15) :]
    if len(words) < 32 or checksum(words) != words[8:12]:
        return None
    source, target = struct.unpack_from(">HH", words)
    return peer[0], source, target, words[12], struct.unpack_from(">I", words, 16)[0]


def answer(addresses: list[str]) -> None:
    sockets = {opened(each): each for each in addresses}
    print("ready", flush=True)  # noqa: T201 - this is how it says so
    while True:
        for raw in select.select(list(sockets), [], [])[0]:
            came = received(raw)
            if came is not None and came[3] == INIT:
                peer, source, target, _, tag = came
                own = int(sockets[raw].replace(":", ".").split(".")[-1])
                raw.sendto(packet(target, source, kind=INIT_ACK, verification=tag, tag=own), (peer, 0))


def ask(own: str, address: str, port: int, count: int) -> None:
    with opened(own) as raw:
        for number in range(count):
            source = FIRST_PORT + number
            raw.sendto(packet(source, port, kind=INIT, verification=0, tag=1000 + number), (address, 0))
            print(heard(raw, address, port, source), flush=True)  # noqa: T201 - this is how it answers


def heard(raw: socket.socket, address: str, port: int, own: int) -> str:
    deadline = time.monotonic() + PATIENCE
    while select.select([raw], [], [], max(0, deadline - time.monotonic()))[0]:
        came = received(raw)
        if came is not None and came[:4] == (address, port, own, INIT_ACK):
            return str(came[4])
    return "silence"


if sys.argv[1] == "answer":
    answer(sys.argv[2:])
else:
    ask(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
