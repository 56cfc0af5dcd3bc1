"""What holds for networks, subnets and the routers between them."""

import ipaddress
from typing import Any

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import NETWORKS, PORTS, ROUTERS, SUBNETS
from mooring.model.cloud import AddressRange, RouterId, SubnetId
from tests.contract.cloud.world import NOWHERE, World, played, v4_of

NONSENSE: list[tuple[str, dict[str, Any], type[errors.CloudError]]] = [
    ("10.9.0.0/28", {}, errors.Refused),
    ("xx", {}, errors.Refused),
    ("10.10.0.0/24", {"ip_version": 6}, errors.Refused),
    ("10.10.0.0/24", {"ip_version": 5}, errors.Refused),
    ("10.10.0.0/24", {"allocation_pools": [{"start": "10.11.0.5", "end": "10.11.0.6"}]}, errors.Refused),
    ("10.10.0.0/24", {"allocation_pools": [{"start": "10.10.0.6", "end": "10.10.0.5"}]}, errors.Refused),
    (
        "10.10.0.0/24",
        {"gateway_ip": "10.10.0.5", "allocation_pools": [{"start": "10.10.0.4", "end": "10.10.0.6"}]},
        errors.Conflict,
    ),
    ("10.10.0.0/24", {"network_id": NOWHERE}, errors.NotFound),
]


class Networks:
    @played
    async def test_a_network_comes_changes_and_goes(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {"name": "a", "description": "mark"})
        assert (network.name, network.description, network.status) == ("a", "mark", "ACTIVE")
        assert (network.shared, network.external, network.subnets) == (False, False, ())
        assert network.mtu > 1000
        assert network.port_security_enabled
        network = await world.member.update(NETWORKS, network.id, {"name": "b"}, revision=network.revision_number)
        assert await world.member.get(NETWORKS, network.id) == network
        await world.member.delete(NETWORKS, network.id, revision=network.revision_number)
        with pytest.raises(errors.NotFound):
            await world.member.get(NETWORKS, network.id)

    @played
    async def test_ports_of_an_open_network_are_open(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {"port_security_enabled": False})
        port = await world.member.create(PORTS, {"network_id": network.id})
        assert (port.port_security_enabled, port.security_groups) == (False, ())

    @played
    async def test_a_network_with_ports_stays(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site)
        with pytest.raises(errors.Conflict):
            await world.member.delete(NETWORKS, site.network.id, revision=None)
        with pytest.raises(errors.Conflict):
            await world.member.delete(SUBNETS, site.v4.id, revision=None)
        await world.member.delete(PORTS, port.id, revision=None)
        await world.member.delete(SUBNETS, site.v4.id, revision=None)
        with pytest.raises(errors.NotFound):
            await world.member.get(SUBNETS, site.v4.id)

    @played
    async def test_a_network_takes_its_subnets_along(self, world: World) -> None:
        site = await world.site()
        await world.member.delete(NETWORKS, site.network.id, revision=None)
        for subnet in (site.v4.id, site.v6.id):
            with pytest.raises(errors.NotFound):
                await world.member.get(SUBNETS, subnet)


class Subnets:
    @played
    async def test_defaults(self, world: World) -> None:
        site = await world.site()
        assert (site.v4.gateway_ip, site.v4.cidr) == ("10.9.0.1", "10.9.0.0/24")
        assert site.v4.allocation_pools == (AddressRange("10.9.0.2", "10.9.0.254"),)
        assert (site.v6.gateway_ip, site.v6.ip_version) == ("fd09::", 6)
        assert site.v6.allocation_pools == (AddressRange("fd09::1", "fd09::ffff:ffff:ffff:ffff"),)
        assert (site.v4.network_id, site.v4.project_id) == (site.network.id, world.project)

    @played
    async def test_a_gateway_splits_the_pool(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {})
        subnet = await world.subnet(network, "10.9.0.7/24", gateway_ip="10.9.0.9")
        assert subnet.cidr == "10.9.0.0/24"
        ranges = (AddressRange("10.9.0.1", "10.9.0.8"), AddressRange("10.9.0.10", "10.9.0.254"))
        assert tuple(sorted(subnet.allocation_pools, key=lambda pool: len(pool.start))) == ranges

    @played
    async def test_there_need_not_be_a_gateway(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {})
        subnet = await world.subnet(network, "10.9.0.0/24", gateway_ip=None)
        assert subnet.gateway_ip is None
        assert subnet.allocation_pools == (AddressRange("10.9.0.1", "10.9.0.254"),)
        router = await world.router()
        with pytest.raises(errors.Refused):
            await world.member.add_router_interface(router.id, subnet.id)

    @played
    async def test_addresses_come_from_the_pools(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {})
        await world.subnet(network, "10.9.0.0/24", allocation_pools=[{"start": "10.9.0.50", "end": "10.9.0.51"}])
        ports = [await world.member.create(PORTS, {"network_id": network.id}) for _ in range(2)]
        assert {v4_of(port) for port in ports} == {"10.9.0.50", "10.9.0.51"}
        with pytest.raises(errors.NoMoreAddresses):
            await world.member.create(PORTS, {"network_id": network.id})
        wish = {"network_id": network.id, "fixed_ips": [{"ip_address": "10.9.0.60"}]}
        assert v4_of(await world.member.create(PORTS, wish)) == "10.9.0.60"

    @played
    async def test_nonsense_is_refused(self, world: World) -> None:
        site = await world.site()
        for cidr, more, error in NONSENSE:
            with pytest.raises(error):
                await world.subnet(site.network, cidr, **more)

    @played
    async def test_a_subnet_changes(self, world: World) -> None:
        site = await world.site()
        subnet = await world.member.update(SUBNETS, site.v4.id, {"name": "x", "enable_dhcp": True}, revision=0)
        assert (subnet.name, subnet.enable_dhcp) == ("x", True)
        assert await world.member.get(SUBNETS, subnet.id) == subnet
        with pytest.raises(errors.Refused):
            await world.member.update(SUBNETS, subnet.id, {"cidr": "10.9.0.0/23"}, revision=None)
        with pytest.raises(errors.Conflict):
            await world.member.update(SUBNETS, subnet.id, {"gateway_ip": "10.9.0.9"}, revision=None)


