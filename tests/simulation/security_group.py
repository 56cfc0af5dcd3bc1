"""What must hold for the security group on the gateways' ports, where it is the controllers' to keep."""

from collections.abc import Iterable, Iterator

from mooring.model.cloud import Port, SecurityGroup, SecurityGroupRule
from mooring.model.gateway import Key
from tests.simulation.truth import Effect, Truth, body

Wanted = tuple[str, Key]
"""A family of addresses, and what is served there."""
MOST_RULES = 2 * 3 * 11 + 5
"""Two families, three protocols, and for each ten ranges and the one of answers; and what there is always."""
FEW = 10
"""So many ports of a protocol need not be merged."""
CLIENTS = (1024, 40000, 65535)
"""Ports that clients speak from, and are answered to."""


def others_stay(truth: Truth, before: Port, after: list[str]) -> Iterator[str]:
    """Groups of others stay on a gateway's port."""
    ours = {each.id for each in _ours(truth)}
    if taken := set(before.security_groups) - ours - set(after):
        yield f"{sorted(taken)} was taken from a gateway's port and is not ours"
    if strange := set(after) - ours - set(before.security_groups):
        yield f"{sorted(strange)} was put on a gateway's port and is not ours"


def only_ours(truth: Truth, effect: Effect) -> Iterator[str]:
    """Groups are made with our mark and stateless; only those are changed and deleted, and their rules."""
    if effect.server != "neutron" or effect.process is None or not effect.done:
        return
    method, (_, _, kind, *which) = effect.request.method, effect.request.path.split("/")
    ours = {each.id for each in _ours(truth)}
    if kind == "security-groups" and method == "POST":
        made = body(effect.request)["security_group"]
        if (made["description"], made["stateful"]) != (truth.mark, False):
            yield f"a group was made without our mark, or stateful: {made}"
    elif kind == "security-groups" and method in {"PUT", "DELETE"} and which[0] not in ours:
        yield f"group {which[0]} was changed or deleted and is not ours"
    elif kind == "security-group-rules" and method == "POST":
        rules = body(effect.request)["security_group_rules"]
        if {each["security_group_id"] for each in rules} - ours:
            yield "rules were added to a group that is not ours"
    elif kind == "security-group-rules" and which[0] not in {rule.id for each in _ours(truth) for rule in each.rules}:
        yield f"rule {which[0]} was deleted and is not of a group of ours"


def let_in(truth: Truth, wanted: Iterable[Wanted], ports: Iterable[Port], *, without: str = "") -> Iterator[str]:
    """Packets to these, and answers to them, come to these ports of gateways by a group of ours, but for one rule."""
    every = sorted(wanted)
    for port in ports:
        groups = [each for each in _ours(truth) if each.id in port.security_groups]
        rules = [rule for each in groups for rule in each.rules if rule.id != without]
        for family, key in every:
            for number in (key.port, *CLIENTS):
                if not any(_passes(rule, family, key.protocol, number) for rule in rules):
                    yield f"{key.protocol} {number} of {family} is not let in to {port.id}"


def at_rest(truth: Truth, wanted: Iterable[Wanted]) -> Iterator[str]:
    """There is one group of ours with few rules on the gateways' ports, and on no other; or there is none."""
    ours = _ours(truth)
    if len(ours) != truth.keeps_group:
        yield f"there are {len(ours)} security groups of ours"
    members = [port for name, port in truth.ports_of_gateways() if name in truth.members]
    for port in truth.ports.values():
        has = [each.id for each in ours if each.id in port.security_groups]
        if len(has) != (truth.keeps_group and port in members):
            yield f"port {port.id} has {has} of our groups"
    for name, port in truth.ports_of_gateways():
        if not set(port.security_groups) - {each.id for each in ours}:
            yield f"{name} has lost the groups of others"
    if truth.keeps_group:
        every = set(wanted)
        yield from let_in(truth, every, members)
        yield from _few_rules(ours, every)


def _few_rules(ours: list[SecurityGroup], wanted: set[Wanted]) -> Iterator[str]:
    """Not more is let in than has to be, and the rules for it are few."""
    for group in ours:
        if len(group.rules) > MOST_RULES:
            yield f"the group has {len(group.rules)} rules"
        if any(rule.direction == "ingress" and not rule.protocol for rule in group.rules):
            yield "the group lets everything in"
        if len(wanted) <= FEW and (strange := set(_open(group)) - wanted):
            yield f"the group lets {sorted(strange)} in, which nobody wants"


def _open(group: SecurityGroup) -> Iterator[Wanted]:
    """What it lets in below the ports of answers."""
    for rule in group.rules:
        if rule.direction == "ingress" and rule.port_range_min:
            for number in range(rule.port_range_min, min(rule.port_range_max or 0, 1023) + 1):
                yield rule.ethertype, Key((rule.protocol or "").upper(), number)


def _passes(rule: SecurityGroupRule, family: str, protocol: str, number: int) -> bool:
    within = (rule.port_range_min or 0) <= number <= (rule.port_range_max or 65535)
    fits = (rule.direction, rule.ethertype, rule.protocol) == ("ingress", family, protocol.lower())
    return fits and within and rule.remote_group_id is None and rule.remote_ip_prefix is None


def _ours(truth: Truth) -> list[SecurityGroup]:
    return [each for each in truth.groups.values() if each.description == truth.mark]
