"""What the gateways' ports have to let pass, and whether rules of security groups do.

There is one list of needs. The group that we keep is made from it, in few rules; a group of others is held against it.

Groups should be stateless: connection tracking in OpenStack would break connections that come back to a gateway which
had them before. What has no memory does not know answers, so they are let in by their own ports: clients speak from
ports of `ANSWERS`, and that is where backends, and whoever a gateway itself asks, answer to. Ports of Services below
those are merged into ranges, `MOST` for each protocol: a quota of rules is small, and a rule for each Service would use
it up.
"""

import ipaddress
import itertools
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from mooring.core import shares, wishes
from mooring.model.cloud import Port, SecurityGroup, SecurityGroupRule
from mooring.model.kubernetes import Service

MOST = 10
ANSWERS = (1024, 65535)
ALWAYS = ("tcp", "udp")
"""The protocols that a gateway itself needs answers of."""
ICMP = {wishes.IPV4: "icmp", wishes.IPV6: "ipv6-icmp"}
SELF = "the gateways"
NAMES = {"1": "icmp", "6": "tcp", "17": "udp", "58": "ipv6-icmp", "icmpv6": "ipv6-icmp", "112": "vrrp", "132": "sctp"}
"""What Neutron takes for the same, and keeps as it was written."""
VRRP_GROUP = "224.0.0.18"
"""Where adverts are sent to if no peers are named."""


class Rule(Struct, frozen=True, order=True):
    """What may pass, or has to. Nothing, or ports of 0, stands for any."""

    direction: str
    ethertype: str
    protocol: str = ""
    first: int = 0
    last: int = 0
    remote: str = ""

    def __str__(self) -> str:
        ports = f" {self.first}-{self.last}" if self.last else ""
        return f"{self.direction} {self.ethertype} {self.protocol or 'any'}{ports}"

    def about(self, other: "Rule") -> bool:
        """Whether it is about what the other one is about, ports apart."""
        alike = (self.direction, self.ethertype) == (other.direction, other.ethertype)
        return alike and self.protocol in {"", other.protocol} and self.remote in {"", other.remote}


ADVERTS_IN = Rule("ingress", wishes.IPV4, "vrrp", remote=SELF)  # they are of IPv4, whatever the addresses are
ADVERTS_OUT = Rule("egress", wishes.IPV4, "vrrp", remote=SELF)


def clients(services: Iterable[Service], offered: Iterable[str]) -> frozenset[Rule]:
    """What clients send to Services that have ports. `offered`: the families of addresses that there are."""
    there = tuple(offered)
    return frozenset(
        Rule("ingress", wish.family, key.protocol.lower(), key.port, key.port)
        for each in services
        for wish in wishes.wished(each, there)
        for key in shares.keys(each)
    )


def needed(sent: Iterable[Rule], offered: Iterable[str]) -> frozenset[Rule]:
    """All that has to pass if clients send that: answers, errors, adverts, and everything that a gateway sends."""
    every = frozenset(sent)
    protocols = {*ALWAYS, *(each.protocol for each in every)}
    found = {ADVERTS_IN, ADVERTS_OUT, *every}
    for family in offered:
        found |= {Rule(way, family, ICMP[family]) for way in ("ingress", "egress")}
        found |= {Rule("ingress", family, each, *ANSWERS) for each in protocols}
        found |= {Rule("egress", family, each) for each in protocols}
    return frozenset(found)


def few(needs: Iterable[Rule], most: int = MOST) -> frozenset[Rule]:
    """Rules that let all that pass, with at most `most` ranges for each protocol beside the answers."""
    every = frozenset(needs)
    low: dict[Rule, set[int]] = {}
    for each in every:
        if each.last and each.last < ANSWERS[0]:
            low.setdefault(_of_ports(each, 0, 0), set()).add(each.first)
    return frozenset(
        {Rule("egress", each.ethertype) for each in every if each.direction == "egress"}
        | {each for each in every if each.direction == "ingress" and not each.last}
        | {_of_ports(each, *ANSWERS) for each in every if each.last >= ANSWERS[0]}
        | {_of_ports(each, *ends) for each, ports in low.items() for ends in merged(ports, most)}
    )


