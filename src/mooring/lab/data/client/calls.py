"""Calls a web server again and again, with a new connection each time, and tells at the end how it went.

    calls.py ADDRESS PORT PATIENCE
    calls until its input ends, then prints JSON: how many calls were answered, how many were not and what became of
    them, who answered how often, and the longest time in seconds from one answer to the next

Run by the system's Python in a host of the lab; needs nothing but the standard library.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter

PAUSE = 0.02


def call(address: str, port: int, patience: float) -> str:
    """What the server answers; an error when it does not, in time."""
    with socket.create_connection((address, port), timeout=patience) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        got = b""
        while piece := connection.recv(4096):
            got += piece
    answer = got.rpartition(b"\r\n\r\n")[2].decode().strip()
    if not answer:
        raise ConnectionError("the connection ended without an answer")
    return answer


def main() -> None:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    answers: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    longest, last = 0.0, time.monotonic()
    while not ended.is_set():
        try:
            answers[call(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))] += 1
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
        except OSError as error:
            errors[str(error)] += 1
        time.sleep(PAUSE)
    longest = max(longest, time.monotonic() - last)
    told = {
        "answered": answers.total(),
        "failed": errors.total(),
        "by": answers,
        "errors": errors,
        "longest": round(longest, 3),
    }
    print(json.dumps(told), flush=True)  # noqa: T201 - this is how it answers


main()
