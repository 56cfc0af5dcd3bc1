"""Who may call a Service, by the networks that its owner lists. Knows nothing of how gateways keep others out.

spec.loadBalancerSourceRanges  the older annotation  ->  who may call
-----------------------------  ---------------------     ------------
given                          -                         the networks of the field
none                           given                     the networks of the annotation
none                           none, or blank            everybody

The annotation is Kubernetes' own, from before there was the field, and is read as Kubernetes reads it.
"""

import ipaddress

from mooring.core import annotations
from mooring.model import names
from mooring.model.kubernetes import Service

NOBODY = ("0.0.0.0/32", "::/128")
"""No client has this address."""


def allowed(service: Service, address: str) -> tuple[str, ...]:
    """Who may call a Service at an address. Whose ranges are all of the other family lets nobody in there."""
    if nobody(service, address):
        return (NOBODY[":" in address],)
    return tuple(sorted({_network(each.strip()) for each in _listed(service) if _same_family(each, address)}))


def nobody(service: Service, address: str) -> bool:
    """Whether its owner lists networks, and none of them is of the family of an address."""
    listed = _listed(service)
    return bool(listed) and not any(_same_family(each, address) for each in listed)


def _listed(service: Service) -> tuple[str, ...]:
    """What its owner wrote. An empty place between two commas is a wrong network: it must not let everybody in."""
    said = annotations.said(service, names.SOURCE_RANGES)
    return service.spec.load_balancer_source_ranges or (tuple(said.split(",")) if said else ())


def _same_family(network: str, address: str) -> bool:
    return (":" in network) == (":" in address)


def _network(text: str) -> str:
    """The network that an address with a length lies in. What is none, the gateways refuse, and say so."""
    try:
        return str(ipaddress.ip_network(text, strict=False)) if text.count("/") else text
    except ValueError:
        return text