def merged(ports: Iterable[int], most: int) -> tuple[tuple[int, int], ...]:
    """Ranges that hold all the ports.

    Where there would be more than `most`, what lies between some is opened too: the smallest gaps, of those alike the
    lowest, because that opens the fewest ports.
    """
    ordered = sorted(set(ports))
    if not ordered:
        return ()
    following = dict(itertools.pairwise(ordered))
    gaps = sorted((after - before, before) for before, after in following.items() if after > before + 1)
    ends = sorted(before for _, before in gaps[max(len(gaps) - most + 1, 0) :])
    begins = [following[end] for end in ends]
    return tuple(zip([ordered[0], *begins], [*ends, ordered[-1]], strict=True))


def lacking(needs: Iterable[Rule], has: Iterable[Rule]) -> tuple[Rule, ...]:
    """What of the needs the rules do not let pass. There are no rules that forbid."""
    rules = sorted(has, key=lambda each: each.first)
    return tuple(sorted(each for each in needs if not _passes(each, [rule for rule in rules if rule.about(each)])))


def read(found: SecurityGroupRule) -> Rule:
    """As we would write it; a remote that we never write is kept as it is, and wanted by nobody."""
    written = (found.protocol or "").lower()
    protocol = NAMES.get(written, written)
    itself = found.remote_group_id == found.security_group_id
    remote = SELF if itself else found.remote_group_id or found.remote_ip_prefix or ""
    if protocol in ICMP.values() and found.port_range_min is not None:  # which has no ports: they are a type and a code
        return Rule(found.direction, found.ethertype, f"{protocol} type {found.port_range_min}", remote=remote)
    ports = found.port_range_min or 0, found.port_range_max or 0
    return Rule(found.direction, found.ethertype, protocol, *ports, remote)


def closed(needs: Iterable[Rule], groups: Iterable[SecurityGroup]) -> tuple[Rule, ...]:
    """What groups of others keep from passing, adverts apart. Who lets only some clients in means that."""
    has = [_from_anybody(read(rule)) for each in groups for rule in each.rules if rule.remote_group_id is None]
    return lacking((each for each in needs if not each.remote), has)


def groups_of(port: Port, groups: Iterable[SecurityGroup]) -> tuple[SecurityGroup, ...]:
    return tuple(each for each in groups if each.id in port.security_groups)


def hears(port: Port, peer: Port, groups: Iterable[SecurityGroup]) -> bool:
    """Whether adverts of VRRP come from one port to another, as far as their groups say it."""
    every = tuple(groups)
    came = _between(groups_of(port, every), peer, _addresses(peer))
    went = _between(groups_of(peer, every), port, (VRRP_GROUP, *_addresses(port)))
    return not lacking([ADVERTS_IN], came) and not lacking([ADVERTS_OUT], went)


def _of_ports(rule: Rule, first: int, last: int) -> Rule:
    return msgspec.structs.replace(rule, first=first, last=last)


def _passes(need: Rule, rules: list[Rule]) -> bool:
    """Whether rules that are about it, by their first ports, let all of it pass."""
    if any(not each.last for each in rules):
        return True
    reached = need.first - 1
    for each in rules:
        if each.first <= reached + 1:
            reached = max(reached, each.last)
    return bool(need.last) and reached >= need.last


def _between(groups: Iterable[SecurityGroup], other: Port, addresses: tuple[str, ...]) -> Iterator[Rule]:
    """The rules that are about another port."""
    for rule in (rule for each in groups for rule in each.rules):
        if rule.remote_group_id is not None:
            meant = rule.remote_group_id in other.security_groups
        elif rule.remote_ip_prefix is not None:
            prefix = ipaddress.ip_network(rule.remote_ip_prefix, strict=False)
            meant = any(ipaddress.ip_address(each) in prefix for each in addresses)
        else:
            meant = True
        if meant:
            yield _from_anybody(read(rule))


def _from_anybody(rule: Rule) -> Rule:
    return msgspec.structs.replace(rule, remote="")


def _addresses(port: Port) -> tuple[str, ...]:
    return tuple(each.ip_address for each in port.fixed_ips if wishes.family_of(each.ip_address) == wishes.IPV4)
