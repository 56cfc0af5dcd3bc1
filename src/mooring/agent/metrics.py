"""What an agent tells Prometheus. What is known anyhow is read when it is asked for; only events are counted."""

import time
from collections.abc import Callable, Iterator

import prometheus_client
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.agent.gateway import Gateway
from mooring.model.gateway import Vrrp

BUCKETS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The events, counted."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        self.documents = prometheus_client.Counter(
            "mooring_agent_documents",
            "Documents that the agent was sent, by what became of them: `applied`, `unchanged`, `older` and `other` "
            "(refused, because what is held is newer or as new), or the reason of a refusal.",
            ("outcome",),
            registry=registry,
        )
        self.seconds = prometheus_client.Histogram(
            "mooring_agent_document_seconds",
            "Time from the arrival of a document to the answer, waiting included, by what became of it.",
            ("outcome",),
            registry=registry,
            buckets=BUCKETS,
        )
        self.heartbeats = prometheus_client.Counter(
            "mooring_agent_heartbeats",
            "Heartbeats of a controller, by outcome; `older` are those of one that leads no more.",
            ("outcome",),
            registry=registry,
        )
        self.vrrp_starts = prometheus_client.Counter(
            "mooring_agent_vrrp_restarts",
            "How often keepalived had ended and was to be started again.",
            registry=registry,
        )


class GatewayCollector(Collector):
    """How the gateway is at the moment of the question."""

    def __init__(self, gateway: Gateway, *, certificate_ends: Callable[[], float]) -> None:
        self._gateway = gateway
        self._certificate_ends = certificate_ends

    def collect(self) -> Iterator[Metric]:
        document, state = self._gateway.document, self._gateway.state()
        forwards = document.forwards
        figures = (
            ("held_epoch", "The leader whose document is in force; 0: none.", document.epoch),
            ("held_generation", "Which of that leader's documents is in force.", document.generation),
            ("forwards", "Addresses with protocol and port that are served.", len(forwards)),
            ("backends", "Backends behind them, each counted for each.", sum(len(each.backends) for each in forwards)),
            ("addresses", "Addresses that are served.", len({each.address for each in forwards})),
            ("heartbeat_age_seconds", "Time since the last heartbeat, or the start.", self._gateway.heartbeat_age),
            ("stale", "1: too long without heartbeat or newest document; it gives way to others.", state.stale),
            ("ready", "1: the rules of the last document are in force and keepalived runs.", self._is_ready()),
            (
                "certificate_expiry_seconds",
                "Time until the agent's certificate expires.",
                self._certificate_ends() - time.time(),
            ),
        )
        for name, help_text, value in figures:
            yield GaugeMetricFamily(f"mooring_agent_{name}", help_text, value=float(value))
        vrrp = GaugeMetricFamily(
            "mooring_agent_vrrp_state",
            "1 for what the gateway is to the addresses, 0 for the others.",
            labels=("state",),
        )
        for each in Vrrp:
            vrrp.add_metric((each.value,), float(each is state.vrrp))
        yield vrrp

    def _is_ready(self) -> bool:
        return self._gateway.ready() is None
