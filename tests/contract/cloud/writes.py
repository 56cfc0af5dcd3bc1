"""What holds for writes of every kind: revisions, and several at once."""

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
from mooring.wire.http import Request
from tests.contract.cloud.world import NOWHERE, World, every_kind, played, tcp_rule


class Revisions:
    @every_kind
    @played
    async def test_a_change_makes_the_next_one(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        changed = await world.member.update(kind, made.id, {"description": "x"}, revision=made.revision_number)
        assert changed.description == "x"
        assert changed.revision_number == made.revision_number + 1
        assert await world.member.get(kind, made.id) == changed

    @every_kind
    @played
    async def test_a_change_of_another_one_is_not_made(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        changed = await world.member.update(kind, made.id, {"description": "x"}, revision=made.revision_number)
        for revision in (made.revision_number, changed.revision_number + 1):
            with pytest.raises(errors.RevisionMismatch):
                await world.member.update(kind, made.id, {"description": "y"}, revision=revision)
        assert await world.member.get(kind, made.id) == changed

    @every_kind
    @played
    async def test_a_delete_of_another_one_is_not_made(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        changed = await world.member.update(kind, made.id, {"description": "x"}, revision=None)
        refusal = errors.RevisionMismatch if kind.deleted_by_revision else errors.Refused
        with pytest.raises(refusal):
            await world.member.delete(kind, made.id, revision=made.revision_number)
        assert await world.member.get(kind, made.id) == changed

    @every_kind
    @played
    async def test_a_delete_of_this_one_is_made(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        revision = made.revision_number if kind.deleted_by_revision else None
        await world.member.delete(kind, made.id, revision=revision)
        with pytest.raises(errors.NotFound):
            await world.member.get(kind, made.id)
        with pytest.raises(errors.NotFound):
            await world.member.delete(kind, made.id, revision=revision)

    @played
    async def test_a_router_is_never_deleted_by_one_but_loses_its_way_out(self, world: World) -> None:
        router = await world.router()
        headers = {"if-match": f"revision_number={router.revision_number}"}
        request = Request("delete routers", "DELETE", ROUTERS.path(router.id), headers=headers)
        assert (await world.member_door.send(request)).status == 412
        left = await world.member.get(ROUTERS, router.id)
        assert left.external_gateway_info is None
        assert left.revision_number > router.revision_number

    @played
    async def test_what_is_in_use_is_a_conflict_first(self, world: World) -> None:
        site, group = await world.site(), await world.group()
        await world.port(site, security_groups=[group.id])
        for kind, which in ((NETWORKS, site.network.id), (SUBNETS, site.v4.id), (SECURITY_GROUPS, group.id)):
            with pytest.raises(errors.Conflict):
                await world.member.delete(kind, which, revision=99)  # type: ignore[misc]

    @played
    async def test_what_is_the_same_already_is_no_change(self, world: World) -> None:
        port = await world.port(await world.site(), name="a")
        for changes in ({}, {"name": "a"}, {"security_groups": list(port.security_groups)}):
            same = await world.member.update(PORTS, port.id, changes, revision=None)
            assert same == port

    @played
    async def test_address_pairs_are_always_a_change(self, world: World) -> None:
        pairs = [{"ip_address": "10.9.0.9"}]
        port = await world.port(await world.site(), allowed_address_pairs=pairs)
        again = await world.member.update(PORTS, port.id, {"allowed_address_pairs": pairs}, revision=None)
        assert again.allowed_address_pairs == port.allowed_address_pairs
        assert again.revision_number == port.revision_number + 1

    @played
    async def test_they_grow_with_everything_that_changes_a_port(self, world: World) -> None:
        site, group = await world.site(), await world.group()
        port = await world.port(site)
        seen = [port.revision_number]
        for changes in (
            {"name": "x"},
            {"device_owner": "x:y"},
            {"fixed_ips": [{"ip_address": "10.9.0.77"}]},
            {"security_groups": [group.id]},
            {"allowed_address_pairs": [{"ip_address": "10.9.0.9"}]},
        ):
            changed = await world.member.update(PORTS, port.id, changes, revision=seen[-1])
            seen.append(changed.revision_number)
        await world.member.tag(PORTS, port.id, "t")
        seen.append((await world.member.get(PORTS, port.id)).revision_number)
        bound = await world.admin.update(PORTS, port.id, {"binding:host_id": "n1"}, revision=seen[-1])
        seen.append(bound.revision_number)
        assert seen == sorted(set(seen))

    @played
    async def test_a_subnet_changes_its_network(self, world: World) -> None:
        site = await world.site()
        subnet = await world.subnet(site.network, "10.10.0.0/24")
        network = await world.member.get(NETWORKS, site.network.id)
        assert network.revision_number > site.network.revision_number
        assert set(network.subnets) == {site.v4.id, site.v6.id, subnet.id}
        await world.member.delete(SUBNETS, subnet.id, revision=subnet.revision_number)
        assert (await world.member.get(NETWORKS, network.id)).revision_number > network.revision_number

    @played
    async def test_a_port_does_not_change_its_network(self, world: World) -> None:
        site = await world.site()
        await world.port(site)
        assert await world.member.get(NETWORKS, site.network.id) == site.network
        assert await world.member.get(SUBNETS, site.v4.id) == site.v4


class Bulk:
    @played
    async def test_all_are_made_in_order(self, world: World) -> None:
        site = await world.site()
        wanted = [{"network_id": site.network.id, "name": f"p{i}"} for i in range(5)]
        ports = await world.member.create_many(PORTS, wanted)
        assert [port.name for port in ports] == ["p0", "p1", "p2", "p3", "p4"]
        assert len({fixed.ip_address for port in ports for fixed in port.fixed_ips}) == 10
        assert set(await world.member.list(PORTS, network_id=site.network.id)) == set(ports)

    @pytest.mark.parametrize(
        ("bad", "error"),
        [
            ({"fixed_ips": [{"ip_address": "10.9.0.77"}]}, errors.Conflict),
            ({"fixed_ips": [{"ip_address": "10.8.0.1"}]}, errors.Refused),
            ({"security_groups": [NOWHERE]}, errors.NotFound),
            ({"colour": "red"}, errors.Refused),
            ({"network_id": NOWHERE}, errors.NotFound),
        ],
        ids=str,
    )
    @played
    async def test_one_bad_port_means_none(self, world: World, bad: dict[str, Any], error: type[Exception]) -> None:
        site = await world.site()
        await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}])
        before = await world.member.list(PORTS)
        wanted = [{"network_id": site.network.id}, {"network_id": site.network.id} | bad]
        with pytest.raises(error):
            await world.member.create_many(PORTS, wanted)
        assert await world.member.list(PORTS) == before

    @played
    async def test_two_cannot_wish_for_one_address(self, world: World) -> None:
        site = await world.site()
        wish = {"network_id": site.network.id, "fixed_ips": [{"ip_address": "10.9.0.77"}]}
        with pytest.raises(errors.Conflict):
            await world.member.create_many(PORTS, [wish, wish])
        assert await world.member.list(PORTS) == ()

    @played
    async def test_nothing_is_refused(self, world: World) -> None:
        with pytest.raises(errors.Refused):
            await world.member.create_many(PORTS, [])

    @played
    async def test_networks_subnets_and_groups_come_in_bulk(self, world: World) -> None:
        networks = await world.member.create_many(NETWORKS, [{"name": "a"}, {"name": "b"}])
        assert [network.name for network in networks] == ["a", "b"]
        wanted = {"network_id": networks[0].id, "ip_version": 4, "cidr": "10.9.0.0/24"}
        with pytest.raises(errors.Refused):
            await world.member.create_many(SUBNETS, [wanted, wanted])
        assert await world.member.list(SUBNETS, network_id=networks[0].id) == ()
        groups = await world.member.create_many(SECURITY_GROUPS, [{"name": "a"}, {"name": "b"}])
        assert [group.name for group in groups] == ["a", "b"]

    @played
    async def test_rules_come_in_bulk_or_not_at_all(self, world: World) -> None:
        group = await world.group()
        rules = [tcp_rule(group.id, port) for port in (80, 443)]
        assert len(await world.member.create_many(SECURITY_GROUP_RULES, rules)) == 2
        with pytest.raises(errors.Conflict):
            await world.member.create_many(SECURITY_GROUP_RULES, [tcp_rule(group.id, 81), tcp_rule(group.id, 443)])
        assert len((await world.member.get(SECURITY_GROUPS, group.id)).rules) == 4

    @played
    async def test_floating_ips_and_routers_do_not(self, world: World) -> None:
        wanted = {"floating_network_id": world.outside}
        with pytest.raises(errors.Refused):
            await world.member.create_many(FLOATING_IPS, [wanted, wanted])
        with pytest.raises(errors.Refused):
            await world.member.create_many(ROUTERS, [{}, {}])