class Routers:
    @played
    async def test_a_router_has_a_way_out(self, world: World) -> None:
        router = await world.router(name="r")
        assert (router.name, router.status, router.admin_state_up) == ("r", "ACTIVE", True)
        gateway = router.external_gateway_info
        assert gateway is not None
        assert (gateway.network_id, gateway.enable_snat) == (world.outside, True)
        subnets = {each.id: each for each in await world.member.list(SUBNETS, network_id=world.outside)}
        for fixed in gateway.external_fixed_ips:
            assert ipaddress.ip_address(fixed.ip_address) in ipaddress.ip_network(subnets[fixed.subnet_id].cidr)
        assert {fixed.subnet_id for fixed in gateway.external_fixed_ips} == set(subnets)

    @played
    async def test_a_way_out_comes_and_goes(self, world: World) -> None:
        router = await world.member.create(ROUTERS, {"name": "r"})
        assert router.external_gateway_info is None
        way = {"external_gateway_info": {"network_id": world.outside}}
        opened = await world.member.update(ROUTERS, router.id, way, revision=router.revision_number)
        assert opened.external_gateway_info is not None
        assert opened.revision_number > router.revision_number
        closed = await world.member.update(ROUTERS, router.id, {"external_gateway_info": None}, revision=None)
        assert closed.external_gateway_info is None
        assert await world.admin.list(PORTS, device_id=router.id) == ()
        await world.member.delete(ROUTERS, router.id, revision=None)

    @pytest.mark.parametrize(
        "more", [{"enable_snat": False}, {"external_fixed_ips": [{"ip_address": "203.0.113.151"}]}]
    )
    @played
    async def test_members_choose_no_more_than_the_network(self, world: World, more: dict[str, Any]) -> None:
        with pytest.raises(errors.Forbidden):
            await world.router(external_gateway_info={"network_id": world.outside, **more})

    @played
    async def test_the_way_out_is_an_outside_network(self, world: World) -> None:
        site = await world.site()
        with pytest.raises(errors.Refused):
            await world.router(external_gateway_info={"network_id": site.network.id})
        with pytest.raises(errors.NotFound):
            await world.router(external_gateway_info={"network_id": NOWHERE})
        assert await world.member.list(ROUTERS) == ()

    @played
    async def test_an_interface_has_the_gateways_address(self, world: World) -> None:
        site, router = await world.site(), await world.router()
        which = await world.member.add_router_interface(router.id, site.v4.id)
        port = await world.member.get(PORTS, which)
        assert (port.device_owner, port.device_id) == ("network:router_interface", router.id)
        assert v4_of(port) == site.v4.gateway_ip
        assert (port.project_id, port.security_groups) == (world.project, ())
        assert (await world.member.get(ROUTERS, router.id)).revision_number > router.revision_number

    @played
    async def test_what_an_interface_needs_cannot_go(self, world: World) -> None:
        site = await world.site()
        router = await world.router(site)
        [port] = await world.member.list(PORTS, device_id=router.id)
        with pytest.raises(errors.Conflict) as error:
            await world.member.delete(PORTS, port.id, revision=None)
        assert error.value.type == "ServicePortInUse"
        with pytest.raises(errors.Conflict):
            await world.member.delete(ROUTERS, router.id, revision=None)
        with pytest.raises(errors.Conflict):
            await world.member.delete(SUBNETS, site.v4.id, revision=None)
        with pytest.raises(errors.Conflict):
            await world.member.delete(NETWORKS, site.network.id, revision=None)
        assert await world.member.remove_router_interface(router.id, site.v4.id) == port.id
        await world.member.delete(ROUTERS, router.id, revision=None)
        await world.member.delete(NETWORKS, site.network.id, revision=None)

    @played
    async def test_subnets_are_connected_once(self, world: World) -> None:
        site, same = await world.site(), await world.site("10.9.0.0/16", "fd10::/64")
        router = await world.router(site)
        for subnet in (site.v4.id, same.v4.id):
            with pytest.raises(errors.Refused):
                await world.member.add_router_interface(router.id, subnet)
        await world.member.add_router_interface(router.id, site.v6.id)

    @played
    async def test_a_taken_gateway_address_is_a_conflict(self, world: World) -> None:
        site, router = await world.site(), await world.router()
        await world.port(site, fixed_ips=[{"ip_address": site.v4.gateway_ip}])
        with pytest.raises(errors.Conflict):
            await world.member.add_router_interface(router.id, site.v4.id)

    @played
    async def test_what_is_not_there_is_not_found(self, world: World) -> None:
        site, router = await world.site(), await world.router()
        with pytest.raises(errors.NotFound):
            await world.member.add_router_interface(RouterId(NOWHERE), site.v4.id)
        for subnet in (site.v4.id, SubnetId(NOWHERE)):
            with pytest.raises(errors.NotFound):
                await world.member.remove_router_interface(router.id, subnet)
        with pytest.raises(errors.NotFound):
            await world.member.add_router_interface(router.id, SubnetId(NOWHERE))
