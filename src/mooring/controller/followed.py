"""What the controller follows, leading or not: Services, and all that stands behind them."""

from typing import TypeVar

from msgspec import Struct

from mooring.kube.api import Api
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES, Kind
from mooring.kube.store import Store
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy, Node, Resource, Service

T = TypeVar("T", bound=Resource)

BY_SERVICE = "by service"
BY_NAMESPACE = "by namespace"


class Followed(Struct, frozen=True):
    services: Store[Service]
    slices: Store[EndpointSlice]
    nodes: Store[Node]
    policies: Store[NetworkPolicy]

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
