"""What the controller follows, leading or not: Services, and all that stands behind them."""

from msgspec import Struct

from mooring.core import claims
from mooring.kube.api import Api
from mooring.kube.kinds import ENDPOINT_SLICES, NETWORK_POLICIES, NODES, SERVICES
from mooring.kube.store import Store
from mooring.model.config import Services
from mooring.model.kubernetes import EndpointSlice, Name, NetworkPolicy, Node, Service

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

    async def relist(self, api: Api, wanted: Services) -> tuple[Service, ...]:
        """All Services and what is behind them as they are now, whatever the watch has told so far."""
        nodes = await api.list(NODES)
        self.nodes.replace(nodes.items, nodes.version)
        policies = await api.list(NETWORK_POLICIES)
        self.policies.replace(policies.items, policies.version)
        slices = await api.list(ENDPOINT_SLICES)
        self.slices.replace(slices.items, slices.version)
        services = await api.list(SERVICES)
        settled = tuple(claims.settled(each, wanted) for each in services.items)
        self.services.replace(settled, services.version)
        return settled

    def slices_of(self, name: Name) -> tuple[EndpointSlice, ...]:
        return self.slices.by(BY_SERVICE, name)

    def policies_of(self, name: Name) -> tuple[NetworkPolicy, ...]:
        return self.policies.by(BY_NAMESPACE, name.namespace)
