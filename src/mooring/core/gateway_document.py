"""The document for the gateways, from the Services that are mapped. Same Services, same bytes."""

import hashlib
from collections.abc import Iterable

import msgspec

from mooring.core import endpoints
from mooring.model.gateway import Document, Forward
from mooring.model.kubernetes import EndpointSlice, Service


def forwards(service: Service, address: str, slices: Iterable[EndpointSlice]) -> tuple[Forward, ...]:
    """What one Service wants served at an address, by the endpoints that its slices tell."""
    name, kept = str(service.name), tuple(slices)
    ports = {(port.protocol, port.port): port for port in service.spec.ports}
    return tuple(
        Forward(address, protocol, number, name, endpoints.backends(port, address, kept))
        for (protocol, number), port in sorted(ports.items())
    )


def document(wanted: Iterable[Forward], *, epoch: int, generation: int, seed: int) -> Document:
    ordered = tuple(sorted(wanted))
    return Document(epoch, generation, digest(ordered, seed), ordered, seed)


def digest(ordered: tuple[Forward, ...], seed: int) -> str:
    """What two documents have in common that make gateways do the same."""
    return hashlib.sha256(msgspec.json.encode((seed, ordered))).hexdigest()


def seed(cluster: str) -> int:
    """By which the gateways of a cluster choose backends: the same for as long as there is that cluster."""
    return int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:4])
