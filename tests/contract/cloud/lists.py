"""What holds for lists: filters and pages."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from mooring.cloud import errors
from mooring.cloud.api import Cloud
from mooring.cloud.kinds import (
    FLOATING_IPS,
    NETWORKS,
    PORTS,
    SECURITY_GROUP_RULES,
    SUBNETS,
    Kind,
)
from mooring.model.cloud import Port, Resource, SecurityGroup
from mooring.wire.http import Request, Response, Sender
from tests.contract.cloud.world import NOWHERE, Site, World, every_kind, played

FILTERS: list[tuple[Mapping[str, Any], str]] = [
    ({}, "01234"),
    ({"name": "p1"}, "1"),
    ({"name": ["p1", "p3"]}, "13"),
    ({"name": "nobody"}, ""),
    ({"name": ""}, ""),
    ({"device_owner": "owner:1"}, "13"),
    ({"device_id": "device0"}, "024"),
    ({"description": "mark1"}, "13"),
    ({"device_owner": "owner:1", "name": ["p0", "p1"]}, "1"),
    ({"status": "DOWN"}, "01234"),
    ({"status": "ACTIVE"}, ""),
    ({"admin_state_up": True}, "01234"),
    ({"admin_state_up": False}, ""),
    ({"fixed_ip": "10.9.0.11"}, "1"),
    ({"fixed_ip": ["10.9.0.11", "10.9.0.12"]}, "12"),
    ({"id": "xx"}, ""),
    ({"network_id": NOWHERE}, ""),
    ({"tags": ["even"]}, "024"),
    ({"tags": ["even", "t0"]}, "0"),
    ({"tags_any": ["t0", "t1"]}, "01"),
    ({"not_tags": ["even"]}, "13"),
    ({"not_tags": ["even", "t0"]}, "1234"),
    ({"not_tags_any": ["t0", "t1"]}, "234"),
]


async def five(world: World, site: Site) -> tuple[Port, ...]:
    wanted = [
        {
            "network_id": site.network.id,
            "name": f"p{i}",
            "device_owner": f"owner:{i % 2}",
            "device_id": f"device{i % 2}",
            "description": f"mark{i % 2}",
            "fixed_ips": [{"ip_address": f"10.9.0.{10 + i}"}],
            "tags": [f"t{i}", "odd" if i % 2 else "even"],
        }
        for i in range(5)
    ]
    return await world.member.create_many(PORTS, wanted)


def in_order(each: Resource) -> Resource:
    """A security group's rules come in any order; all else is compared as it is."""
    if isinstance(each, SecurityGroup):
        return msgspec.structs.replace(each, rules=tuple(sorted(each.rules, key=lambda rule: rule.id)))
    return each


class Lists:
    @played
    async def test_filters_choose(self, world: World) -> None:
        await five(world, await world.site())
        for filters, names in FILTERS:
            found = await world.member.list(PORTS, **filters)
            assert (filters, sorted(port.name for port in found)) == (filters, [f"p{name}" for name in names])

    @played
    async def test_filters_by_what_only_the_cloud_knows(self, world: World) -> None:
        site = await world.site()
        ports = await five(world, site)
        for filters, expected in (
            ({"id": [ports[0].id, ports[3].id]}, {ports[0], ports[3]}),
            ({"mac_address": ports[2].mac_address}, {ports[2]}),
            ({"network_id": site.network.id}, set(ports)),
            ({"project_id": world.project}, set(ports)),
            ({"project_id": world.other_project}, set()),
            ({"security_groups": ports[0].security_groups[0]}, set(ports)),
            ({"fixed_ips": f"subnet_id={site.v4.id}"}, set(ports)),
            ({"fixed_ips": f"subnet_id={site.v6.id}"}, set()),
        ):
            assert set(await world.member.list(PORTS, **filters)) == expected

    @every_kind
    @played
    async def test_an_unknown_filter_is_refused(self, world: World, kind: Kind[Any, Any]) -> None:
        with pytest.raises(errors.Refused):
            await world.member.list(kind, colour="red")

    @every_kind
    @played
    async def test_each_kind_is_listed_as_it_is_got(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        [listed] = await world.member.list(kind, id=made.id)
        assert in_order(listed) == in_order(await world.member.get(kind, made.id))
        assert made.id in {each.id for each in await world.member.list(kind)}

    @played
    async def test_pages_are_put_together(self, world: World) -> None:
        site = await world.site()
        ports = await five(world, site)
        for page in (1, 2, 3, 5, 6):
            found = await Cloud(world.member_door, page=page).list(PORTS, network_id=site.network.id, status="DOWN")
            assert list(found) == sorted(ports, key=lambda port: port.id)

    @played
    async def test_pages_outlive_what_is_deleted_between_them(self, world: World) -> None:
        site = await world.site()
        ports = sorted(await five(world, site), key=lambda port: port.id)
        door = DeletesBetweenPages(world, ports[1])
        found = await Cloud(door, page=2).list(PORTS, network_id=site.network.id)
        assert list(found) == [ports[0], *ports[2:]]

    @played
    async def test_floating_ips_are_found_by_what_they_are(self, world: World) -> None:
        site = await world.site()
        await world.router(site)
        port = await world.port(site)
        used, free = await world.floating_ip(port_id=port.id), await world.floating_ip(description="mark")
        for filters, expected in (
            ({"port_id": port.id}, {used.id}),
            ({"floating_ip_address": free.floating_ip_address}, {free.id}),
            ({"description": "mark"}, {free.id}),
            ({"status": "ACTIVE"}, {used.id}),
            ({"floating_network_id": world.outside}, {used.id, free.id}),
            ({"router_id": used.router_id or ""}, {used.id}),
        ):
            assert {each.id for each in await world.member.list(FLOATING_IPS, **filters)} == expected

    @played
    async def test_networks_subnets_and_rules_are_found_by_what_they_are(self, world: World) -> None:
        site, group = await world.site(), await world.group()
        assert {each.id for each in await world.member.list(NETWORKS, external=True)} == {world.outside}
        assert await world.member.list(NETWORKS, external=False, name="site") == (site.network,)
        assert await world.member.list(SUBNETS, cidr=site.v4.cidr) == (site.v4,)
        assert await world.member.list(SUBNETS, network_id=site.network.id, ip_version=6) == (site.v6,)
        rules = await world.member.list(SECURITY_GROUP_RULES, security_group_id=group.id, ethertype="IPv6")
        assert [(rule.direction, rule.ethertype) for rule in rules] == [("egress", "IPv6")]


class DeletesBetweenPages:
    """A transport before whose second request somebody deletes a port."""

    def __init__(self, world: World, port: Port) -> None:
        self._door: Sender = world.member_door
        self._cloud = world.member
        self._port = port
        self._sent = 0

    async def send(self, request: Request) -> Response:
        self._sent += 1
        if self._sent == 2:
            await self._cloud.delete(PORTS, self._port.id, revision=None)
        return await self._door.send(request)
