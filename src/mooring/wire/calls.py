"""Who is told about every call to the outside: how long it took and how it ended."""

from collections import Counter
from typing import Protocol

import prometheus_client


class Calls(Protocol):
    def ended(self, what: str, outcome: str, seconds: float) -> None:
        """A call ended. The outcome is the status of its answer, or `not sent`, `no answer`, `cancelled`."""


class CountedCalls:
    """Counts in memory: for tests that assert how many calls something costs, and for `plan`."""

    def __init__(self) -> None:
        self.by_kind: Counter[str] = Counter()
        self.by_outcome: Counter[tuple[str, str]] = Counter()

    def ended(self, what: str, outcome: str, seconds: float) -> None:  # noqa: ARG002 - seconds are for others
        self.by_kind[what] += 1
        self.by_outcome[what, outcome] += 1

    @property
    def total(self) -> int:
        return self.by_kind.total()


class MeteredCalls:
    """Counts for Prometheus. One per process and outside thing (`api` is its name)."""

    def __init__(self, api: str, registry: prometheus_client.CollectorRegistry) -> None:
        self._count = prometheus_client.Counter(
            f"mooring_{api}_calls",
            f"Calls to the {api} interface, by kind of call and outcome.",
            ("call", "outcome"),
            registry=registry,
        )
        self._seconds = prometheus_client.Histogram(
            f"mooring_{api}_call_seconds",
            f"Time that calls to the {api} interface took, by kind of call.",
            ("call",),
            registry=registry,
            buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
        )

    def ended(self, what: str, outcome: str, seconds: float) -> None:
        self._count.labels(what, outcome).inc()
        self._seconds.labels(what).observe(seconds)
