"""Whether the gateways' security groups let pass what has to pass, whosever they are."""

from collections.abc import Iterable, Iterator, Mapping

from mooring.core import group_rules, security_group, wording
from mooring.core.cloud_findings import InCloud, some, unseen
from mooring.core.group_rules import Rule
from mooring.core.security_group import Guard, OpenRules
from mooring.core.surveyed import Owned, Survey
from mooring.model.cloud import Port, SecurityGroup
from mooring.model.reports import Finding

LEAVE_IT = "or take off what is stateful and set addresses.manage_security_group = true"
MORE_RULES = "ask for a larger quota of security group rules"


def findings(survey: Survey | None, cloud: InCloud) -> Iterator[Finding]:
    owned = survey.sights.owned if survey else None
    if survey is None or owned is None or cloud.extensions is None:
        return
    if cloud.groups is None:
        yield unseen("security groups of the gateways", cloud, "groups")
        return
    sent = group_rules.clients(filter(survey.mapped, survey.services.values()), owned.place.subnets)
    needs = group_rules.needed(sent, owned.place.subnets)
    yield from _ours(owned, cloud, needs)
    ports = {name: port for name, port in survey.gateway_ports.items() if port.port_security_enabled}
    for name, port in ports.items():
        groups = group_rules.groups_of(port, cloud.groups)
        yield _stateless(name, groups)
        yield _open(name, groups, sent, needs)
    if len(ports) > 1:
        yield _adverts(ports, cloud.groups)


def _ours(owned: Owned, cloud: InCloud, needs: frozenset[Rule]) -> Iterator[Finding]:
    """What a controller would do next about the group that it keeps, by its own decision."""
    kept = owned.place.manage_security_group
    ours = [each for each in cloud.groups or () if each.description == owned.place.mark]
    step = security_group.next_step(ours, owned.gateways, group_rules.few(needs) if kept else None)
    if not kept and step is None:
        return
    seen = ", ".join(f"{each.name}, {len(each.rules)} rules, on all gateways' ports" for each in ours)
    fix = "see that a controller leads, and what its log says of the security group"
    if step is not None:
        seen = f"a controller has to {wording.to_do(step)}"
    free = cloud.quota.security_group_rule.free if cloud.quota else None
    if isinstance(step, OpenRules) and free is not None and free < len(step.rules):
        seen, fix = f"{seen}: {len(step.rules)} more rules, and the quota has room for {free}", MORE_RULES
    stateful = [each.id for each in cloud.groups or () if each.stateful]
    mixed = [str(each.id) for each in owned.gateways if not set(stateful).isdisjoint(each.security_groups)]
    if isinstance(step, Guard) and step.add and mixed:
        seen = f"{seen}, which Neutron refuses while ports have stateful groups: {some(mixed)}"
        fix = f"openstack port set --no-security-group --security-group {step.add[0]} PORT, for each"
    yield Finding("security group of Mooring", step is None, seen, fix)


def _stateless(name: str, groups: tuple[SecurityGroup, ...]) -> Finding:
    """A port has groups with memory or without, never both: Neutron sees to that."""
    stateful = [each.name or each.id for each in groups if each.stateful]
    seen = f"{some(stateful)}: stateful, so connections break when the addresses move back" if stateful else "stateless"
    fix = f"give its port a group made with `openstack security group create --stateless`, {LEAVE_IT}"
    return Finding(f"security group of {name}", not stateful and bool(groups), seen if groups else "it has none", fix)


def _open(name: str, groups: tuple[SecurityGroup, ...], sent: frozenset[Rule], needs: frozenset[Rule]) -> Finding:
    """Answers and errors need rules only where there is no memory."""
    remembered = all(each.stateful for each in groups)
    lacks = group_rules.closed(sent if remembered else needs, groups)
    told = [_told(each, sent) for each in sorted(lacks, key=lambda each: (each not in sent, each.first, each))]
    seen = f"closed: {some(told)}" if told else f"all {len(sent)} of Services are open"
    return Finding(
        f"ports at {name}", not told, seen, f"add rules to its security group that let them pass, {LEAVE_IT}"
    )


def _told(rule: Rule, sent: Iterable[Rule]) -> str:
    if rule in sent:
        return f"{rule.first}/{rule.protocol.upper()} ({rule.ethertype})"
    what = f"{rule.protocol.upper()} ({rule.ethertype})"
    if rule.direction == "egress":
        return f"going out: {what}"
    return f"answers of {rule.first}-{rule.last}/{what}" if rule.last else what


def _adverts(ports: Mapping[str, Port], groups: tuple[SecurityGroup, ...]) -> Finding:
    deaf = [
        f"{name} from {peer}"
        for name in ports
        for peer in ports
        if name != peer and not group_rules.hears(ports[name], ports[peer], groups)
    ]
    fix = (
        "openstack security group rule create --protocol 112 --remote-ip ADDRESS_OF_THE_OTHER GROUP, for each, "
        f"{LEAVE_IT}"
    )
    seen = f"not let in: {some(deaf)}: all of them hold the addresses then" if deaf else "all gateways hear each other"
    return Finding("VRRP (protocol 112)", not deaf, seen, fix)
