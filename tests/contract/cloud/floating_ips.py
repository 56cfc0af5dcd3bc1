"""What holds for floating IPs, from the first to the last of their days."""

import asyncio
import ipaddress

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import FLOATING_IPS, PORTS, ROUTERS, SUBNETS
from mooring.model.cloud import FloatingIp
from tests.contract.cloud.world import NOWHERE, World, played, v4_of


async def settled(world: World, floating: FloatingIp) -> FloatingIp:
    """A floating IP once its status follows from its port: Neutron sets it after it has answered."""
    for _ in range(50):
        floating = await world.member.get(FLOATING_IPS, floating.id)
        if floating.status == ("ACTIVE" if floating.port_id else "DOWN"):
            break
        await asyncio.sleep(0.1)
    return floating


class FloatingIps:
    @played
    async def test_a_free_one(self, world: World) -> None:
        floating = await world.floating_ip(description="mark")
        assert floating == await world.member.get(FLOATING_IPS, floating.id)
        assert (floating.description, floating.status, floating.floating_network_id) == ("mark", "DOWN", world.outside)
        assert (floating.port_id, floating.fixed_ip_address, floating.router_id) == (None, None, None)
        subnets = await world.member.list(SUBNETS, network_id=world.outside, ip_version=4)
        assert ipaddress.ip_address(floating.floating_ip_address) in ipaddress.ip_network(subnets[0].cidr)

    @played
    async def test_one_that_is_born_with_a_port(self, world: World) -> None:
        site = await world.site()
        router, port = await world.router(site), await world.port(site)
        made = await world.floating_ip(port_id=port.id)
        assert (made.port_id, made.fixed_ip_address, made.router_id) == (port.id, v4_of(port), router.id)
        floating = await settled(world, made)
        assert floating.status == "ACTIVE"
        assert floating.revision_number > made.revision_number

    @played
    async def test_ports_come_and_go(self, world: World) -> None:
        site = await world.site()
        await world.router(site)
        one, two = await world.port(site), await world.port(site)
        floating = await world.floating_ip()
        for port in (one, two, None, one):
            which = None if port is None else port.id
            await world.member.update(FLOATING_IPS, floating.id, {"port_id": which}, revision=floating.revision_number)
            changed = await settled(world, floating)
            assert changed.port_id == which
            assert changed.fixed_ip_address == (None if port is None else v4_of(port))
            assert changed.status == ("DOWN" if port is None else "ACTIVE")
            assert changed.revision_number > floating.revision_number
            floating = changed

    @played
    async def test_a_deleted_port_leaves_it(self, world: World) -> None:
        site = await world.site()
        await world.router(site)
        port = await world.port(site)
        floating = await settled(world, await world.floating_ip(port_id=port.id))
        await world.member.delete(PORTS, port.id, revision=None)
        left = await settled(world, floating)
        assert (left.port_id, left.fixed_ip_address, left.router_id, left.status) == (None, None, None, "DOWN")
        assert left.revision_number > floating.revision_number

    @played
    async def test_an_address_inside_has_one_only(self, world: World) -> None:
        site = await world.site()
        await world.router(site)
        port, free = await world.port(site), await world.floating_ip()
        await world.floating_ip(port_id=port.id)
        before = await world.member.list(FLOATING_IPS)
        with pytest.raises(errors.Conflict) as error:
            await world.floating_ip(port_id=port.id)
        assert error.value.type == "FloatingIPPortAlreadyAssociated"
        with pytest.raises(errors.Conflict):
            await world.member.update(FLOATING_IPS, free.id, {"port_id": port.id}, revision=None)
        assert {each.id for each in await world.member.list(FLOATING_IPS)} == {each.id for each in before}

    @played
    async def test_without_a_router_there_is_no_way(self, world: World) -> None:
        port, floating = await world.port(await world.site()), await world.floating_ip()
        for call in (
            world.floating_ip(port_id=port.id),
            world.member.update(FLOATING_IPS, floating.id, {"port_id": port.id}, revision=None),
        ):
            with pytest.raises(errors.Conflict) as error:
                await call
            assert error.value.type == "ExternalGatewayForFloatingIPNotFound"

    @played
    async def test_what_it_needs_stays(self, world: World) -> None:
        site = await world.site()
        router, port = await world.router(site), await world.port(site)
        floating = await world.floating_ip(port_id=port.id)
        with pytest.raises(errors.Conflict):
            await world.member.remove_router_interface(router.id, site.v4.id)
        with pytest.raises(errors.Conflict):
            await world.member.update(ROUTERS, router.id, {"external_gateway_info": None}, revision=None)
        await world.member.delete(FLOATING_IPS, floating.id, revision=None)
        await world.member.remove_router_interface(router.id, site.v4.id)

    @played
    async def test_it_leads_to_one_address_of_version_4(self, world: World) -> None:
        site = await world.site()
        await world.router(site)
        floating = await world.floating_ip()
        none = await world.port(site, fixed_ips=[{"subnet_id": site.v6.id}])
        two = await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}, {"ip_address": "10.9.0.78"}])
        for changes in (
            {"port_id": none.id},
            {"port_id": none.id, "fixed_ip_address": none.fixed_ips[0].ip_address},
            {"port_id": two.id},
            {"port_id": two.id, "fixed_ip_address": "10.9.0.79"},
            {"fixed_ip_address": "10.9.0.77"},
            {"port_id": "xx"},
        ):
            with pytest.raises(errors.Refused):
                await world.member.update(FLOATING_IPS, floating.id, changes, revision=None)
        changes = {"port_id": two.id, "fixed_ip_address": "10.9.0.78"}
        changed = await world.member.update(FLOATING_IPS, floating.id, changes, revision=None)
        assert changed.fixed_ip_address == "10.9.0.78"

    @played
    async def test_what_is_not_there_is_not_found(self, world: World) -> None:
        site = await world.site()
        with pytest.raises(errors.NotFound):
            await world.floating_ip(port_id=NOWHERE)
        with pytest.raises(errors.NotFound):
            await world.floating_ip(floating_network_id=NOWHERE)
        with pytest.raises(errors.Refused):
            await world.floating_ip(floating_network_id=site.network.id)
        with pytest.raises(errors.Refused):
            await world.member.create(FLOATING_IPS, {})

    @played
    async def test_administrators_choose_the_address(self, world: World) -> None:
        free = await world.floating_ip()
        address = free.floating_ip_address
        await world.member.delete(FLOATING_IPS, free.id, revision=None)
        with pytest.raises(errors.Forbidden):
            await world.floating_ip(floating_ip_address=address)
        wanted = {"floating_network_id": world.outside, "project_id": world.project, "floating_ip_address": address}
        chosen = await world.admin.create(FLOATING_IPS, wanted)
        assert (await world.member.get(FLOATING_IPS, chosen.id)).floating_ip_address == address
        with pytest.raises(errors.Conflict):
            await world.admin.create(FLOATING_IPS, wanted)
        with pytest.raises(errors.Refused):
            await world.admin.create(FLOATING_IPS, wanted | {"floating_ip_address": "10.0.113.1"})

    @played
    async def test_a_subnet_can_be_wished(self, world: World) -> None:
        [v4] = await world.member.list(SUBNETS, network_id=world.outside, ip_version=4)
        floating = await world.floating_ip(subnet_id=v4.id)
        assert ipaddress.ip_address(floating.floating_ip_address) in ipaddress.ip_network(v4.cidr)
        with pytest.raises(errors.Refused):
            await world.floating_ip(subnet_id=(await world.site()).v4.id)

    @played
    async def test_an_empty_change_takes_the_port_away(self, world: World) -> None:
        site = await world.site()
        await world.router(site)
        port = await world.port(site)
        floating = await world.floating_ip(port_id=port.id)
        kept = await world.member.update(FLOATING_IPS, floating.id, {"description": "x"}, revision=None)
        assert (kept.port_id, kept.description) == (port.id, "x")
        empty = await world.member.update(FLOATING_IPS, floating.id, {}, revision=None)
        assert empty.port_id is None

    @played
    async def test_a_deleted_one_is_gone(self, world: World) -> None:
        floating = await world.floating_ip()
        await world.member.delete(FLOATING_IPS, floating.id, revision=floating.revision_number)
        with pytest.raises(errors.NotFound):
            await world.member.get(FLOATING_IPS, floating.id)
        with pytest.raises(errors.NotFound):
            await world.member.update(FLOATING_IPS, floating.id, {"port_id": None}, revision=None)
        with pytest.raises(errors.NotFound):
            await world.member.delete(FLOATING_IPS, floating.id, revision=None)
        assert await world.admin.list(PORTS, device_id=floating.id) == ()
