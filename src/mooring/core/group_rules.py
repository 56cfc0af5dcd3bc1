"""What the rules of security groups let pass. Knows Neutron's way of writing them, and nothing of who wants what."""

import ipaddress
from collections.abc import Iterable

from msgspec import Struct

from mooring.core import wishes
from mooring.model.cloud import Port, SecurityGroup, SecurityGroupRule

NUMBERS = {"icmp": 1, "tcp": 6, "udp": 17, "ipv6-icmp": 58, "icmpv6": 58, "vrrp": 112, "sctp": 132}
VRRP = NUMBERS["vrrp"]
VRRP_GROUP = "224.0.0.18"
"""Where adverts are sent to if no peers are named."""


class Packet(Struct, frozen=True):
    """What comes in or goes out: of whom, by its addresses and groups. Without either it is anybody's."""

    direction: str
    family: str
    protocol: int
    port: int | None = None
    addresses: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()


def lets_pass(groups: Iterable[SecurityGroup], packet: Packet) -> bool:
    """One rule that lets it pass is enough: there are none that forbid."""
    return any(_matches(rule, packet) for group in groups for rule in group.rules)


def groups_of(port: Port, groups: Iterable[SecurityGroup]) -> tuple[SecurityGroup, ...]:
    return tuple(each for each in groups if each.id in port.security_groups)


def hears(port: Port, peer: Port, groups: Iterable[SecurityGroup]) -> bool:
    """Whether adverts of VRRP come from one port to another, as far as their groups say it."""
    every = tuple(groups)
    sources = tuple(each.ip_address for each in peer.fixed_ips if wishes.family_of(each.ip_address) == wishes.IPV4)
    listeners = tuple(each.ip_address for each in port.fixed_ips if wishes.family_of(each.ip_address) == wishes.IPV4)
    came = Packet("ingress", wishes.IPV4, VRRP, addresses=sources, groups=frozenset(peer.security_groups))
    went = Packet(
        "egress", wishes.IPV4, VRRP, addresses=(VRRP_GROUP, *listeners), groups=frozenset(port.security_groups)
    )
    return lets_pass(groups_of(port, every), came) and lets_pass(groups_of(peer, every), went)


def _matches(rule: SecurityGroupRule, packet: Packet) -> bool:
    if (rule.direction, rule.ethertype) != (packet.direction, packet.family):
        return False
    if rule.protocol is not None and _number(rule.protocol) != packet.protocol:
        return False
    return _has_port(rule, packet.port) and _has_peer(rule, packet)


def _number(protocol: str) -> int | None:
    """Neutron keeps it as it was written: a name or a number."""
    return int(protocol) if protocol.isdigit() else NUMBERS.get(protocol)


def _has_port(rule: SecurityGroupRule, port: int | None) -> bool:
    if port is None or rule.port_range_min is None or rule.port_range_max is None:
        return True
    return rule.port_range_min <= port <= rule.port_range_max


def _has_peer(rule: SecurityGroupRule, packet: Packet) -> bool:
    """Who is not known may be in any prefix, and is in no group."""
    if rule.remote_group_id is not None:
        return rule.remote_group_id in packet.groups
    if rule.remote_ip_prefix is None or not packet.addresses:
        return True
    prefix = ipaddress.ip_network(rule.remote_ip_prefix, strict=False)
    return any(ipaddress.ip_address(each) in prefix for each in packet.addresses)
