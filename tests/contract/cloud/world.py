"""What the contract suite of Neutron needs of whatever it runs against, and what many of its cases make."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec import Struct

from mooring.cloud import kinds
from mooring.cloud.api import Cloud
from mooring.model.cloud import (
    FloatingIp,
    Network,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    Resource,
    Router,
    RouterId,
    SecurityGroup,
    Subnet,
    SubnetId,
)
from mooring.wire.http import Request, Response, Sender

CHANGEABLE = (
    kinds.NETWORKS,
    kinds.SUBNETS,
    kinds.PORTS,
    kinds.ROUTERS,
    kinds.FLOATING_IPS,
    kinds.SECURITY_GROUPS,
)
NOWHERE = "5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"

T = TypeVar("T", bound=Resource)
Id = TypeVar("Id", bound=str)


class Owner(Cloud):
    """A project's own hands: what people do to what Mooring finds, and Mooring itself never does."""

    async def set_tags(self, kind: kinds.Kind[T, Id], which: Id, tags: Iterable[str]) -> None:
        """Replace all tags."""
        await self._put("tag", kind.path(which, "tags"), {"tags": sorted(set(tags))})

    async def add_router_interface(self, router: RouterId, subnet: SubnetId) -> PortId:
        """Connect a subnet; the new port has the subnet's gateway address."""
        return await self._interface("add_router_interface", router, subnet)

    async def remove_router_interface(self, router: RouterId, subnet: SubnetId) -> PortId:
        """Disconnect a subnet; its port, whose id this is, is gone then."""
        return await self._interface("remove_router_interface", router, subnet)

    async def _interface(self, verb: str, router: RouterId, subnet: SubnetId) -> PortId:
        answer = await self._put(verb, kinds.ROUTERS.path(router, verb), {"subnet_id": subnet})
        return msgspec.json.decode(answer.body, type=_Interface).port_id

    async def _put(self, what: str, path: str, body: dict[str, Any]) -> Response:
        headers = {"content-type": "application/json", "accept": "application/json"}
        return await self._send(Request(what, "PUT", path, headers=headers, body=msgspec.json.encode(body)))


class _Interface(Struct, frozen=True):
    port_id: PortId


class Site(Struct, frozen=True):
    """A network with a subnet of each family."""

    network: Network
    v4: Subnet
    v6: Subnet


class World(Struct, frozen=True):
    """Two projects without anything but what Neutron itself makes, their members, and an administrator.

    `outside` is an external network of somebody else's with a subnet of each family.
    """

    member_door: Sender
    other_door: Sender
    admin_door: Sender
    project: ProjectId
    other_project: ProjectId
    outside: NetworkId
    most_address_pairs: int

    @property
    def member(self) -> Owner:
        return Owner(self.member_door)

    @property
    def other(self) -> Owner:
        return Owner(self.other_door)

    @property
    def admin(self) -> Owner:
        return Owner(self.admin_door)

    async def limit(self, **limits: int) -> Response:
        """Set the member's quota, as an administrator."""
        path = f"/v2.0/quotas/{self.project}"
        body = msgspec.json.encode({"quota": limits})
        headers = {"content-type": "application/json"}
        return await self.admin_door.send(Request("update quotas", "PUT", path, headers=headers, body=body))

    async def site(self, v4: str = "10.9.0.0/24", v6: str = "fd09::/64") -> Site:
        network = await self.member.create(kinds.NETWORKS, {"name": "site"})
        subnets = [await self.subnet(network, cidr) for cidr in (v4, v6)]
        return Site(await self.member.get(kinds.NETWORKS, network.id), *subnets)

    async def subnet(self, network: Network, cidr: str, **more: Any) -> Subnet:  # noqa: ANN401 - any attribute
        wanted = {"network_id": network.id, "cidr": cidr, "ip_version": 6 if ":" in cidr else 4, "enable_dhcp": False}
        return await self.member.create(kinds.SUBNETS, wanted | more)

    async def port(self, site: Site, **wanted: Any) -> Port:  # noqa: ANN401 - any attribute
        return await self.member.create(kinds.PORTS, {"network_id": site.network.id} | wanted)

    async def router(self, *sites: Site, **wanted: Any) -> Router:  # noqa: ANN401 - any attribute
        """A router with a way out, and the sites behind it."""
        gateway = {"external_gateway_info": {"network_id": self.outside}}
        router = await self.member.create(kinds.ROUTERS, gateway | wanted)
        for site in sites:
            await self.member.add_router_interface(router.id, site.v4.id)
        return await self.member.get(kinds.ROUTERS, router.id)

    async def floating_ip(self, **wanted: Any) -> FloatingIp:  # noqa: ANN401 - any attribute
        return await self.member.create(kinds.FLOATING_IPS, {"floating_network_id": self.outside} | wanted)

    async def group(self, **wanted: Any) -> SecurityGroup:  # noqa: ANN401 - any attribute
        return await self.member.create(kinds.SECURITY_GROUPS, {"name": "group"} | wanted)

    async def one(self, kind: kinds.Kind[T, Id]) -> T:
        """An object of a kind that can be changed, with as little around it as can be."""
        if kind in (kinds.SUBNETS, kinds.PORTS):
            network = await self.member.create(kinds.NETWORKS, {})
            if kind == kinds.SUBNETS:
                wanted = {"network_id": network.id, "ip_version": 4, "cidr": "10.9.0.0/24", "enable_dhcp": False}
                return await self.member.create(kind, wanted)
            return await self.member.create(kind, {"network_id": network.id})
        if kind == kinds.FLOATING_IPS:
            return await self.member.create(kind, {"floating_network_id": self.outside})
        return await self.member.create(kind, {"name": "one"})


def played(case: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A case that is written as a coroutine, as a test."""

    @functools.wraps(case)
    def run(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - whatever fixtures the case has
        asyncio.run(_awaited(case(*args, **kwargs)))

    return run


async def _awaited(case: Awaitable[None]) -> None:
    await case


every_kind = pytest.mark.parametrize("kind", CHANGEABLE, ids=lambda kind: kind.plural)


def v4_of(port: Port) -> str:
    return next(fixed.ip_address for fixed in port.fixed_ips if "." in fixed.ip_address)


def tcp_rule(group: str, port: int) -> dict[str, Any]:
    ports = {"port_range_min": port, "port_range_max": port}
    return {"security_group_id": group, "direction": "ingress", "protocol": "tcp", **ports}
