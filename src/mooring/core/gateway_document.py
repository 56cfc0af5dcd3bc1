"""The document for the gateways, from the Services that are mapped; and what differs between two of them.

The digest of a document is a sum over its forwards, each with a hash of its own: the order does not matter, and a
change of one forward changes the sum by that forward alone, however many others there are.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from mooring.core import backends, sources
from mooring.core.backends import Known
from mooring.core.layers import Layer
from mooring.model.gateway import Delta, Document, Forward, Held, LeftOut, Place, State
from mooring.model.kubernetes import Service

SUMS = 1 << 256
USUAL_AFFINITY = 10800
SCHEMAS = (1, 2)
"""The versions of documents. In 2 forwards have `affinity` and `sources`."""


def forwards(service: Service, address: str, known: Known, layer: Layer) -> tuple[Forward, ...]:
    """What one Service wants served at an address, by what there is behind it."""
    name, allowed = str(service.name), sources.allowed(service, address)
    ports = {(port.protocol, port.port): port for port in service.spec.ports}
    return tuple(
        Forward(
            address,
            protocol,
            number,
            name,
            backends.of_port(service, port, address, known, layer),
            affinity(service),
            allowed,
        )
        for (protocol, number), port in sorted(ports.items())
    )


def affinity(service: Service) -> int:
    """For how many seconds its clients come back to their backend."""
    if service.spec.session_affinity != "ClientIP":
        return 0
    config = service.spec.session_affinity_config
    return config.client_ip.timeout_seconds if config is not None else USUAL_AFFINITY


def document(wanted: Iterable[Forward], *, epoch: int, generation: int, seed: int) -> Document:
    ordered = tuple(sorted(wanted))
    return Document(epoch, generation, digest(ordered, seed), ordered, seed)


def digest(forwards: Iterable[Forward], seed: int) -> str:
    """What two documents have in common that make gateways do the same."""
    return _text(_seed_weight(seed) + sum(map(weight, forwards)))


def digest_after(before: str, gone: Iterable[Forward], come: Iterable[Forward]) -> str:
    """The digest of a document of which some forwards are gone and others have come."""
    return _text(int(before, 16) - sum(map(weight, gone)) + sum(map(weight, come)))


def weight(forward: Forward) -> int:
    """What one forward adds to the digest."""
    return int.from_bytes(hashlib.sha256(msgspec.json.encode(forward)).digest(), "big")


def by_place(forwards: Iterable[Forward]) -> dict[Place, Forward]:
    """What is to be forwarded by what must not be there twice; of two, the later one."""
    return {each.place: each for each in forwards}


def delta(base: Held, new: Held, places: Iterable[Place], wanted: Mapping[Place, Forward]) -> Delta:
    """What a gateway that holds `base` is told, if it differs from what is wanted at these places alone."""
    changed = sorted(set(places))
    put = tuple(wanted[each] for each in changed if each in wanted)
    removed = tuple(each for each in changed if each not in wanted)
    return Delta(base, new.epoch, new.generation, new.digest, put, removed)


def needs(forward: Forward) -> int:
    """The oldest version of documents in which a forward can be told."""
    return 2 if forward.affinity or forward.sources else 1


def too_new(forward: Forward, version: str) -> LeftOut:
    """What is not told to a gateway of an older version."""
    told = f"the gateway's agent ({version or 'unknown version'}) knows neither affinity nor ranges of sources"
    advice = "upgrade the agent of that gateway"
    return LeftOut(forward.service, *forward.place, "AgentTooOld", told, advice)


def left_out(gateways: Sequence[tuple[str, State]], forwards: Iterable[Forward]) -> dict[str, tuple[str, LeftOut]]:
    """What gateways do not serve of what they are told: by Service, who does not, and the first thing."""
    found = {one.service: (name, one) for name, state in reversed(gateways) for one in reversed(state.left_out)}
    for name, state in gateways:
        newest = max(state.schemas, default=1)
        if newest < SCHEMAS[-1]:
            old = (each for each in forwards if needs(each) > newest)
            found |= {each.service: (name, too_new(each, state.version)) for each in old}
    return found


def seed(cluster: str) -> int:
    """By which the gateways of a cluster choose backends: the same for as long as there is that cluster."""
    return int.from_bytes(hashlib.sha256(cluster.encode()).digest()[:4])


def _seed_weight(seed: int) -> int:
    return int.from_bytes(hashlib.sha256(b"seed %d" % seed).digest(), "big")


def _text(total: int) -> str:
    return f"{total % SUMS:064x}"
