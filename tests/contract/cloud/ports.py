"""What holds for ports: their addresses, names, groups and address pairs."""

import ipaddress
from typing import Any

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import NETWORKS, PORTS, SECURITY_GROUPS
from mooring.model.cloud import PortId
from tests.contract.cloud.world import NOWHERE, World, played, v4_of

NONSENSE: list[dict[str, Any]] = [
    {"colour": "red"},
    {"name": 5},
    {"name": "x" * 256},
    {"device_id": "x" * 256},
    {"admin_state_up": "maybe"},
    {"status": "ACTIVE"},
    {"id": NOWHERE},
    {"mac_address": "xx"},
    {"security_groups": ["xx"]},
    {"network_id": "xx"},
    {"fixed_ips": "xx"},
    {"fixed_ips": [{"ip_address": "xx"}]},
    {"fixed_ips": [{"ip_address": "10.9.0.9"}, {"ip_address": "10.9.0.9"}]},
]


class Ports:
    @played
    async def test_what_was_asked_for_is_there(self, world: World) -> None:
        site = await world.site()
        names = {"name": "p", "description": "mark", "device_owner": "mooring:vip", "device_id": "d"}
        made = await world.port(site, **names)
        seen = await world.member.get(PORTS, made.id)
        assert seen == made
        assert {name: getattr(seen, name) for name in names} == names
        assert (seen.project_id, seen.network_id) == (world.project, site.network.id)
        assert (seen.status, seen.admin_state_up, seen.tags) == ("DOWN", True, ())
        assert seen.revision_number > 0
        assert seen.created_at.endswith("Z")

    @played
    async def test_without_a_wish_it_gets_one_address_of_each_family(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site)
        assert {fixed.subnet_id for fixed in port.fixed_ips} == {site.v4.id, site.v6.id}
        cidrs = {site.v4.id: site.v4.cidr, site.v6.id: site.v6.cidr}
        for fixed in port.fixed_ips:
            assert ipaddress.ip_address(fixed.ip_address) in ipaddress.ip_network(cidrs[fixed.subnet_id])

    @played
    async def test_no_address_can_be_wished_too(self, world: World) -> None:
        port = await world.port(await world.site(), fixed_ips=[])
        assert port.fixed_ips == ()

    @played
    async def test_a_network_without_subnets_gives_none(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {})
        port = await world.member.create(PORTS, {"network_id": network.id})
        assert port.fixed_ips == ()
        with pytest.raises(errors.Refused):
            await world.member.create(PORTS, {"network_id": network.id, "fixed_ips": [{"ip_address": "10.9.0.9"}]})

    @played
    async def test_macs_differ(self, world: World) -> None:
        site = await world.site()
        macs = {(await world.port(site)).mac_address for _ in range(3)}
        assert len(macs) == 3
        assert all(mac.startswith("fa:16:3e:") for mac in macs)

    @played
    async def test_a_mac_can_be_wished_once(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site, mac_address="fa:16:3e:00:00:33")
        assert port.mac_address == "fa:16:3e:00:00:33"
        with pytest.raises(errors.Conflict):
            await world.port(site, mac_address="fa:16:3e:00:00:33")

    @played
    async def test_an_address_can_be_wished(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site, fixed_ips=[{"subnet_id": site.v4.id, "ip_address": "10.9.0.77"}])
        assert [fixed.ip_address for fixed in port.fixed_ips] == ["10.9.0.77"]
        port = await world.port(site, fixed_ips=[{"ip_address": "fd09::77"}])
        assert [(fixed.subnet_id, fixed.ip_address) for fixed in port.fixed_ips] == [(site.v6.id, "fd09::77")]

    @played
    async def test_a_subnet_can_be_wished(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site, fixed_ips=[{"subnet_id": site.v6.id}])
        assert [fixed.subnet_id for fixed in port.fixed_ips] == [site.v6.id]
        port = await world.port(site, fixed_ips=[{"subnet_id": site.v4.id}, {"subnet_id": site.v4.id}])
        assert len({fixed.ip_address for fixed in port.fixed_ips}) == 2

    @pytest.mark.parametrize("with_subnet", [True, False])
    @played
    async def test_a_taken_address_is_a_conflict(self, world: World, *, with_subnet: bool) -> None:
        site = await world.site()
        wish = {"ip_address": "10.9.0.77"} | ({"subnet_id": site.v4.id} if with_subnet else {})
        await world.port(site, fixed_ips=[wish])
        with pytest.raises(errors.Conflict) as error:
            await world.port(site, fixed_ips=[wish])
        assert error.value.type == "IpAddressAlreadyAllocated"

    @played
    async def test_a_refused_wish_for_two_takes_neither(self, world: World) -> None:
        site = await world.site()
        await world.port(site, fixed_ips=[{"ip_address": "10.9.0.78"}])
        with pytest.raises(errors.Conflict):
            await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}, {"ip_address": "10.9.0.78"}])
        await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}])

    @played
    async def test_an_address_that_the_subnet_cannot_give_is_refused(self, world: World) -> None:
        site = await world.site()
        for address in ("10.8.0.1", "10.9.0.0", "10.9.0.255", "fd08::1"):
            with pytest.raises(errors.Refused) as error:
                await world.port(site, fixed_ips=[{"subnet_id": site.v4.id, "ip_address": address}])
            assert error.value.type == "InvalidIpForSubnet"
            with pytest.raises(errors.Refused) as error:
                await world.port(site, fixed_ips=[{"ip_address": address}])
            assert error.value.type == "InvalidIpForNetwork"

    @played
    async def test_the_gateways_address_can_be_wished(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site, fixed_ips=[{"ip_address": site.v4.gateway_ip}])
        assert v4_of(port) == site.v4.gateway_ip

    @played
    async def test_a_subnet_of_elsewhere_is_no_choice(self, world: World) -> None:
        site, elsewhere = await world.site(), await world.site("10.10.0.0/24", "fd10::/64")
        with pytest.raises(errors.NotFound):
            await world.port(site, fixed_ips=[{"subnet_id": NOWHERE}])
        with pytest.raises(errors.Refused):
            await world.port(site, fixed_ips=[{"subnet_id": elsewhere.v4.id}])

    @played
    async def test_a_freed_address_can_be_taken_again(self, world: World) -> None:
        site = await world.site()
        wish = [{"ip_address": "10.9.0.77"}]
        port = await world.port(site, fixed_ips=wish)
        await world.member.delete(PORTS, port.id, revision=None)
        await world.port(site, fixed_ips=wish)

    @played
    async def test_a_full_subnet_has_no_more_addresses(self, world: World) -> None:
        site = await world.site("10.9.0.0/29")
        wish = [{"subnet_id": site.v4.id}]
        taken = {v4_of(await world.port(site, fixed_ips=wish)) for _ in range(5)}
        assert len(taken) == 5
        with pytest.raises(errors.NoMoreAddresses):
            await world.port(site, fixed_ips=wish)
        with pytest.raises(errors.NoMoreAddresses):
            await world.port(site)

    @played
    async def test_hosts_of_a_stateless_subnet_name_themselves(self, world: World) -> None:
        network = await world.member.create(NETWORKS, {})
        modes = {"ipv6_address_mode": "slaac", "ipv6_ra_mode": "slaac", "enable_dhcp": True}
        await world.subnet(network, "fd11::/64", **modes)
        port = await world.member.create(PORTS, {"network_id": network.id, "mac_address": "fa:16:3e:76:ee:5d"})
        assert [fixed.ip_address for fixed in port.fixed_ips] == ["fd11::f816:3eff:fe76:ee5d"]

    @played
    async def test_nonsense_is_refused(self, world: World) -> None:
        site = await world.site()
        for wanted in NONSENSE:
            with pytest.raises(errors.Refused):
                await world.port(site, **wanted)

    @played
    async def test_a_port_needs_a_network_that_is_there(self, world: World) -> None:
        with pytest.raises(errors.Refused):
            await world.member.create(PORTS, {})
        with pytest.raises(errors.NotFound):
            await world.member.create(PORTS, {"network_id": NOWHERE})

    @pytest.mark.parametrize("which", [NOWHERE, "xx"])
    @played
    async def test_what_is_not_there_is_not_found(self, world: World, which: str) -> None:
        with pytest.raises(errors.NotFound):
            await world.member.get(PORTS, PortId(which))
        with pytest.raises(errors.NotFound):
            await world.member.update(PORTS, PortId(which), {"name": "x"}, revision=None)
        with pytest.raises(errors.NotFound):
            await world.member.delete(PORTS, PortId(which), revision=1)

    @played
    async def test_a_deleted_port_is_gone(self, world: World) -> None:
        port = await world.port(await world.site())
        await world.member.delete(PORTS, port.id, revision=None)
        with pytest.raises(errors.NotFound):
            await world.member.get(PORTS, port.id)
        with pytest.raises(errors.NotFound):
            await world.member.delete(PORTS, port.id, revision=None)


