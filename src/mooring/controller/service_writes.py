"""Every write to a Service, one method per step.

Each is one request, at the version that the decision was made on. What the API server answers is known at once, before
the watch tells it.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from mooring.core import explaining, mapping, shares
from mooring.kube.api import Api
from mooring.kube.kinds import SERVICES
from mooring.kube.store import Store
from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.kubernetes import Condition, Patch, Service

FINALIZERS = (names.FINALIZER, names.CLEANUP_FINALIZER)


class ServiceWrites:
    def __init__(
        self, api: Api, services: Store[Service], clock: Callable[[], datetime], *, ip_mode: str = "Proxy"
    ) -> None:
        self._api = api
        self._services = services
        self._clock = clock
        self._ip_mode = ip_mode

    async def manage(self, service: Service) -> None:
        missing = [each for each in FINALIZERS if each not in service.metadata.finalizers]
        finalizers = [*service.metadata.finalizers, *missing]
        await self._patch(service, {"metadata": {"annotations": {names.MANAGED: "true"}, "finalizers": finalizers}})

    async def annotate(self, service: Service, ports: tuple[PortId, ...]) -> None:
        await self._patch(service, {"metadata": {"annotations": {names.PORT: ",".join(ports)}}})

    async def forget(self, service: Service) -> None:
        await self._patch(service, {"metadata": {"annotations": {names.PORT: None}}})

    async def let_go(self, service: Service) -> None:
        """An opt-out of the owner's stays: only our own "true" is taken off.

        Kubernetes' own finalizer goes with ours, where it is not somebody else's.
        """
        managed = {names.MANAGED: None} if service.metadata.annotations.get(names.MANAGED) == "true" else {}
        ours = (names.FINALIZER,) if mapping.also_held_by_others(service) else FINALIZERS
        finalizers = [each for each in service.metadata.finalizers if each not in ours]
        await self._patch(service, {"metadata": {"annotations": managed, "finalizers": finalizers}})

    async def publish(self, service: Service, addresses: tuple[str, ...], conditions: tuple[Condition, ...]) -> None:
        ports = msgspec.to_builtins(shares.keys(service))
        ingress = [{"ip": each, "ipMode": self._ip_mode, "ports": ports} for each in addresses]
        await self._set_status(service, ingress, conditions)

    async def clear(self, service: Service, conditions: tuple[Condition, ...]) -> None:
        await self._set_status(service, None, conditions)

    async def tell(self, service: Service, conditions: tuple[Condition, ...]) -> None:
        await self._patch(service, {"status": self._conditions(service, conditions)}, subresource="status")

    async def look_again(self, service: Service) -> None:
        """After a conflict: what the Service is now."""
        self._services.put(await self._api.get(SERVICES, service.name))

    async def _set_status(
        self, service: Service, ingress: list[dict[str, Any]] | None, conditions: tuple[Condition, ...]
    ) -> None:
        status = {"loadBalancer": {"ingress": ingress}} | self._conditions(service, conditions)
        await self._patch(service, {"status": status}, subresource="status")

    def _conditions(self, service: Service, wanted: tuple[Condition, ...]) -> dict[str, Any]:
        now = self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"conditions": msgspec.to_builtins(explaining.as_they_stand(service, wanted, now)) or None}

    async def _patch(self, service: Service, change: Patch, subresource: str = "") -> None:
        version = service.metadata.resource_version
        after = await self._api.patch(SERVICES, service.name, change, version=version, subresource=subresource)
        self._services.put(after)
