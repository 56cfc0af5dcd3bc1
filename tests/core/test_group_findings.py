"""What a doctor says of security groups: of ours, what the controller would do; of those of others, what is closed."""

import msgspec
import pytest

from mooring.core import group_findings, group_rules
from mooring.core.cloud_findings import InCloud
from mooring.core.group_rules import Rule
from mooring.core.surveyed import Owned
from mooring.model.cloud import Port, SecurityGroup, SecurityGroupId
from mooring.model.reports import Finding
from tests.core.test_doctoring import ALL, PLACE, port, quota, survey
from tests.core.test_security_group import group

MARK = PLACE.mark
OURS, THEIRS = SecurityGroupId("ours"), SecurityGroupId("theirs")
KEPT = msgspec.structs.replace(PLACE, manage_security_group=True)
RULES = group_rules.few(group_rules.needed([], PLACE.subnets))
WHOLE = msgspec.structs.replace(group(RULES, name=OURS), name="mooring-x", description=MARK)
EMPTY = msgspec.structs.replace(WHOLE, rules=())
STATEFUL = msgspec.structs.replace(group(RULES, name=THEIRS, stateful=True), name="default")


def found(
    groups: tuple[SecurityGroup, ...], *on: SecurityGroupId, kept: bool = True, rules_left: int = -1
) -> dict[str, Finding]:
    gateway: Port = port(security_groups=on)
    usage = msgspec.structs.replace(quota().security_group_rule, limit=rules_left, used=0)
    has = msgspec.structs.replace(quota(), security_group_rule=usage)
    there = survey(owned=Owned(KEPT if kept else PLACE, gateways=(gateway,)))
    return {each.what: each for each in group_findings.findings(there, InCloud(ALL, (), (), groups, has))}


@pytest.mark.parametrize(
    ("groups", "on", "rules_left", "seen"),
    [
        ((), (), -1, "a controller has to make a security group for the gateways"),
        ((EMPTY,), (), -1, "a controller has to let more through the gateways' security group"),
        ((EMPTY,), (), 3, f"security group: {len(RULES)} more rules, and the quota has room for 3"),
        ((WHOLE,), (), -1, "a controller has to put the security group on a gateway's port, or take it off"),
        ((WHOLE, STATEFUL), (THEIRS,), -1, "which Neutron refuses while ports have stateful groups: p1"),
        ((WHOLE,), (OURS,), -1, ""),
    ],
)
def test_our_group(
    groups: tuple[SecurityGroup, ...], on: tuple[SecurityGroupId, ...], rules_left: int, seen: str
) -> None:
    told = found(groups, *on, rules_left=rules_left)["security group of Mooring"]
    assert told.well is (seen == "")
    assert (seen or f"mooring-x, {len(RULES)} rules, on all gateways' ports") in told.seen


def test_the_command_that_puts_ours_in_place_of_a_stateful_one() -> None:
    told = found((WHOLE, STATEFUL), THEIRS)["security group of Mooring"]
    assert told.fix == "openstack port set --no-security-group --security-group ours PORT, for each"


def test_where_it_is_not_ours_to_keep() -> None:
    assert "security group of Mooring" not in found((STATEFUL,), THEIRS, kept=False)
    left = found((WHOLE,), kept=False)["security group of Mooring"]
    assert (left.well, left.seen) == (False, "a controller has to delete a security group that no gateway needs")


def test_what_has_no_memory_needs_rules_for_answers() -> None:
    bare = group(frozenset({Rule("egress", "IPv4")}), name=THEIRS)
    assert found((bare,), THEIRS, kept=False)["ports at g1"].seen == (
        "closed: ICMP (IPv4), answers of 1024-65535/TCP (IPv4), answers of 1024-65535/UDP (IPv4)"
    )
    remembering = msgspec.structs.replace(bare, stateful=True)
    assert found((remembering,), THEIRS, kept=False)["ports at g1"].well
    mute = group(frozenset({Rule("ingress", "IPv4")}), name=THEIRS)
    assert "going out: TCP (IPv4)" in found((mute,), THEIRS, kept=False)["ports at g1"].seen
    assert found((WHOLE,), OURS)["ports at g1"].well
