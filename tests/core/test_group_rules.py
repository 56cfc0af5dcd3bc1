"""What the rules of security groups let pass, row by row."""

import msgspec
import pytest

from mooring.core import group_rules
from mooring.core.group_rules import Packet
from mooring.model.cloud import (
    FixedIp,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    SecurityGroup,
    SecurityGroupId,
    SecurityGroupRule,
    SubnetId,
)

GROUP = SecurityGroupId("g")
PROJECT = ProjectId("p")


def rule(direction: str = "ingress", **fields: object) -> SecurityGroupRule:
    common = {"id": "r", "project_id": "p", "revision_number": 0, "security_group_id": "g", "direction": direction}
    return msgspec.convert(common | fields, SecurityGroupRule)


def group(*rules: SecurityGroupRule, name: SecurityGroupId = GROUP) -> SecurityGroup:
    return SecurityGroup(id=name, project_id=PROJECT, revision_number=0, rules=rules)


def port(address: str, *groups: str) -> Port:
    return Port(
        id=PortId(address),
        project_id=PROJECT,
        revision_number=0,
        network_id=NetworkId("n"),
        fixed_ips=(FixedIp(SubnetId("s"), address), FixedIp(SubnetId("s6"), "fd00::5")),
        security_groups=tuple(map(SecurityGroupId, groups)),
    )


HTTP = Packet("ingress", "IPv4", 6, 80)


@pytest.mark.parametrize(
    ("fields", "packet", "passes"),
    [
        ({}, HTTP, True),
        ({}, msgspec.structs.replace(HTTP, direction="egress"), False),
        ({"ethertype": "IPv6"}, HTTP, False),
        ({"protocol": "tcp"}, HTTP, True),
        ({"protocol": "6"}, HTTP, True),
        ({"protocol": "udp"}, HTTP, False),
        ({"protocol": "strange"}, HTTP, False),
        ({"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}, HTTP, True),
        ({"protocol": "tcp", "port_range_min": 1, "port_range_max": 79}, HTTP, False),
        ({"protocol": "tcp", "port_range_min": 81, "port_range_max": 90}, HTTP, False),
        ({"remote_ip_prefix": "198.51.100.0/24"}, HTTP, True),  # some clients come in
        ({"remote_group_id": "g"}, HTTP, False),  # nobody from outside is in a group
        ({"remote_group_id": "g"}, msgspec.structs.replace(HTTP, groups=frozenset({"g"})), True),
        ({"remote_ip_prefix": "10.0.0.0/24"}, msgspec.structs.replace(HTTP, addresses=("10.0.0.5",)), True),
        ({"remote_ip_prefix": "10.0.0.0/24"}, msgspec.structs.replace(HTTP, addresses=("10.0.1.5",)), False),
        ({"protocol": "vrrp"}, Packet("ingress", "IPv4", 112), True),
        ({"protocol": "112"}, Packet("ingress", "IPv4", 112), True),
    ],
)
def test_each_part_of_a_rule(fields: dict[str, object], packet: Packet, passes: bool) -> None:  # noqa: FBT001 - a column
    assert group_rules.lets_pass((group(rule("ingress", **fields)),), packet) is passes


def test_one_rule_is_enough_and_none_lets_nothing_pass() -> None:
    assert not group_rules.lets_pass((), HTTP)
    assert not group_rules.lets_pass((group(),), HTTP)
    assert group_rules.lets_pass((group(rule(protocol="udp")), group(rule())), HTTP)


ANYWHERE = rule("egress")


@pytest.mark.parametrize(
    ("rules", "heard"),
    [
        ((rule(), ANYWHERE), True),
        ((rule(protocol="112"), ANYWHERE), True),
        ((rule(protocol="tcp"), ANYWHERE), False),
        ((rule(remote_group_id="g"), ANYWHERE), True),
        ((rule(remote_group_id="other"), ANYWHERE), False),
        ((rule(remote_ip_prefix="10.0.0.12/32"), ANYWHERE), True),
        ((rule(remote_ip_prefix="10.0.0.13/32"), ANYWHERE), False),
        ((rule(),), False),  # nothing goes out
        ((rule(), rule("egress", protocol="tcp")), False),
        ((rule(), rule("egress", remote_ip_prefix="224.0.0.18/32")), True),
        ((rule(), rule("egress", remote_ip_prefix="10.0.0.11/32")), True),
        ((rule(), rule("egress", remote_ip_prefix="10.0.9.0/24")), False),
    ],
)
def test_whether_adverts_are_heard(rules: tuple[SecurityGroupRule, ...], heard: bool) -> None:  # noqa: FBT001 - a column
    assert group_rules.hears(port("10.0.0.11", "g"), port("10.0.0.12", "g"), (group(*rules),)) is heard


def test_the_groups_of_each_port_count() -> None:
    groups = (group(rule(), name=SecurityGroupId("in")), group(ANYWHERE, name=SecurityGroupId("out")))
    assert group_rules.hears(port("10.0.0.11", "in"), port("10.0.0.12", "out"), groups)
    assert not group_rules.hears(port("10.0.0.11", "out"), port("10.0.0.12", "in"), groups)
