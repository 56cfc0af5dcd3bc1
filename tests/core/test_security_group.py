"""The gateways' security group: what is done about it next."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import group_rules, security_group, wording
from mooring.core.group_rules import SELF, Rule
from mooring.core.security_group import CloseRules, GroupStep, Guard, MakeGroup, OpenRules, RemoveGroup
from mooring.model.cloud import (
    NetworkId,
    Port,
    PortId,
    ProjectId,
    SecurityGroup,
    SecurityGroupId,
    SecurityGroupRule,
    SecurityGroupRuleId,
)

PROJECT = ProjectId("p")
THEIRS = SecurityGroupId("theirs")
OURS = SecurityGroupId("ours")
FAMILIES = ("IPv4", "IPv6")


def needs(*sent: tuple[str, int]) -> frozenset[Rule]:
    every = [Rule("ingress", family, protocol, port, port) for family in FAMILIES for protocol, port in sent]
    return group_rules.needed(every, FAMILIES)


WEB = group_rules.few(needs(("tcp", 80)))

sends = st.frozensets(st.tuples(st.sampled_from(("tcp", "udp", "sctp")), st.integers(1, 65535)), max_size=60)


def rule(text: Rule, number: int = 0, group: SecurityGroupId = OURS) -> SecurityGroupRule:
    """As Neutron shows it."""
    return SecurityGroupRule(
        id=SecurityGroupRuleId(f"r{number}"),
        project_id=PROJECT,
        revision_number=0,
        security_group_id=group,
        direction=text.direction,
        ethertype=text.ethertype,
        protocol=text.protocol or None,
        port_range_min=text.first or None,
        port_range_max=text.last or None,
        remote_group_id=group if text.remote == SELF else None,
    )


def group(
    rules: frozenset[Rule] = WEB, *, name: SecurityGroupId = OURS, since: str = "", stateful: bool = False
) -> SecurityGroup:
    has = tuple(rule(each, number, name) for number, each in enumerate(sorted(rules)))
    return SecurityGroup(id=name, project_id=PROJECT, revision_number=1, rules=has, created_at=since, stateful=stateful)


def gateway(*groups: SecurityGroupId, name: str = "g1") -> Port:
    return Port(
        id=PortId(name), network_id=NetworkId("n"), project_id=PROJECT, revision_number=1, security_groups=groups
    )


OTHER = SecurityGroupId("zz")
STATEFUL = group(stateful=True)
WIDER = group_rules.few(needs(("tcp", 80), ("udp", 53)))
OPENED = (Rule("ingress", "IPv4", "udp", 53, 53), Rule("ingress", "IPv6", "udp", 53, 53))


@pytest.mark.parametrize(
    ("groups", "on", "rules", "step"),
    [
        ([], [gateway(THEIRS)], WEB, MakeGroup()),
        ([STATEFUL], [gateway(OURS)], WEB, MakeGroup()),
        ([group()], [gateway(OURS)], WIDER, OpenRules(OURS, OPENED)),
        ([group()], [gateway(THEIRS)], WEB, Guard(PortId("g1"), (OURS,))),
        ([group()], [gateway(OURS, THEIRS, name="g2")], WEB, Guard(PortId("g2"), (), (OURS,))),
        ([group(), group(name=OTHER)], [gateway(OTHER)], WEB, Guard(PortId("g1"), (OURS,), (OTHER,))),
        ([group(), group(name=OTHER)], [gateway(OURS)], WEB, RemoveGroup(OTHER)),
        ([group(since="2"), group(name=OTHER, since="1")], [gateway(OTHER)], WEB, RemoveGroup(OURS)),
        ([group()], [gateway(THEIRS, OURS)], WEB, None),
        ([group()], [gateway(OURS)], None, Guard(PortId("g1"), (), (OURS,))),
        ([group()], [gateway(THEIRS)], None, RemoveGroup(OURS)),
        ([], [gateway(THEIRS)], None, None),
    ],
)
def test_each_row_of_the_table(
    groups: list[SecurityGroup], on: list[Port], rules: frozenset[Rule] | None, step: GroupStep | None
) -> None:
    assert security_group.next_step(groups, on, rules, released=frozenset({PortId("g2")})) == step


def test_what_others_let_in_is_closed() -> None:
    strange = rule(Rule("ingress", "IPv4"), 99)
    narrow = msgspec.structs.replace(rule(Rule("ingress", "IPv4", "tcp", 80, 80), 98), remote_ip_prefix="10.0.0.0/8")
    meddled = msgspec.structs.replace(group(), rules=(*group().rules, strange, narrow))
    step = security_group.next_step([meddled], [gateway(OURS)], WEB)
    assert isinstance(step, CloseRules)
    assert set(step.rules) == {strange, narrow}
    assert set(wording.details(step)["rules"].split(",")) == {"r98", "r99"}


def test_what_neutron_takes_for_the_same_is_the_same() -> None:
    spelled = [
        msgspec.structs.replace(
            each, protocol={"tcp": "6", "vrrp": "112", "ipv6-icmp": "icmpv6"}.get(each.protocol or "")
        )
        if each.protocol in {"tcp", "vrrp", "ipv6-icmp"}
        else each
        for each in group().rules
    ]
    found = msgspec.structs.replace(group(), rules=tuple(spelled))
    assert security_group.next_step([found], [gateway(OURS)], WEB) is None


@given(st.booleans(), st.lists(sends, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_step_by_step_it_comes_to_rest(
    meddled: bool,  # noqa: FBT001 - drawn by hypothesis
    wishes: list[frozenset[tuple[str, int]]],
    twice: bool,  # noqa: FBT001
    kept: bool,  # noqa: FBT001
) -> None:
    """Whatever there was before: at the end all is let in, others' groups are where they were, nothing is left."""
    groups = {each.id: each for each in ([group(), group(name=OTHER, stateful=meddled)] if twice else [])}
    on = ((THEIRS, OTHER), (OURS, THEIRS)) if twice else ((THEIRS,), (THEIRS,))
    ports = {each.id: each for each in (gateway(*on[0]), gateway(*on[1], name="g2"))}
    released = frozenset({PortId("g2")})
    ids = itertools.count(100)
    for wish in [*wishes, None] if not kept else wishes:
        rules = None if wish is None else group_rules.few(needs(*wish))
        for _ in range(20):
            step = security_group.next_step(groups.values(), ports.values(), rules, released=released)
            match step:
                case None:
                    break
                case MakeGroup():
                    made = group(frozenset(), name=SecurityGroupId(f"new{next(ids)}"))
                    groups[made.id] = made
                case OpenRules(which, opened):
                    more = [rule(each, next(ids), which) for each in opened]
                    groups[which] = msgspec.structs.replace(groups[which], rules=(*groups[which].rules, *more))
                case CloseRules(which, closed):
                    left = tuple(each for each in groups[which].rules if each not in closed)
                    groups[which] = msgspec.structs.replace(groups[which], rules=left)
                case Guard(name, add, remove):
                    after = security_group.guarded(ports[name].security_groups, add=add, remove=remove)
                    assert after is not None
                    ports[name] = msgspec.structs.replace(ports[name], security_groups=after)
                case RemoveGroup(which):
                    assert all(which not in each.security_groups for each in ports.values()), "Neutron would refuse"
                    del groups[which]
        else:
            pytest.fail("it does not come to rest")
        assert len(groups) == (rules is not None)
        assert all(THEIRS in each.security_groups for each in ports.values())
        assert ports[PortId("g2")].security_groups == (THEIRS,)
        if rules is not None and wish is not None:
            assert security_group.covered(groups.values(), ports.values(), needs(*wish), released=released)
            [one] = groups.values()
            assert len(one.rules) == len(rules)


