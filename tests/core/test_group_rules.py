"""What the gateways have to let pass, in how many rules, and whether rules of whomever do."""

import itertools
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import group_rules
from mooring.core.group_rules import SELF, Rule
from mooring.model import names
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
from mooring.model.kubernetes import Service

BOTH = ("IPv4", "IPv6")
numbers = st.integers(1, 65535)
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


@pytest.mark.parametrize(
    ("ports", "most", "ranges"),
    [
        ((), 3, ()),
        ((80,), 3, ((80, 80),)),
        ((81, 80, 80, 82), 3, ((80, 82),)),
        ((22, 80, 443), 3, ((22, 22), (80, 80), (443, 443))),
        ((22, 80, 443), 2, ((22, 80), (443, 443))),
        ((22, 80, 443), 1, ((22, 443),)),
        ((10, 20, 30, 40), 3, ((10, 20), (30, 30), (40, 40))),
        ((1, 2, 5, 6, 8), 2, ((1, 2), (5, 8))),
    ],
)
def test_ports_are_merged_where_that_opens_the_fewest(
    ports: tuple[int, ...], most: int, ranges: tuple[tuple[int, int], ...]
) -> None:
    assert group_rules.merged(ports, most) == ranges


@given(st.lists(numbers, max_size=60), st.integers(1, 12), st.randoms(use_true_random=False))
def test_ranges_hold_every_port_and_are_few_in_whatever_order(
    ports: list[int], most: int, chance: random.Random
) -> None:
    ranges = group_rules.merged(ports, most)
    assert len(ranges) <= most
    assert all(any(first <= port <= last for first, last in ranges) for port in ports)
    assert all(first in ports and last in ports for first, last in ranges), "nothing beyond the outermost"
    assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(ranges))
    chance.shuffle(ports)
    assert group_rules.merged(ports, most) == ranges


@given(st.sets(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 3))
def test_no_other_ranges_open_fewer(ports: set[int], most: int) -> None:
    ordered = sorted(ports)
    cuts = itertools.chain.from_iterable(
        itertools.combinations(range(1, len(ordered)), number) for number in range(min(most, len(ordered)))
    )

    def opened(cut: tuple[int, ...]) -> int:
        parts = itertools.pairwise([0, *cut, len(ordered)])
        return sum(ordered[end - 1] - ordered[begin] + 1 for begin, end in parts)

    found = sum(last - first + 1 for first, last in group_rules.merged(ports, most))
    assert found == min(map(opened, cuts))


def service(*ports: str, families: tuple[str, ...] = ("IPv4",)) -> Service:
    wanted = [each.split("/") for each in ports]
    spec = {
        "type": "LoadBalancer",
        "loadBalancerClass": names.GATEWAY_CLASS,
        "ipFamilies": families,
        "ports": [{"name": number, "port": int(number), "protocol": protocol} for number, protocol in wanted],
    }
    meta = {"name": "web", "namespace": "shop"}
    return msgspec.convert({"metadata": meta, "spec": spec}, Service)


def sent(*every: str) -> frozenset[Rule]:
    """As `80/tcp/IPv4`."""
    parts = (each.split("/") for each in every)
    return frozenset(Rule("ingress", family, protocol, int(port), int(port)) for port, protocol, family in parts)


@pytest.mark.parametrize(
    ("services", "offered", "found"),
    [
        ([], BOTH, sent()),
        ([service("80/TCP", "53/UDP")], BOTH, sent("80/tcp/IPv4", "53/udp/IPv4")),
        ([service("80/TCP", families=BOTH)], BOTH, sent("80/tcp/IPv4", "80/tcp/IPv6")),
        ([service("80/TCP"), service("443/TCP", families=("IPv6",))], BOTH, sent("80/tcp/IPv4", "443/tcp/IPv6")),
    ],
)
def test_what_clients_send(services: list[Service], offered: tuple[str, ...], found: frozenset[Rule]) -> None:
    assert group_rules.clients(services, offered) == found


def test_what_is_always_let_pass() -> None:
    always = group_rules.few(group_rules.needed([], BOTH))
    told = sorted(str(each) for each in always)
    assert told == [
        *("egress IPv4 any", "egress IPv6 any", "ingress IPv4 icmp", "ingress IPv4 tcp 1024-65535"),
        *("ingress IPv4 udp 1024-65535", "ingress IPv4 vrrp", "ingress IPv6 ipv6-icmp"),
        *("ingress IPv6 tcp 1024-65535", "ingress IPv6 udp 1024-65535"),
    ]
    assert [each.remote for each in always if each.protocol == "vrrp"] == [SELF]
    high = group_rules.needed(sent("8080/tcp/IPv4"), BOTH)
    assert group_rules.few(high) == always, "answers come to those ports already"


