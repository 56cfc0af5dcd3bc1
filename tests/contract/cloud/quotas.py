"""What holds for quotas: what is counted, and what is too many."""

from typing import Any

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import (
    FLOATING_IPS,
    NETWORKS,
    PORTS,
    ROUTERS,
    SECURITY_GROUP_RULES,
    SECURITY_GROUPS,
    SUBNETS,
    Kind,
)
from tests.contract.cloud.world import World, played, tcp_rule


class Quotas:
    @played
    async def test_use_is_counted(self, world: World) -> None:
        before = await world.member.quota(world.project)
        assert (before.port.used, before.port.limit, before.port.free) == (0, -1, None)
        site = await world.site()
        port = await world.port(site)
        await world.limit(port=3)
        quota = await world.member.quota(world.project)
        assert (quota.network.used, quota.subnet.used, quota.port.used) == (1, 2, 1)
        assert (quota.port.limit, quota.port.free) == (3, 2)
        await world.member.delete(PORTS, port.id, revision=None)
        assert (await world.member.quota(world.project)).port.used == 0

    @pytest.mark.parametrize(
        "resource",
        ["network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule"],
    )
    @played
    async def test_too_many_is_too_many(self, world: World, resource: str) -> None:
        site, group = await world.site(), await world.group()
        quota = await world.member.quota(world.project)
        await world.limit(**{resource: getattr(quota, resource).used})
        wanted: dict[str, tuple[Kind[Any, Any], dict[str, Any]]] = {
            "network": (NETWORKS, {}),
            "subnet": (SUBNETS, {"network_id": site.network.id, "ip_version": 4, "cidr": "10.10.0.0/24"}),
            "port": (PORTS, {"network_id": site.network.id}),
            "router": (ROUTERS, {}),
            "floatingip": (FLOATING_IPS, {"floating_network_id": world.outside}),
            "security_group": (SECURITY_GROUPS, {"name": "x"}),
            "security_group_rule": (SECURITY_GROUP_RULES, tcp_rule(group.id, 80)),
        }
        with pytest.raises(errors.QuotaExceeded):
            await world.member.create(*wanted[resource])
        assert await world.member.quota(world.project) == await world.admin.quota(world.project)

    @played
    async def test_a_bulk_that_does_not_fit_makes_nothing(self, world: World) -> None:
        site = await world.site()
        await world.limit(port=2)
        with pytest.raises(errors.QuotaExceeded):
            await world.member.create_many(PORTS, [{"network_id": site.network.id}] * 3)
        assert await world.member.list(PORTS) == ()
        await world.member.create_many(PORTS, [{"network_id": site.network.id}] * 2)

    @played
    async def test_what_was_deleted_may_be_made_again(self, world: World) -> None:
        site = await world.site()
        await world.limit(port=1)
        port = await world.port(site)
        await world.member.delete(PORTS, port.id, revision=None)
        await world.port(site)

    @played
    async def test_a_group_is_three_things(self, world: World) -> None:
        await world.group()
        rules = (await world.member.quota(world.project)).security_group_rule.used
        await world.limit(security_group_rule=rules + 1)
        with pytest.raises(errors.QuotaExceeded):
            await world.group()

    @played
    async def test_a_routers_interface_is_not_held_back(self, world: World) -> None:
        site = await world.site()
        await world.limit(port=0)
        await world.router(site)
        assert (await world.member.quota(world.project)).port.used == 1

    @played
    async def test_only_administrators_set_and_read_those_of_others(self, world: World) -> None:
        with pytest.raises(errors.Forbidden):
            await world.other.quota(world.project)
        await world.site()
        assert (await world.limit(subnet=1)).status == 400