class PortChanges:
    @played
    async def test_a_change_is_kept(self, world: World) -> None:
        port = await world.port(await world.site(), name="a")
        changes = {"name": "b", "description": "c", "device_owner": "d:e", "admin_state_up": False}
        answer = await world.member.update(PORTS, port.id, changes, revision=None)
        assert answer == await world.member.get(PORTS, port.id)
        assert {name: getattr(answer, name) for name in changes} == changes
        assert (answer.fixed_ips, answer.mac_address) == (port.fixed_ips, port.mac_address)

    @played
    async def test_what_is_read_only_is_refused(self, world: World) -> None:
        port = await world.one(PORTS)
        for name in ("id", "network_id", "revision_number", "status", "tags", "colour"):
            with pytest.raises(errors.Refused):
                await world.member.update(PORTS, port.id, {name: NOWHERE}, revision=None)

    @played
    async def test_addresses_move(self, world: World) -> None:
        site = await world.site()
        port = await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}])
        port = await world.member.update(
            PORTS, port.id, {"fixed_ips": [{"ip_address": "10.9.0.78"}, {"subnet_id": site.v6.id}]}, revision=None
        )
        assert v4_of(port) == "10.9.0.78"
        assert len(port.fixed_ips) == 2
        await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}])

    @played
    async def test_a_refused_move_changes_nothing(self, world: World) -> None:
        site = await world.site()
        await world.port(site, fixed_ips=[{"ip_address": "10.9.0.78"}])
        port = await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}])
        with pytest.raises(errors.Conflict):
            await world.member.update(PORTS, port.id, {"fixed_ips": [{"ip_address": "10.9.0.78"}]}, revision=None)
        with pytest.raises(errors.Refused):
            await world.member.update(PORTS, port.id, {"fixed_ips": [{"ip_address": "10.8.0.1"}]}, revision=None)
        assert await world.member.get(PORTS, port.id) == port
        with pytest.raises(errors.Conflict):
            await world.port(site, fixed_ips=[{"ip_address": "10.9.0.77"}])

    @played
    async def test_it_begins_in_the_projects_default_group(self, world: World) -> None:
        port = await world.port(await world.site())
        [default] = await world.member.list(SECURITY_GROUPS, name="default")
        assert port.security_groups == (default.id,)

    @played
    async def test_groups_come_and_go(self, world: World) -> None:
        group = await world.group()
        port = await world.port(await world.site(), security_groups=[group.id])
        assert port.security_groups == (group.id,)
        port = await world.member.update(PORTS, port.id, {"security_groups": []}, revision=None)
        assert port.security_groups == ()
        with pytest.raises(errors.NotFound):
            await world.member.update(PORTS, port.id, {"security_groups": [NOWHERE]}, revision=None)

    @played
    async def test_groups_and_pairs_need_port_security(self, world: World) -> None:
        site, group = await world.site(), await world.group()
        open_port = await world.port(site, port_security_enabled=False)
        assert (open_port.port_security_enabled, open_port.security_groups) == (False, ())
        with pytest.raises(errors.Refused):
            await world.port(site, port_security_enabled=False, security_groups=[group.id])
        pairs = [{"ip_address": "10.9.0.9"}]
        with pytest.raises(errors.Conflict):
            await world.member.update(PORTS, open_port.id, {"allowed_address_pairs": pairs}, revision=None)
        port = await world.port(site, security_groups=[group.id])
        with pytest.raises(errors.Conflict):
            await world.member.update(PORTS, port.id, {"port_security_enabled": False}, revision=None)

    @played
    async def test_address_pairs_are_kept_as_written(self, world: World) -> None:
        site = await world.site()
        pairs = [{"ip_address": "10.9.1.0/24"}, {"ip_address": "fd09:0::3"}, {"ip_address": "10.9.0.9/32"}]
        port = await world.port(site, allowed_address_pairs=pairs)
        assert {pair.ip_address for pair in port.allowed_address_pairs} == {"10.9.1.0/24", "fd09:0::3", "10.9.0.9/32"}
        assert {pair.mac_address for pair in port.allowed_address_pairs} == {port.mac_address}
        mine = [{"ip_address": "10.9.0.9", "mac_address": "fa:16:3e:00:00:01"}]
        port = await world.member.update(PORTS, port.id, {"allowed_address_pairs": mine}, revision=None)
        assert [pair.mac_address for pair in port.allowed_address_pairs] == ["fa:16:3e:00:00:01"]
        port = await world.member.update(PORTS, port.id, {"allowed_address_pairs": []}, revision=None)
        assert port.allowed_address_pairs == ()

    @played
    async def test_address_pairs_have_a_limit(self, world: World) -> None:
        port = await world.port(await world.site())
        pairs = [{"ip_address": f"10.77.{i // 250}.{i % 250}"} for i in range(world.most_address_pairs + 1)]
        with pytest.raises(errors.Refused) as error:
            await world.member.update(PORTS, port.id, {"allowed_address_pairs": pairs}, revision=None)
        assert error.value.type == "AllowedAddressPairExhausted"
        assert await world.member.get(PORTS, port.id) == port
        await world.member.update(PORTS, port.id, {"allowed_address_pairs": pairs[1:]}, revision=None)

    @played
    async def test_bad_address_pairs_are_refused(self, world: World) -> None:
        port = await world.one(PORTS)
        for pairs in (
            [{"ip_address": "xx"}],
            [{"mac_address": "fa:16:3e:00:00:01"}],
            [{"ip_address": "10.9.0.9"}, {"ip_address": "10.9.0.9"}],
        ):
            with pytest.raises(errors.Refused):
                await world.member.update(PORTS, port.id, {"allowed_address_pairs": pairs}, revision=None)
