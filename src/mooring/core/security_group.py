"""The security group that we keep on the gateways' ports, where the operator leaves that to us.

It is stateless, and made of what `core.group_rules` says that has to pass.

group of ours           on a gateway's port  ->  step
----------------------  -------------------      ----
none, or only stateful  -                        make one; whatever is not the one goes
lacks rules             -                        open them, before anything else is closed
whole                   no                       guard: put it there, beside the groups of others
whole                   let go, or not wanted    guard: take it off
has others' rules       -                        close them
not the one, on none    -                        remove it

One step at a time: after each of them, what there is has changed.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from mooring.core import group_rules
from mooring.core.group_rules import SELF, Rule
from mooring.model.cloud import Port, PortId, SecurityGroup, SecurityGroupId, SecurityGroupRule


class MakeGroup(Struct, frozen=True):
    """Make the group."""


class OpenRules(Struct, frozen=True):
    """Let in what is wanted and is not let in."""

    group: SecurityGroupId
    rules: tuple[Rule, ...]


class CloseRules(Struct, frozen=True):
    """Take away rules that nobody wants."""

    group: SecurityGroupId
    rules: tuple[SecurityGroupRule, ...]


class Guard(Struct, frozen=True):
    """Put groups of ours on a gateway's port, and take others of ours off."""

    gateway: PortId
    add: tuple[SecurityGroupId, ...] = ()
    remove: tuple[SecurityGroupId, ...] = ()


class RemoveGroup(Struct, frozen=True):
    """Delete a group that no gateway has any more."""

    group: SecurityGroupId


GroupStep = MakeGroup | OpenRules | CloseRules | Guard | RemoveGroup


def covered(
    groups: Iterable[SecurityGroup], gateways: Iterable[Port], needs: Iterable[Rule], *, released: frozenset[PortId]
) -> bool:
    """Whether the group lets all that pass already, to every gateway."""
    group = the_one(groups)
    if group is None:
        return False
    everywhere = all(group.id in each.security_groups for each in gateways if each.id not in released)
    return everywhere and not group_rules.lacking(needs, _rules(group))


def the_one(groups: Iterable[SecurityGroup]) -> SecurityGroup | None:
    """Of all groups of ours, the one that counts: two leaders may have made two. Stateful ones are of no use."""
    return min(
        (each for each in groups if not each.stateful), key=lambda each: (each.created_at, each.id), default=None
    )


def next_step(
    groups: Iterable[SecurityGroup],
    gateways: Iterable[Port],
    rules: frozenset[Rule] | None,
    *,
    released: frozenset[PortId] = frozenset(),
) -> GroupStep | None:
    """What is to be done first. `rules` is None where there is to be no group; `released` are gateways let go."""
    ours = sorted(groups, key=lambda each: each.id)
    chosen = the_one(ours) if rules is not None else None
    if rules is not None and chosen is None:
        return MakeGroup()
    has = _rules(chosen) if chosen else {}
    if chosen and rules is not None and (missing := rules - has.keys()):
        return OpenRules(chosen.id, tuple(sorted(missing)))
    for gateway in sorted(gateways, key=lambda each: each.id):
        keeps = chosen.id if chosen and gateway.id not in released else None
        if guard := _guard(gateway, keeps, [each.id for each in ours]):
            return guard
    if chosen and (unwanted := [has[rule] for rule in sorted(has.keys() - (rules or ()))]):
        return CloseRules(chosen.id, tuple(unwanted))
    return next((RemoveGroup(each.id) for each in ours if each is not chosen), None)


def unguards(groups: Iterable[SecurityGroup], gateways: Iterable[Port]) -> Iterator[Guard]:
    """What takes all groups off the gateways' ports."""
    ours = [each.id for each in groups]
    for gateway in gateways:
        if guard := _guard(gateway, None, ours):
            yield guard


def guarded(
    has: tuple[SecurityGroupId, ...], *, add: Iterable[SecurityGroupId], remove: Iterable[SecurityGroupId]
) -> tuple[SecurityGroupId, ...] | None:
    """A port's groups with some of ours more or less; None: it has them so. Those of others stay, in their order."""
    gone = set(remove)
    kept = tuple(each for each in has if each not in gone)
    after = (*kept, *(each for each in add if each not in kept))
    return None if after == has else after


def body(rule: Rule, group: SecurityGroupId, mark: str) -> dict[str, str | int]:
    """A rule as Neutron is asked for it."""
    found: dict[str, str | int] = {
        "description": mark,
        "security_group_id": group,
        "direction": rule.direction,
        "ethertype": rule.ethertype,
    }
    if rule.protocol:
        found["protocol"] = rule.protocol
    if rule.last:
        found |= {"port_range_min": rule.first, "port_range_max": rule.last}
    return found | ({"remote_group_id": group} if rule.remote == SELF else {})


def _rules(group: SecurityGroup) -> dict[Rule, SecurityGroupRule]:
    return {group_rules.read(each): each for each in group.rules}


def _guard(gateway: Port, keeps: SecurityGroupId | None, ours: list[SecurityGroupId]) -> Guard | None:
    add = (keeps,) if keeps and keeps not in gateway.security_groups else ()
    remove = tuple(each for each in ours if each != keeps and each in gateway.security_groups)
    return Guard(gateway.id, add, remove) if add or remove else None
