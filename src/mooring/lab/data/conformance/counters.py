"""Runs in a gateway: prints its counters of connections whenever one has changed. Needs nothing but Python itself."""

import sys
import time
import urllib.request

EVERY = 0.1


def main(url: str) -> None:
    """Until somebody ends it. An agent that does not answer has nothing to say."""
    before: set[str] = set()
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - an address of this host
                now = {line for line in answer.read().decode().splitlines() if not line.startswith("#")}
        except OSError:
            now = before
        for line in sorted(now - before):
            if line.startswith("mooring_service_connections_total{"):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
        before = now
        time.sleep(EVERY)


main(sys.argv[1])
