"""What a controller tells Prometheus of itself, read when it is asked."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.controller.controller import Controller
from mooring.core import mapping
from mooring.model.gateway import Vrrp


class ControllerCollector(Collector):
    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def collect(self) -> Iterable[Metric]:
        yield from self._work()
        yield from self._gateways()

    def _work(self) -> Iterable[Metric]:
        leader = self._controller.leader
        services = self._controller.followed.services.all()
        ours = [each for each in services if mapping.can_be_managed(each)]
        yield _gauge("mooring_leading", "1 while this controller is the one that acts.", float(leader is not None))
        observer = self._controller.observer
        yield _gauge("mooring_observing", "1 while this controller only observes.", float(observer is not None))
        if observer is not None and observer.plan is not None:
            would = "Next steps that it would take, by what it last saw, if it did not only observe."
            yield _gauge("mooring_planned_steps", would, observer.plan.steps)
        yield _gauge("mooring_services", "Services that Mooring is to serve.", len(ours))
        published = sum(1 for each in ours if each.status.load_balancer.ingress)
        yield _gauge("mooring_services_published", "Services of these that show an address.", published)
        if leader is not None:
            yield _gauge("mooring_queue", "Things that wait to be looked at.", leader.backlog)
            yield _gauge(
                "mooring_addresses", "Ports that Mooring has made for addresses, or that are listed.", leader.addresses
            )
            stopped = "Objects in OpenStack that nobody needs, too many at once to be deleted before a person says so."
            yield _gauge("mooring_clean_up_held_back", stopped, leader.held_back)
            compared = "How often this leader has compared everything with what is really there."
            yield CounterMetricFamily("mooring_audits", compared, leader.audits)
            yield _gauge("mooring_document_generation", "The newest document of this term.", leader.generation)

    def _gateways(self) -> Iterable[Metric]:
        agents = self._controller.agents
        if agents is None:
            return
        live = GaugeMetricFamily("mooring_gateway_live", "1 while a gateway answers.", labels=["gateway"])
        held = GaugeMetricFamily("mooring_gateway_generation", "The generation that it holds.", labels=["gateway"])
        master = GaugeMetricFamily("mooring_gateway_master", "1 while it holds the addresses.", labels=["gateway"])
        for name, gateway in agents.gateways.items():
            live.add_metric([name], float(gateway.is_live()))
            held.add_metric([name], gateway.state.held.generation)
            master.add_metric([name], float(gateway.state.vrrp is Vrrp.MASTER))
        yield from (live, held, master)


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_text, value)
