"""What is ours in OpenStack, by our mark, and what of others' makes it what it is.

Neutron is asked for what bears the mark, and is not believed: what else it sends would be taken for ours, and deleted.
"""

import itertools
from typing import TypeVar

from msgspec import Struct

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import FLOATING_IPS, PORTS, Kind
from mooring.core import addresses
from mooring.core.addresses import Place
from mooring.model.cloud import FloatingIp, Port, PortId, SecurityGroup

T = TypeVar("T", Port, FloatingIp, SecurityGroup)
Id = TypeVar("Id", bound=str)

AT_ONCE = 50
"""How many ports are named in one question: an address of a page has its limits."""


class Marked(Struct, frozen=True):
    """`borrowed`: floating IPs on ports of ours that do not bear our mark, or no more."""

    ports: tuple[Port, ...]
    floating_ips: tuple[FloatingIp, ...]
    borrowed: tuple[FloatingIp, ...] = ()


async def everything(cloud: Cloud, place: Place) -> Marked:
    """Two lists. A third one only where a port has no floating IP and should have."""
    ports = await every(cloud, PORTS, place.mark)
    floating_ips = await every(cloud, FLOATING_IPS, place.mark)
    bare = addresses.bare(place, ports, floating_ips)
    return Marked(ports, floating_ips, await _on(cloud, bare))


async def every(cloud: Cloud, kind: Kind[T, Id], mark: str) -> tuple[T, ...]:
    found = await cloud.list(kind, description=mark)
    strangers = sum(each.description != mark for each in found)
    if strangers:
        raise errors.BadAnswer(
            f"list {kind.plural}: {strangers} of {len(found)} do not bear the mark {mark!r} that was asked for. This "
            "Neutron, or what stands before it, does not go by descriptions: it needs the extension "
            "standard-attr-description"
        )
    return found


async def _on(cloud: Cloud, ports: tuple[PortId, ...]) -> tuple[FloatingIp, ...]:
    parts = [ports[first : first + AT_ONCE] for first in range(0, len(ports), AT_ONCE)]
    return tuple(itertools.chain.from_iterable([await cloud.list(FLOATING_IPS, port_id=each) for each in parts]))
