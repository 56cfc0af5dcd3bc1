"""What the daemons tell Prometheus, collected from their own registries: nothing is listed a second time."""

import sys
from typing import Literal, cast

from msgspec import Struct
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from mooring.agent import main as agent
from mooring.agent.counting import Counting
from mooring.agent.host import Filter
from mooring.agent.metrics import GatewayCollector
from mooring.agent.metrics import Metrics as AgentMetrics
from mooring.cli import logs
from mooring.controller import reloading
from mooring.controller.agents import Agents
from mooring.controller.controller import Controller
from mooring.controller.followed import Followed
from mooring.controller.metrics import ControllerCollector
from mooring.kube.store import Store
from mooring.model.config import Config, Forwarding, Log
from mooring.wire.calls import MeteredCalls
from mooring.wire.http import Sender

Daemon = Literal["controller", "agent"]

APIS = ("kubernetes", "neutron", "gateway")
LABELS = {
    "call": "`call`: what was asked for, such as `patch services/status`",
    "address": "`address`: which it serves",
    "endpoint": "`endpoint`: address and port",
    "gateway": "`gateway`: its name in the configuration",
    "outcome": "`outcome`",
    "port": "`port`",
    "protocol": "`protocol`: `TCP`, `UDP` or `SCTP`",
    "service": "`service`: its namespace and name",
    "state": "`state`: `unknown`, `master`, `backup`, `fault` or `stopped`",
}


class Family(Struct, frozen=True):
    """One metric, under the name that Prometheus shows."""

    name: str
    type: str
    help: str
    labels: tuple[str, ...]


class NothingCounted:
    """A packet filter without a packet."""

    def counted(self, *_: str) -> tuple[()]:
        return ()


class Work(Struct, frozen=True):
    """A leader at work, as far as its figures go: some exist only while it leads."""

    backlog: int = 0
    addresses: int = 0
    held_back: int = 0
    audits: int = 0
    generation: int = 0


class Plan(Struct, frozen=True):
    """What one that only observes would do, as far as its figures go."""

    steps: int = 0


class Look(Struct, frozen=True):
    plan: Plan = Plan()


class AtWork(Struct, frozen=True):
    """A controller that leads and observes, as none does both, as far as its figures go."""

    followed: Followed
    agents: Agents
    leader: Work
    observer: Look = Look()


def families(daemon: Daemon) -> tuple[Family, ...]:
    """All metrics of a daemon, in the order of their names."""
    registry = CollectorRegistry()
    if daemon == "controller":
        _controller(registry)
    else:
        _agent(registry)
    return tuple(sorted(map(_family, registry.collect()), key=lambda each: each.name))


def page(daemon: Daemon) -> str:
    lines: list[str] = []
    for each in families(daemon):
        lines += [f"### {each.name}", "", each.help, "", f"- Type: {each.type}"]
        lines += [f"- Label {LABELS[label]}" for label in each.labels]
        lines += [""]
    return "\n".join(lines)


def _controller(registry: CollectorRegistry) -> None:
    for api in APIS:
        MeteredCalls(api, registry).ended("call", "outcome", 0.0)
    reloading.refused(registry)
    agents = Agents({"gateway": cast("Sender", None)}, logs.make(Log(), sys.stderr))
    at_work = AtWork(Followed(Store(), Store(), Store(), Store()), agents, Work())
    registry.register(ControllerCollector(cast("Controller", at_work)))


def _agent(registry: CollectorRegistry) -> None:
    metrics = AgentMetrics(registry)
    for each in (metrics.documents, metrics.seconds, metrics.heartbeats):
        each.labels("outcome")
    gateway = agent.build(Config(forwarding=Forwarding(counters="endpoints")), logs.make(Log(), sys.stderr))
    counting = Counting(gateway.rules, cast("Filter", NothingCounted()))
    registry.register(GatewayCollector(gateway, counting, certificate_ends=lambda: 0.0))


def _family(found: Metric) -> Family:
    name = f"{found.name}_total" if found.type == "counter" else found.name
    labels = {label: None for sample in found.samples for label in sample.labels if label != "le"}
    return Family(name, found.type, found.documentation, tuple(labels) or tuple(getattr(found, "_labelnames", ())))
