"""Asks a server over UDP 250 times a second, from one of fifty ports after the other, and says what was not answered.

    prober.py INTERFACE ADDRESS PORT     until its input ends; prints JSON

It does not wait for one answer before it asks again. The gap is the longest time between two requests that were
answered with none that was answered in between. As often it asks by ARP who has the address, like somebody who does
not know; `unheld` is the longest time between two answers to that. Standard library only.
"""

import itertools
import json
import selectors
import socket
import sys
import time
from contextlib import suppress

INTERVAL = 0.004
PORTS = 50
LINGER = 0.5
"""Seconds that the last answers have to come."""
ARP = 0x0806
ETHERNET = bytes.fromhex("0001 0800 06 04")
REQUEST = b"\0\1"
SENDER = slice(28, 32)
"""Where a frame says whose address it tells."""
NEVER = float("inf")


class Prober:
    def __init__(self, interface: str, address: str, port: int) -> None:
        self._target = (address, port)
        self._address = socket.inet_aton(address)
        self._sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(PORTS)]
        self._frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP))
        self._frames.bind((interface, ARP))
        self._ready = selectors.DefaultSelector()
        for each in (*self._sockets, self._frames, sys.stdin):
            self._ready.register(each, selectors.EVENT_READ)
        self._asked: list[float] = []
        self._answered: set[int] = set()
        self._held: list[float] = []
        self._end = NEVER

    def run(self) -> dict[str, float]:
        for each in itertools.cycle(self._sockets):
            now = time.monotonic()
            if now > self._end:
                break
            if self._end == NEVER:
                self._ask(each, now)
            while (left := now + INTERVAL - time.monotonic()) > 0:
                self._hear(left)
        times = [self._asked[number] for number in sorted(self._answered)]
        lost = len(self._asked) - len(times)
        return {"asked": len(self._asked), "lost": lost, "gap": _longest(times), "unheld": _longest(self._held)}

    def _ask(self, opened: socket.socket, now: float) -> None:
        with suppress(OSError):  # it is as good as lost
            opened.sendto(b"%d" % len(self._asked), self._target)
        self._asked.append(now)
        own = self._frames.getsockname()[4]
        nobody, everybody = bytes(6), 6 * b"\xff"
        question = ETHERNET + REQUEST + own + bytes(4) + nobody + self._address
        self._frames.send(everybody + own + ARP.to_bytes(2) + question)

    def _hear(self, seconds: float) -> None:
        for key, _ in self._ready.select(seconds):
            if key.fileobj is sys.stdin:
                self._ready.unregister(sys.stdin)
                self._end = time.monotonic() + LINGER
            elif isinstance(key.fileobj, socket.socket) and key.fileobj is not self._frames:
                self._answered.add(int(key.fileobj.recv(100)))
            elif self._frames.recv(100)[SENDER] == self._address and self._end == NEVER:
                self._held.append(time.monotonic())


def _longest(times: list[float]) -> float:
    return max((later - earlier for earlier, later in itertools.pairwise(times)), default=NEVER)


if __name__ == "__main__":
    found = Prober(sys.argv[1], sys.argv[2], int(sys.argv[3])).run()
    print(json.dumps(found))  # noqa: T201 - this is how it answers
