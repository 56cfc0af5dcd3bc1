"""What the controller follows, leading or not: Services, and all that stands behind them."""

from typing import TypeVar

from msgspec import Struct, field

from mooring.core import mapping
from mooring.kube.api import Api
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES, Kind
from mooring.kube.store import Store
from mooring.model.cloud import PortId
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy, Node, Resource, Service

T = TypeVar("T", bound=Resource)

BY_SERVICE = "by service"
BY_NAMESPACE = "by namespace"
MOST = 10_000
"""Ports, of which it is remembered that they were let go."""


class LetGo:
    """Ports that Services which are there have named and name no more: that they go is meant.

    Whoever follows Services has seen it, leading or not. Of very many the latest are remembered.
    """

    def __init__(self) -> None:
        self._ports: dict[PortId, None] = {}

    @property
    def ports(self) -> frozenset[PortId]:
        return frozenset(self._ports)

    def see(self, before: Service | None, after: Service | None) -> None:
        """A Service is not as it was."""
        had, has = (mapping.named_ports(each) if each is not None else () for each in (before, after))
        for port in has:
            self._ports.pop(port, None)  # who takes it again may lose it again, and that is another matter
        if before is not None and after is not None and not _went_back(before, after):
            self._ports |= dict.fromkeys(each for each in had if each not in has)
        while len(self._ports) > MOST:
            del self._ports[next(iter(self._ports))]


def _went_back(before: Service, after: Service) -> bool:
    """The API server was restored from a backup: what a Service had since then, nobody let go."""
    return int(after.metadata.resource_version) < int(before.metadata.resource_version)


class Followed(Struct, frozen=True):
    services: Store[Service]
    slices: Store[EndpointSlice]
    nodes: Store[Node]
    policies: Store[NetworkPolicy]
    let_go: LetGo = field(default_factory=LetGo)

    @property
    def complete(self) -> bool:
        return all(each.complete for each in (self.services, self.slices, self.nodes, self.policies))

    async def filled(self) -> None:
        await self.services.filled()
        await self.slices.filled()
        await self.nodes.filled()
        await self.policies.filled()

    async def relist(self, api: Api) -> tuple[Service, ...]:
        """All Services and what is behind them as they are now, whatever the watch has told so far."""
        await _relist(api, NODES, self.nodes)
        await _relist(api, NETWORK_POLICIES, self.policies)
        await _relist(api, ENDPOINT_SLICES, self.slices)
        return await _relist(api, SERVICES, self.services)

    def slices_of(self, name: Name) -> tuple[EndpointSlice, ...]:
        return self.slices.by(BY_SERVICE, name)

    def policies_of(self, name: Name) -> tuple[NetworkPolicy, ...]:
        return self.policies.by(BY_NAMESPACE, name.namespace)


async def _relist(api: Api, kind: Kind[T], store: Store[T]) -> tuple[T, ...]:
    """A list is as new as all that was known when it was asked for; else the server was restored from a backup.

    What it does not know then has to go at once: of what goes bit by bit nobody sees that it is much.
    """
    known = store.newest
    listing = await api.list(kind, known=store.taken)
    if int(listing.version) < known:
        store.reset(listing.items, listing.version)
    else:
        store.replace(listing.items, listing.version)
    return listing.items