@pytest.mark.parametrize(
    ("groups", "on", "found"),
    [
        ([group()], [gateway(OURS)], True),
        ([group()], [gateway(OURS), gateway(THEIRS, name="g2")], True),
        ([group()], [gateway(THEIRS)], False),
        ([group(group_rules.few(needs()))], [gateway(OURS)], False),
        ([group(group_rules.few(needs(("tcp", 79), ("tcp", 80), ("tcp", 81))))], [gateway(OURS)], True),
        ([STATEFUL], [gateway(OURS)], False),
        ([], [], False),
    ],
)
def test_what_is_let_in_already(groups: list[SecurityGroup], on: list[Port], found: bool) -> None:  # noqa: FBT001 - a column
    assert security_group.covered(groups, on, needs(("tcp", 80)), released=frozenset({PortId("g2")})) is found


def test_a_rule_as_neutron_is_asked_for_it() -> None:
    web = Rule("ingress", "IPv4", "tcp", 80, 90)
    common = {"description": "mark", "security_group_id": "ours"}
    ports = {"port_range_min": 80, "port_range_max": 90}
    assert security_group.body(web, OURS, "mark") == {
        **common,
        **ports,
        "direction": "ingress",
        "ethertype": "IPv4",
        "protocol": "tcp",
    }
    vrrp = security_group.body(Rule("ingress", "IPv4", "vrrp", remote=SELF), OURS, "mark")
    assert vrrp == {
        **common,
        "direction": "ingress",
        "ethertype": "IPv4",
        "protocol": "vrrp",
        "remote_group_id": "ours",
    }
    assert "protocol" not in security_group.body(Rule("egress", "IPv6"), OURS, "mark")
