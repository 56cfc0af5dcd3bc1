"""What holds for security groups and their rules."""

from typing import Any

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import PORTS, SECURITY_GROUP_RULES, SECURITY_GROUPS
from tests.contract.cloud.world import NOWHERE, World, played

NONSENSE: list[dict[str, Any]] = [
    {"port_range_min": 90},
    {"port_range_max": None},
    {"protocol": None},
    {"port_range_min": 70000, "port_range_max": 70000},
    {"protocol": "xx"},
    {"direction": "up"},
    {"ethertype": "IPv5"},
    {"ethertype": "IPv6", "remote_ip_prefix": "10.0.0.0/8"},
    {"remote_ip_prefix": "xx"},
    {"colour": "red"},
]


class SecurityGroups:
    @played
    async def test_a_new_group_lets_out(self, world: World) -> None:
        group = await world.group(name="g", description="mark", stateful=False)
        assert (group.name, group.description, group.stateful) == ("g", "mark", False)
        assert {(rule.direction, rule.ethertype) for rule in group.rules} == {("egress", "IPv4"), ("egress", "IPv6")}
        changed = await world.member.update(SECURITY_GROUPS, group.id, {"name": "h", "stateful": True}, revision=None)
        assert (changed.name, changed.stateful) == ("h", True)
        assert await world.member.get(SECURITY_GROUPS, group.id) == changed

    @played
    async def test_a_project_has_a_default_group(self, world: World) -> None:
        [default] = await world.member.list(SECURITY_GROUPS, name="default")
        lets_in = {rule.remote_group_id for rule in default.rules if rule.direction == "ingress"}
        assert lets_in == {default.id}
        assert len(default.rules) == 4
        with pytest.raises(errors.Conflict):
            await world.group(name="default")
        with pytest.raises(errors.Conflict):
            await world.member.update(SECURITY_GROUPS, default.id, {"name": "x"}, revision=None)
        with pytest.raises(errors.Conflict):
            await world.member.delete(SECURITY_GROUPS, default.id, revision=None)

    @played
    async def test_rules_come_and_go(self, world: World) -> None:
        group = await world.group()
        rule = await world.member.create(SECURITY_GROUP_RULES, web(group.id, remote_ip_prefix="10.0.0.0/8"))
        assert (rule.protocol, rule.port_range_min, rule.port_range_max) == ("tcp", 80, 80)
        assert (rule.ethertype, rule.remote_ip_prefix, rule.remote_group_id) == ("IPv4", "10.0.0.0/8", None)
        assert (await world.member.get(SECURITY_GROUP_RULES, rule.id)).id == rule.id
        changed = await world.member.get(SECURITY_GROUPS, group.id)
        assert rule.id in {each.id for each in changed.rules}
        assert changed.revision_number > group.revision_number
        await world.member.delete(SECURITY_GROUP_RULES, rule.id, revision=None)
        with pytest.raises(errors.NotFound):
            await world.member.get(SECURITY_GROUP_RULES, rule.id)
        with pytest.raises(errors.NotFound):
            await world.member.delete(SECURITY_GROUP_RULES, rule.id, revision=None)
        again = await world.member.get(SECURITY_GROUPS, group.id)
        assert len(again.rules) == 2
        assert again.revision_number > changed.revision_number

    @played
    async def test_many_rules_come_at_once_or_not_at_all(self, world: World) -> None:
        group = await world.group(stateful=False)
        vrrp = {"direction": "ingress", "protocol": "vrrp", "remote_group_id": group.id, "security_group_id": group.id}
        wanted = [web(group.id, description="mark"), web(group.id, protocol="sctp", ethertype="IPv6"), vrrp]
        made = await world.member.create_many(SECURITY_GROUP_RULES, wanted)
        told = [(each.protocol, each.ethertype, each.description or "", each.remote_group_id) for each in made]
        assert sorted(told, key=str) == [
            ("sctp", "IPv6", "", None),
            ("tcp", "IPv4", "mark", None),
            ("vrrp", "IPv4", "", group.id),
        ]
        more = [web(group.id, protocol="udp"), web(group.id)]
        with pytest.raises(errors.Conflict):
            await world.member.create_many(SECURITY_GROUP_RULES, more)
        now = await world.member.get(SECURITY_GROUPS, group.id)
        assert {each.id for each in made} == {each.id for each in now.rules if each.direction == "ingress"}
        for each in made:
            await world.member.delete(SECURITY_GROUP_RULES, each.id, revision=each.revision_number)

    @played
    async def test_the_same_rule_is_there_once(self, world: World) -> None:
        group = await world.group()
        await world.member.create(SECURITY_GROUP_RULES, web(group.id))
        for more in ({}, {"protocol": "TCP"}, {"protocol": "6"}, {"description": "x"}):
            with pytest.raises(errors.Conflict) as error:
                await world.member.create(SECURITY_GROUP_RULES, web(group.id, **more))
            assert error.value.type == "SecurityGroupRuleExists"
        await world.member.create(SECURITY_GROUP_RULES, web(group.id, ethertype="IPv6"))

    @played
    async def test_nonsense_is_refused(self, world: World) -> None:
        group = await world.group()
        for more in NONSENSE:
            with pytest.raises(errors.Refused):
                await world.member.create(SECURITY_GROUP_RULES, web(group.id, **more))

    @played
    async def test_groups_that_are_not_there_are_not_found(self, world: World) -> None:
        group = await world.group()
        with pytest.raises(errors.NotFound):
            await world.member.create(SECURITY_GROUP_RULES, web(NOWHERE))
        with pytest.raises(errors.NotFound):
            await world.member.create(SECURITY_GROUP_RULES, web(group.id, remote_group_id=NOWHERE))
        both = {"remote_group_id": group.id, "remote_ip_prefix": "10.0.0.0/8"}
        with pytest.raises(errors.Refused):
            await world.member.create(SECURITY_GROUP_RULES, web(group.id, **both))

    @played
    async def test_a_group_in_use_stays_as_it_is(self, world: World) -> None:
        group = await world.group()
        port = await world.port(await world.site(), security_groups=[group.id])
        with pytest.raises(errors.Conflict):
            await world.member.delete(SECURITY_GROUPS, group.id, revision=None)
        with pytest.raises(errors.Conflict):
            await world.member.update(SECURITY_GROUPS, group.id, {"stateful": False}, revision=None)
        await world.member.delete(PORTS, port.id, revision=None)
        await world.member.delete(SECURITY_GROUPS, group.id, revision=group.revision_number)
        with pytest.raises(errors.NotFound):
            await world.member.get(SECURITY_GROUPS, group.id)
        with pytest.raises(errors.NotFound):
            await world.member.get(SECURITY_GROUP_RULES, group.rules[0].id)

    @played
    async def test_a_port_has_groups_with_memory_or_without_and_never_both(self, world: World) -> None:
        site = await world.site()
        remembers, forgets = await world.group(name="a"), await world.group(name="b", stateful=False)
        other = await world.group(name="c", stateful=False)
        port = await world.port(site, security_groups=[remembers.id])
        both = {"security_groups": [remembers.id, forgets.id]}
        with pytest.raises(errors.Conflict) as error:
            await world.member.update(PORTS, port.id, both, revision=None)
        assert error.value.type == "SecurityGroupConflict"
        with pytest.raises(errors.Conflict):
            await world.port(site, **both)
        await world.member.update(PORTS, port.id, {"security_groups": [forgets.id, other.id]}, revision=None)


def web(group: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any attribute
    ports = {"port_range_min": 80, "port_range_max": 80}
    return {"security_group_id": group, "direction": "ingress", "protocol": "tcp", **ports} | more
