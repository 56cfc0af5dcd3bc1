"""What an agent tells Prometheus. What is known anyhow is read when it is asked for; only events are counted."""

import functools
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.agent.counting import CONNECTIONS, RECEIVED, SENT, Counting
from mooring.agent.gateway import Gateway
from mooring.host.errors import HostError
from mooring.model.gateway import Forward, Vrrp

T = TypeVar("T")

PLACE = ("service", "address", "protocol", "port")
COUNTED = (
    (CONNECTIONS, "Connections that were given to a backend of the Service.", True),
    (RECEIVED, "What clients sent to the Service.", False),
    (SENT, "What the Service sent to clients.", False),
)
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

    def __init__(self, gateway: Gateway, counting: Counting, *, certificate_ends: Callable[[], float]) -> None:
        self._gateway = gateway
        self._counting = counting
        self._certificate_ends = certificate_ends

    def collect(self) -> Iterator[Metric]:
        told, state = self._gateway.told, self._gateway.state()
        figures = (
            ("held_epoch", "The leader whose document is in force; 0: none.", told.held.epoch),
            ("held_generation", "Which of that leader's documents is in force.", told.held.generation),
            ("forwards", "Addresses with protocol and port that are served.", len(told.forwards)),
            ("backends", "Backends behind them, each counted for each.", told.backends),
            ("addresses", "Addresses that are served.", len(told.addresses)),
            (
                "heartbeat_age_seconds",
                "Time since the last heartbeat, or the start.",
                self._gateway.standing.heartbeat_age,
            ),
            ("stale", "1: too long without heartbeat or newest document; it gives way to others.", state.stale),
            ("drained", "1: a controller told it to give way to others.", state.drained),
            ("ready", "1: the rules of the last document are in force and keepalived runs.", self._is_ready()),
            ("left_out", "Forwards and backends of the document that are not served.", len(state.left_out)),
            (
                "clients_told",
                "Clients that other gateways are told of: their slot has gone to an endpoint that came later.",
                self._gateway.memory.last.found.count,
            ),
            (
                "clients_not_told",
                "Clients of that kind that are too many to be told: after a fail-over they move.",
                self._gateway.memory.last.found.cut,
            ),
            ("connections", "Connections that the kernel knows of, of whatever kind.", state.connections),
            (
                "connections_limit",
                "How many it can know of: further ones are dropped.",
                self._gateway.most_connections(),
            ),
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
        repairs = CounterMetricFamily(
            "mooring_agent_repairs", "How often somebody else had changed our rules, and they were loaded again."
        )
        repairs.add_metric((), self._gateway.rules.repaired)
        yield repairs
        yield from self._traffic()
        yield from self._endpoints()

    def _traffic(self) -> Iterator[Metric]:
        """What Services were asked for, from the kernel's own counters."""
        for name, help_text, of_connections in COUNTED:
            if name not in self._gateway.rules.counters:
                continue
            figures = ("connections",) if of_connections else (f"{name}_packets", f"{name}_bytes")
            families = [CounterMetricFamily(f"mooring_service_{each}", help_text, labels=PLACE) for each in figures]
            for forward, *numbers in _said(functools.partial(self._counting.counted, name)):
                for family, number in zip(families, numbers, strict=False):
                    family.add_metric(_labels(forward), number)
            yield from families

    def _endpoints(self) -> Iterator[Metric]:
        if not self._gateway.rules.counts_endpoints:
            return
        help_text = "Connections that were given to an endpoint of the Service since it has been there."
        family = CounterMetricFamily("mooring_service_endpoint_connections", help_text, labels=(*PLACE, "endpoint"))
        for forward, backend, number in _said(self._counting.endpoints):
            family.add_metric((*_labels(forward), f"{backend.address} {backend.port}"), number)
        yield family

    def _is_ready(self) -> bool:
        return self._gateway.ready() is None


def _labels(forward: Forward) -> tuple[str, ...]:
    return forward.service, forward.address, forward.protocol, str(forward.port)


def _said(ask: Callable[[], list[T]]) -> list[T]:
    """Nothing, where the kernel does not say; the rest is told all the same."""
    try:
        return ask()
    except HostError:
        return []
