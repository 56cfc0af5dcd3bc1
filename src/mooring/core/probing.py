"""Nodes that the gateways ask every second whether they answer: which of them are sent nothing meanwhile.

Kubernetes says of a node that it is not ready after forty seconds. The gateways find out in three, and the controller
takes such a node out of what all gateways are told: each of them by itself would break what they choose alike.

Of the gateways, one may have lost its own way to a node. So a node is silent only if all of them say so. And if no node
answers anybody, it is rather the probe that is wrong than all nodes: then all are sent to, as if nobody had asked.
"""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from mooring.core.nodes import Usable
from mooring.model.gateway import Backend, Probes

FALLS = 3
"""So often in a row a node has to be silent before it is believed."""
RISES = 2
"""And so often it has to answer."""


class Health(Struct, frozen=True):
    """What is believed of one node, and how often in a row the contrary was seen."""

    silent: bool = False
    contrary: int = 0


def after(health: Health, *, answered: bool) -> Health:
    """What is believed after one more try."""
    if answered is not health.silent:
        return Health(health.silent)
    contrary = health.contrary + 1
    turned = contrary >= (RISES if health.silent else FALLS)
    return Health(not health.silent) if turned else Health(health.silent, contrary)


def probes(nodes: Iterable[Usable], port: int) -> Probes:
    """Whom the gateways have to ask; nobody, where there is no port to ask at."""
    if not port:
        return Probes()
    return Probes(tuple(sorted({Backend(address, port) for node in nodes for address in node.addresses})))


def name(wanted: Probes) -> str:
    """Tells those that a gateway was told from others; empty, if there is nothing to do."""
    return hashlib.sha256(msgspec.json.encode(wanted)).hexdigest()[:16] if wanted.targets else ""


def silent(told: Sequence[tuple[Backend, ...]]) -> frozenset[str]:
    """The addresses that answer no gateway, by what each of the gateways says."""
    if not told:
        return frozenset()
    return frozenset.intersection(*(frozenset(each.address for each in one) for one in told))


def answering(nodes: tuple[Usable, ...], silent: frozenset[str]) -> tuple[Usable, ...]:
    """The nodes that packets are sent to."""
    if not silent:
        return nodes
    left = tuple(
        Usable(node.name, kept)
        for node in nodes
        if (kept := tuple(each for each in node.addresses if each not in silent))
    )
    return left or nodes
