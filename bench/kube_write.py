"""One write: a patch of about 100 bytes, answered with 1 KB, over TLS, on connections that stay open.

The size is the number of writes in flight. Bare streams are no client: they show how far down Python's own streams go.
"""

from collections.abc import Iterator

from bench import programs
from bench.measure import Goal, Measured

SIZES = (1, 16)
ROUNDS = 6
PEERS = (programs.LIGHTKUBE, programs.HTTPX2, programs.STREAMS)
GOALS = (Goal("Kubernetes write", most=500.0),)
MICRO = 1e6


def measure() -> Iterator[Measured]:
    with programs.fake_api(1, tls=True) as kubeconfig:
        for in_flight in SIZES:
            seen = programs.turns((programs.OURS, *PEERS), "write", kubeconfig, in_flight, rounds=ROUNDS)
            for peer in PEERS:
                ours, theirs = (round(seen[each.title]["cpu"] * MICRO, 1) for each in (programs.OURS, peer))
                told = f"Kubernetes write, {peer.title}"
                yield Measured(id=told, size=in_flight, ours=ours, peer=theirs, unit="us CPU")
