"""Which ports a Service has: those that it names in its annotation.

Where somebody took the annotation away, as `kubectl replace` does, or wrote nonsense into it, it has what it shows:
only controllers write a status. Who takes it away lets go of an address that an operator lists no more.
"""

from mooring.core import mapping
from mooring.core.addresses import Addresses
from mooring.model.cloud import PortId
from mooring.model.kubernetes import Service


def ports_of(service: Service, known: Addresses) -> tuple[PortId, ...]:
    named = mapping.named_ports(service)
    if not known.ports.keys().isdisjoint(named) or not mapping.can_be_managed(service):
        return named
    shown = (known.reached_at(each.ip) for each in service.status.load_balancer.ingress)
    return tuple(each for each in shown if each is not None and not known.retired(each)) or named


def mapped(service: Service, known: Addresses) -> bool:
    """Whether the gateways should serve it, given that its port fits."""
    return mapping.can_be_managed(service) and bool(ports_of(service, known))
