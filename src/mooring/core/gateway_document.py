"""The document for the gateways, from the Services that are mapped. Same Services, same bytes."""

import hashlib
from collections.abc import Iterable

import msgspec

from mooring.core import mapping
from mooring.model.gateway import Document, Forward
from mooring.model.kubernetes import Service


def forwards(service: Service, address: str) -> tuple[Forward, ...]:
    """What one Service wants served at an address."""
    name = str(service.name)
    return tuple(Forward(address, key.protocol, key.port, name) for key in mapping.keys(service))


def document(wanted: Iterable[Forward], *, epoch: int, generation: int) -> Document:
    ordered = tuple(sorted(wanted))
    return Document(epoch, generation, hashlib.sha256(msgspec.json.encode(ordered)).hexdigest(), ordered)
