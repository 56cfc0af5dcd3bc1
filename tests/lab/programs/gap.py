"""Asks a web of `who` servers fifty times a second, each time by a new connection, until its input ends.

    gap.py ADDRESS PORT      prints JSON: asked, answered, and the longest time without an answer

It does not wait for one answer before it asks again. Standard library only.
"""

import itertools
import json
import socket
import sys
import threading
import time

INTERVAL = 0.02
PATIENCE = 1.0


def ask(address: str, port: int, began: float, answered: list[float]) -> None:
    try:
        with socket.create_connection((address, port), timeout=PATIENCE) as connection:
            connection.sendall(b"who\n")
            if connection.recv(100):
                answered.append(began)
    except OSError:
        pass


def wait_for_the_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def main() -> None:
    address, port = sys.argv[1], int(sys.argv[2])
    ended = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(ended,), daemon=True).start()
    answered: list[float] = []
    tasks = []
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not ended.is_set():
        task = threading.Thread(target=ask, args=(address, port, time.monotonic(), answered), daemon=True)
        task.start()
        tasks.append(task)
        time.sleep(INTERVAL)
    for task in tasks:
        task.join()
    times = sorted(answered)
    longest = max((later - sooner for sooner, later in itertools.pairwise(times)), default=-1.0)
    sys.stdout.write(json.dumps({"asked": len(tasks), "answered": len(times), "longest": round(longest, 3)}) + "\n")


if __name__ == "__main__":
    main()
