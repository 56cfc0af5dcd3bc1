"""Security groups of the twin, and their rules. Every project has a default group from its first use on."""

import ipaddress
from typing import Any

from mooring.cloud.twin import refusals
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import Caller, State
from mooring.model.cloud import SecurityGroup, SecurityGroupRule

DEFAULT = "default"
RULES_OF_A_NEW_GROUP = 2
NUMBERS = {"1": "icmp", "6": "tcp", "17": "udp", "58": "ipv6-icmp", "icmpv6": "ipv6-icmp", "112": "vrrp"}
PORTS = range(65536)


def ensure_default(state: State, project: str) -> str:
    """The id of a project's default group, which lets everything out and its own members in."""
    if project not in state.default_groups:
        group = _make(state, project, {"name": DEFAULT, "description": "Default security group"})
        state.default_groups[project] = group.id
        for ethertype in ("IPv4", "IPv6"):
            values = {"security_group_id": group.id, "direction": "ingress", "ethertype": ethertype}
            _store(state, project, {**values, "remote_group_id": group.id, "description": None})
    return state.default_groups[project]


def create(state: State, _: Caller, project: str, values: dict[str, Any]) -> SecurityGroup:
    ensure_default(state, project)
    if values.get("name") == DEFAULT:
        raise Refusal(409, "SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
    state.check_quota(project, state.rules, RULES_OF_A_NEW_GROUP)
    return _make(state, project, values)


def _make(state: State, project: str, values: dict[str, Any]) -> SecurityGroup:
    group: SecurityGroup = state.new(SecurityGroup, project, revision_number=0, **values)
    state.groups.put(group)
    for ethertype in ("IPv4", "IPv6"):
        rule = {"security_group_id": group.id, "direction": "egress", "ethertype": ethertype, "description": None}
        _store(state, project, rule, bump=False)
    return state.groups.change(state.groups.get(group.id))


def update(state: State, _: Caller, group: SecurityGroup, changes: dict[str, Any]) -> SecurityGroup:
    if "name" in changes and state.default_groups.get(group.project_id) == group.id:
        raise Refusal(409, "SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
    if changes.get("stateful", group.stateful) != group.stateful and _in_use(state, group):
        raise _used(group)
    return state.groups.change(group, **changes)


def check(state: State, caller: Caller, group: SecurityGroup) -> None:
    if _in_use(state, group):
        raise _used(group)
    if state.default_groups.get(group.project_id) == group.id and not caller.admin:
        text = "Insufficient rights for removing default security group."
        raise Refusal(409, "SecurityGroupCannotRemoveDefault", text)


def delete(state: State, group: SecurityGroup) -> None:
    if state.default_groups.get(group.project_id) == group.id:
        del state.default_groups[group.project_id]
    for rule in group.rules:
        state.rules.remove(rule)
    state.groups.remove(group)


def create_rule(state: State, caller: Caller, project: str, values: dict[str, Any]) -> SecurityGroupRule:
    group = state.groups.get(values["security_group_id"])
    if not state.writable(caller, group):
        raise refusals.forbidden("create_security_group_rule")
    if values.get("remote_group_id") is not None:
        state.groups.get(values["remote_group_id"])
    _check_ports(values)
    _check_remote(values)
    wanted = _key(state.new(SecurityGroupRule, project, revision_number=0, **values))
    for rule in group.rules:
        if _key(rule) == wanted:
            text = f"Security group rule already exists. Rule id is {rule.id}."
            raise Refusal(409, "SecurityGroupRuleExists", text)
    return _store(state, project, values)


def delete_rule(state: State, rule: SecurityGroupRule) -> None:
    group = state.groups.get(rule.security_group_id)
    state.rules.remove(rule)
    state.groups.change(group, rules=tuple(each for each in group.rules if each.id != rule.id))


def _store(state: State, project: str, values: dict[str, Any], *, bump: bool = True) -> SecurityGroupRule:
    rule = state.rules.put(state.new(SecurityGroupRule, project, revision_number=0, **values))
    group = state.groups.get(rule.security_group_id)
    rules = tuple(sorted((*group.rules, rule), key=lambda each: each.id))
    state.groups.change(group, rules=rules, revision_number=group.revision_number + bump)
    return rule


def _in_use(state: State, group: SecurityGroup) -> bool:
    return any(group.id in port.security_groups for port in state.ports.rows.values())


def _used(group: SecurityGroup) -> Refusal:
    return Refusal(409, "SecurityGroupInUse", f"Security Group {group.id} in use.")


def _key(rule: SecurityGroupRule) -> tuple[Any, ...]:
    """What makes two rules the same."""
    protocol = NUMBERS.get(rule.protocol or "", rule.protocol)
    ports = (rule.port_range_min, rule.port_range_max)
    return (rule.direction, rule.ethertype, protocol, ports, rule.remote_ip_prefix, rule.remote_group_id)


def _check_ports(values: dict[str, Any]) -> None:
    low, high = values.get("port_range_min"), values.get("port_range_max")
    if low is None and high is None:
        return
    if values.get("protocol") is None:
        text = "Must also specify protocol if port range is given."
        raise Refusal(400, "SecurityGroupProtocolRequiredWithPorts", text)
    for port in (low, high):
        if port is not None and port not in PORTS:
            raise Refusal(400, "SecurityGroupInvalidPortValue", f"Invalid value for port {port}")
    if low is None or high is None or low > high:
        text = "For TCP/UDP protocols, port_range_min must be <= port_range_max"
        raise Refusal(400, "SecurityGroupInvalidPortRange", text)


def _check_remote(values: dict[str, Any]) -> None:
    prefix = values.get("remote_ip_prefix")
    if prefix is None:
        return
    if values.get("remote_group_id") is not None:
        text = "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided."
        raise Refusal(400, "SecurityGroupMultipleRemoteEntites", text)
    try:
        version = ipaddress.ip_network(prefix, strict=False).version
    except ValueError:
        raise refusals.bad_input(f"{prefix} is not in a CIDR format.") from None
    if values.get("ethertype", "IPv4") != f"IPv{version}":
        text = f"Conflicting value ethertype {values.get('ethertype', 'IPv4')} for CIDR {prefix}"
        raise Refusal(400, "SecurityGroupRuleParameterConflict", text)
