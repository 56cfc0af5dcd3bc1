"""Where the packets of a Service's port go, from its EndpointSlices. Knows nothing of how gateways choose among them.

An endpoint counts while it is ready. When none is, those that are ending but still serve are better than none.
"""

import ipaddress
from collections.abc import Collection, Iterable

from mooring.core import plain_address
from mooring.model import names
from mooring.model.gateway import Backend
from mooring.model.kubernetes import Endpoint, EndpointSlice, Name, ServicePort

MOST = 4096
"""Of one port of a Service: a gateway has a chain of rules for each number of them."""
FAMILIES = ("IPv4", "IPv6")


def service_of(found: EndpointSlice) -> Name | None:
    """The Service that a slice belongs to."""
    service = found.metadata.labels.get(names.SERVICE_NAME)
    return Name(found.metadata.namespace, service) if service else None


def backends(port: ServicePort, address: str, slices: Iterable[EndpointSlice]) -> tuple[Backend, ...]:
    """The backends of one port that an address of this family can be translated to, each once, in a fixed order.

    What no gateway would take is left out, so that it harms nobody else.
    """
    # All addresses of one endpoint lead to the same place: the first will do.
    usable = _usable(port, address, slices)
    return tuple(sorted({Backend(endpoint.addresses[0], number) for endpoint, number in usable})[:MOST])


def node_names(port: ServicePort, address: str, slices: Iterable[EndpointSlice]) -> frozenset[str]:
    """The nodes on which the same endpoints are."""
    return frozenset(endpoint.node_name for endpoint, _ in _usable(port, address, slices))


def _usable(port: ServicePort, address: str, slices: Iterable[EndpointSlice]) -> list[tuple[Endpoint, int]]:
    family = f"IPv{ipaddress.ip_address(address).version}"
    found = [
        (endpoint, number)
        for each in slices
        if each.address_type == family
        for number in _numbers(port, each)
        for endpoint in each.endpoints or ()
        if endpoint.addresses and not problem(endpoint.addresses[0])
    ]
    return [each for each in found if ready(each[0])] or [each for each in found if _last_resort(each[0])]


def left_out(slices: Collection[EndpointSlice]) -> tuple[str, ...]:
    """Why endpoints of a Service are not sent packets to that are ready for them."""
    every = [
        endpoint.addresses[0]
        for each in slices
        if each.address_type in FAMILIES
        for endpoint in each.endpoints or ()
        if endpoint.addresses and ready(endpoint)
    ]
    problems = sorted({wrong for address in every if (wrong := problem(address))})
    many = [f"it has more than {MOST} of them"] if len(set(every)) > MOST else []
    named = any(each.address_type not in FAMILIES and each.endpoints for each in slices)
    return (*problems, *many, *(["some are names, and gateways need addresses"] if named else []))


def problem(address: str) -> str:
    """Why no gateway would take an address as a backend; nothing, if it would."""
    if plain_address.is_of_a_host(address):
        return ""
    try:
        plain_address.of_a_host(address)
    except ValueError as error:
        return str(error)
    return ""


def _numbers(port: ServicePort, found: EndpointSlice) -> Iterable[int]:
    """The numbers under which the pods of a slice offer a Service's port."""
    for each in found.ports or ():
        if each.name == port.name and each.protocol == port.protocol and each.port is not None:
            yield each.port


def ready(endpoint: Endpoint) -> bool:
    """Kubernetes says it of pods that are not, too, where a Service has publishNotReadyAddresses."""
    return endpoint.conditions.ready is not False


def _last_resort(endpoint: Endpoint) -> bool:
    return bool(endpoint.conditions.serving and endpoint.conditions.terminating)
