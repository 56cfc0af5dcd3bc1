"""What holds for different people: what they see, and what they may do."""

from typing import Any

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import (
    NETWORKS,
    PORTS,
    ROUTERS,
    SECURITY_GROUP_RULES,
    SECURITY_GROUPS,
    SUBNETS,
    Kind,
)
from tests.contract.cloud.world import World, every_kind, played, v4_of


class Policies:
    @every_kind
    @played
    async def test_what_belongs_to_others_is_not_there(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        with pytest.raises(errors.NotFound):
            await world.other.get(kind, made.id)
        with pytest.raises(errors.NotFound):
            await world.other.update(kind, made.id, {"description": "x"}, revision=None)
        with pytest.raises(errors.NotFound):
            await world.other.delete(kind, made.id, revision=None)
        assert made.id not in {each.id for each in await world.other.list(kind)}
        assert made.id in {each.id for each in await world.admin.list(kind, project_id=world.project)}

    @played
    async def test_the_outside_is_seen_by_all_and_changed_by_none(self, world: World) -> None:
        network = await world.member.get(NETWORKS, world.outside)
        assert network.external
        subnets = await world.member.list(SUBNETS, network_id=world.outside)
        assert {subnet.ip_version for subnet in subnets} == {4, 6}
        for kind, which in ((NETWORKS, network.id), (SUBNETS, subnets[0].id)):
            with pytest.raises(errors.Forbidden):
                await world.member.update(kind, which, {"name": "x"}, revision=None)  # type: ignore[misc]
            with pytest.raises(errors.Forbidden):
                await world.member.delete(kind, which, revision=None)  # type: ignore[misc]
        with pytest.raises(errors.Forbidden):
            await world.member.create(PORTS, {"network_id": world.outside})

    @played
    async def test_nobody_makes_things_on_networks_of_others(self, world: World) -> None:
        site = await world.site()
        with pytest.raises(errors.NotFound):
            await world.other.create(PORTS, {"network_id": site.network.id})
        wanted = {"network_id": site.network.id, "ip_version": 4, "cidr": "10.10.0.0/24"}
        with pytest.raises(errors.Forbidden):
            await world.other.create(SUBNETS, wanted)

    @played
    async def test_on_a_shared_network_one_is_a_guest(self, world: World) -> None:
        site = await world.site()
        await world.admin.update(NETWORKS, site.network.id, {"shared": True}, revision=None)
        port = await world.other.create(
            PORTS, {"network_id": site.network.id, "fixed_ips": [{"subnet_id": site.v4.id}]}
        )
        for wanted in (
            {"device_owner": "network:dhcp"},
            {"fixed_ips": [{"ip_address": "10.9.0.77"}]},
            {"mac_address": "fa:16:3e:00:00:33"},
            {"allowed_address_pairs": [{"ip_address": "10.9.0.77"}]},
            {"port_security_enabled": False},
        ):
            with pytest.raises(errors.Forbidden):
                await world.other.create(PORTS, {"network_id": site.network.id} | wanted)
            with pytest.raises(errors.Forbidden):
                await world.other.update(PORTS, port.id, wanted, revision=None)

    @played
    async def test_who_owns_a_network_rules_what_is_on_it(self, world: World) -> None:
        site = await world.site()
        port = await world.admin.create(
            PORTS, {"network_id": site.network.id, "project_id": world.other_project, "name": "guest"}
        )
        assert (await world.member.get(PORTS, port.id)).project_id == world.other_project
        assert await world.member.list(PORTS, name="guest") == await world.other.list(PORTS, name="guest")
        await world.member.delete(PORTS, port.id, revision=None)

    @pytest.mark.parametrize(
        ("kind", "wanted"),
        [(NETWORKS, {"shared": True}), (NETWORKS, {"router:external": True})],
        ids=str,
    )
    @played
    async def test_some_things_only_administrators_make(
        self, world: World, kind: Kind[Any, Any], wanted: dict[str, Any]
    ) -> None:
        with pytest.raises(errors.Forbidden):
            await world.member.create(kind, wanted)

    @played
    async def test_nothing_is_made_for_others(self, world: World) -> None:
        with pytest.raises(errors.Refused):
            await world.member.create(NETWORKS, {"project_id": world.other_project})
        network = await world.admin.create(NETWORKS, {"project_id": world.other_project})
        assert (await world.other.get(NETWORKS, network.id)).project_id == world.other_project

    @played
    async def test_only_administrators_bind_ports_and_see_where(self, world: World) -> None:
        port = await world.port(await world.site())
        assert (port.binding_host_id, port.binding_vif_type, port.binding_vnic_type) == (None, None, "normal")
        unbound = await world.admin.get(PORTS, port.id)
        assert (unbound.binding_host_id, unbound.binding_vif_type) == ("", "unbound")
        with pytest.raises(errors.Forbidden):
            await world.member.update(PORTS, port.id, {"binding:host_id": "n1"}, revision=None)
        with pytest.raises(errors.Forbidden):
            await world.member.create(PORTS, {"network_id": port.network_id, "binding:host_id": "n1"})
        bound = await world.admin.update(PORTS, port.id, {"binding:host_id": "n1"}, revision=None)
        assert (bound.binding_host_id, bound.binding_vif_type) == ("n1", "ovs")
        assert (await world.member.get(PORTS, port.id)).binding_host_id is None

    @played
    async def test_a_servers_bound_port_is_not_deleted_by_members(self, world: World) -> None:
        port = await world.port(await world.site(), device_owner="compute:nova")
        await world.admin.update(PORTS, port.id, {"binding:host_id": "n1"}, revision=None)
        with pytest.raises(errors.Forbidden):
            await world.member.delete(PORTS, port.id, revision=None)
        await world.admin.delete(PORTS, port.id, revision=None)

    @played
    async def test_members_keep_a_ports_mac(self, world: World) -> None:
        port = await world.port(await world.site())
        with pytest.raises(errors.Forbidden):
            await world.member.update(PORTS, port.id, {"mac_address": "fa:16:3e:00:00:34"}, revision=None)

    @played
    async def test_the_ports_of_floating_ips_and_gateways_are_the_clouds_own(self, world: World) -> None:
        router, floating = await world.router(), await world.floating_ip()
        for owner in (router.id, floating.id):
            assert await world.member.list(PORTS, device_id=owner) == ()
            [port] = await world.admin.list(PORTS, device_id=owner)
            assert port.project_id == ""
            assert v4_of(port)
            with pytest.raises(errors.Conflict):
                await world.admin.delete(PORTS, port.id, revision=None)

    @played
    async def test_extensions_tell_what_we_rely_on(self, world: World) -> None:
        aliases = {extension.alias for extension in await world.member.extensions()}
        assert aliases >= {
            "allowed-address-pairs",
            "external-net",
            "pagination",
            "port-security",
            "quota_details",
            "revision-if-match",
            "router",
            "security-group",
            "standard-attr-description",
            "standard-attr-tag",
        }

    @played
    async def test_routers_and_groups_of_others_are_no_use(self, world: World) -> None:
        site, group = await world.site(), await world.group()
        theirs = await world.other.create(SECURITY_GROUPS, {"name": "theirs"})
        router = await world.other.create(ROUTERS, {})
        with pytest.raises(errors.NotFound):
            await world.port(site, security_groups=[theirs.id])
        with pytest.raises(errors.NotFound):
            await world.member.add_router_interface(router.id, site.v4.id)
        with pytest.raises(errors.NotFound):
            await world.other.add_router_interface(router.id, site.v4.id)
        wanted = {"security_group_id": group.id, "direction": "ingress"}
        with pytest.raises(errors.Forbidden):
            await world.other.create(SECURITY_GROUP_RULES, wanted)
