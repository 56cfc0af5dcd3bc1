"""Calls a web server again and again, with a new connection each time, and tells at the end how it went.

    calls.py ADDRESS PORT
    calls until its input ends, then prints JSON: how many calls were answered, how many were not, who answered how
    often, and the longest time in seconds from one answer to the next

Run by the system's Python in a host of the lab; needs nothing but the standard library.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter

PATIENCE = 0.2
PAUSE = 0.02


def call(address: str, port: int) -> str:
    """What the server answers; nothing when it does not, in time."""
    try:
        with socket.create_connection((address, port), timeout=PATIENCE) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            got = b""
            while piece := connection.recv(4096):
                got += piece
    except OSError:
        return ""
    return got.rpartition(b"\r\n\r\n")[2].decode().strip()


def main() -> None:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    answers: Counter[str] = Counter()
    longest, last = 0.0, time.monotonic()
    while not ended.is_set():
        answer = call(sys.argv[1], int(sys.argv[2]))
        answers[answer] += 1
        if answer:
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        time.sleep(PAUSE)
    longest = max(longest, time.monotonic() - last)
    failed = answers.pop("", 0)
    told = {"answered": answers.total(), "failed": failed, "by": answers, "longest": round(longest, 3)}
    print(json.dumps(told), flush=True)  # noqa: T201 - this is how it answers


main()
