"""How a world ends, whichever addresses it gave: two worlds in which the same was wanted end alike."""

from mooring.model import names
from mooring.model.kubernetes import Service
from tests.simulation import wants
from tests.simulation.truth import Truth

End = tuple[object, ...]


def end_of(truth: Truth) -> End:
    """What each Service is and shows, what each gateway does, and how many ports are needed for that."""
    return (
        {str(name): _service(service) for name, service in truth.services.items()},
        {name: _gateway(truth, name) for name in truth.members},
        len({port for service in truth.services.values() for port in wants.ports_of(service)}),
    )


def _service(service: Service) -> End:
    meta = service.metadata
    annotations = {name: text for name, text in meta.annotations.items() if name != names.PORT}
    said = {(each.type, each.status, each.reason) for each in service.status.conditions}
    shown = [":" in each.ip for each in service.status.load_balancer.ingress]
    return annotations, set(meta.finalizers), said, shown, service.spec, len(wants.ports_of(service))


def _gateway(truth: Truth, name: str) -> End:
    gateway = truth.gateways[name]
    served = {(each.service, each.protocol, each.port, each.backends) for each in gateway.document.forwards}
    return served, gateway.machine.daemon.lowered() == (name in truth.drained)