def test_a_family_that_is_not_offered_stays_closed() -> None:
    rules = group_rules.few(group_rules.needed(sent("80/tcp/IPv4"), ["IPv4"]))
    assert {each.ethertype for each in rules} == {"IPv4"}
    rules = group_rules.few(group_rules.needed(sent("80/tcp/IPv6"), ["IPv6"]))
    assert {str(each) for each in rules if each.ethertype == "IPv4"} == {"egress IPv4 any", "ingress IPv4 vrrp"}


sends = st.frozensets(
    st.builds(
        lambda family, protocol, port: Rule("ingress", family, protocol, port, port),
        st.sampled_from(BOTH),
        st.sampled_from(("tcp", "udp", "sctp")),
        numbers,
    ),
    max_size=60,
)


@given(sends)
def test_a_few_rules_let_everything_pass_that_has_to(every: frozenset[Rule]) -> None:
    needs = group_rules.needed(every, BOTH)
    rules = group_rules.few(needs)
    assert needs >= every
    assert group_rules.lacking(needs, rules) == ()
    assert len(rules) <= 5 + 2 * 3 * (group_rules.MOST + 1)
    assert group_rules.few(sorted(needs, reverse=True)) == rules
    assert not group_rules.lacking(every, every)


@given(sends, st.data())
def test_without_one_of_them_something_does_not_pass(every: frozenset[Rule], data: st.DataObject) -> None:
    needs = group_rules.needed(every, BOTH)
    rules = group_rules.few(needs)
    without = data.draw(st.sampled_from(sorted(rules)))
    assert group_rules.lacking(needs, rules - {without})


HTTP = Rule("ingress", "IPv4", "tcp", 80, 80)


@pytest.mark.parametrize(
    ("fields", "need", "passes"),
    [
        ({}, HTTP, True),
        ({}, msgspec.structs.replace(HTTP, direction="egress"), False),
        ({"ethertype": "IPv6"}, HTTP, False),
        ({"protocol": "tcp"}, HTTP, True),
        ({"protocol": "6"}, HTTP, True),
        ({"protocol": "TCP"}, HTTP, True),
        ({"protocol": "udp"}, HTTP, False),
        ({"protocol": "strange"}, HTTP, False),
        ({"protocol": "tcp", "port_range_min": 80, "port_range_max": 80}, HTTP, True),
        ({"protocol": "tcp", "port_range_min": 1, "port_range_max": 79}, HTTP, False),
        ({"protocol": "tcp", "port_range_min": 81, "port_range_max": 90}, HTTP, False),
        ({"protocol": "tcp", "port_range_min": 1, "port_range_max": 65535}, Rule("ingress", "IPv4", "tcp"), False),
        ({"remote_ip_prefix": "198.51.100.0/24"}, HTTP, True),  # some clients come in
        ({"remote_group_id": "g"}, HTTP, False),  # nobody from outside is in a group
        ({"protocol": "icmp", "port_range_min": 8, "port_range_max": 0}, Rule("ingress", "IPv4", "icmp"), False),
    ],
)
def test_each_part_of_a_rule(fields: dict[str, object], need: Rule, passes: bool) -> None:  # noqa: FBT001 - a column
    assert (group_rules.closed([need], (group(rule("ingress", **fields)),)) == ()) is passes


@pytest.mark.parametrize(
    ("ranges", "passes"),
    [
        ([(1024, 30000), (30001, 65535)], True),
        ([(20000, 65535), (1, 40000), (5, 6)], True),
        ([(1024, 30000), (30002, 65535)], False),
        ([(1025, 65535)], False),
        ([(1024, 65534)], False),
        ([], False),
    ],
)
def test_several_rules_may_let_it_pass_together(ranges: list[tuple[int, int]], passes: bool) -> None:  # noqa: FBT001
    answers = Rule("ingress", "IPv4", "tcp", 1024, 65535)
    has = [Rule("ingress", "IPv4", "tcp", first, last) for first, last in ranges]
    assert (group_rules.lacking([answers], has) == ()) is passes


def test_one_group_is_enough_and_none_lets_nothing_pass() -> None:
    assert group_rules.closed([HTTP], ()) == (HTTP,)
    assert group_rules.closed([HTTP], (group(),)) == (HTTP,)
    assert group_rules.closed([HTTP], (group(rule(protocol="udp")), group(rule()))) == ()


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
