"""What Mooring needs of OpenStack, and whether it is there: extensions, quota, networks, the gateways' ports.

What their security groups let pass is judged in `group_findings`.
"""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from mooring.core.cleaning import Pair
from mooring.core.surveyed import Owned, Survey
from mooring.model.cloud import Network, Port, PortId, Quota, Router, SecurityGroup, Usage
from mooring.model.reports import Finding

EXTENSIONS: Mapping[str, str] = {
    "allowed-address-pairs": "gateways are to use the addresses of Services",
    "revision-if-match": "a late request must not change what has changed since",
    "standard-attr-revisions": "a late request must not change what has changed since",
    "standard-attr-description": "the mark stands in descriptions",
    "standard-attr-tag": "what goes is tagged before it is deleted",
    "security-group": "ports of Services are opened on the gateways",
    "stateful-security-group": "a stateful group breaks connections when the addresses move back",
    "router": "floating IPs lead to the gateways",
}
"""What Mooring relies on, and for what."""
PAIRS = 10
"""Neutron's default of max_allowed_address_pair, which its API does not tell."""
MANY_PAIRS = 8
LEAST_MTU_IPV6 = 1280
FEW = 5
ROUTER_PORT = "network:router_interface"
UNSEEN_FIX = "see that the OpenStack user may read it: its role in the project"


class InCloud(Struct, frozen=True):
    """What OpenStack has to offer. None: it could not be asked for, and `unseen` says why, by the field."""

    extensions: frozenset[str] | None = None
    networks: tuple[Network, ...] | None = None
    routers: tuple[Router, ...] | None = None
    groups: tuple[SecurityGroup, ...] | None = None
    quota: Quota | None = None
    unseen: Mapping[str, str] = {}
    asked: bool = True
    """Not, where addresses are a list: then OpenStack has nothing to do with them."""
    denied: Mapping[PortId, str] | None = None
    """The gateways' ports that the OpenStack user may not change, and how that was said."""


def findings(survey: Survey | None, cloud: InCloud) -> tuple[Finding, ...]:
    if not cloud.asked:
        return listed(survey) if survey else ()
    owned = survey.sights.owned if survey else None
    general = (*_reached(survey, cloud), *_extensions(cloud))
    if survey is None or owned is None:
        return general
    looks: tuple[Callable[[Owned, InCloud], Iterator[Finding]], ...] = (_quota, _router, _mtu)
    of_network = (each for look in looks for each in look(owned, cloud))
    return (*general, *of_network, *_gateways(survey, cloud, owned.place.pairs_limit))


def listed(survey: Survey) -> tuple[Finding, ...]:
    """How much of a static list is left, and whether somebody else has a part of it."""
    view = survey.picture
    if view is None:
        return ()
    known, used = view.addresses, view.holdings.used()
    left = dict.fromkeys(sorted(known.place.families), 0)
    for port in known.usable():
        left[known.family(port) or ""] += port not in used
    told = ", ".join(f"{count:,} of {family}" for family, count in left.items())
    free = Finding("addresses", all(left.values()), f"free in the list: {told}", "list more in addresses.static")
    others = [
        f"node {node.metadata.name} has {each.address}"
        for node in survey.sights.nodes
        for each in node.status.addresses
        if each.address in known.ports
    ]
    fix = "take them out of addresses.static"
    return (free, Finding("list of addresses", well=False, seen=some(others), fix=fix)) if others else (free,)


def _reached(survey: Survey | None, cloud: InCloud) -> Iterator[Finding]:
    why = cloud.unseen.get("extensions", "")
    fix = "see that openstack.cloud names an entry of clouds.yaml whose Keystone and Neutron answer"
    yield Finding("OpenStack", not why, why or "answers", fix)
    missing = [each.why for each in survey.sights.missing] if survey and not why else []
    for each in missing:
        yield Finding("what the configuration names", well=False, seen=each, fix="put it right in the configuration")


def _extensions(cloud: InCloud) -> Iterator[Finding]:
    if cloud.extensions is None:
        return
    lacks = {alias: why for alias, why in EXTENSIONS.items() if alias not in cloud.extensions}
    seen = "; ".join(f"no {alias}: {why}" for alias, why in lacks.items()) or f"all {len(EXTENSIONS)} that are needed"
    yield Finding("API extensions", not lacks, seen, "have the operators of the cloud load them into Neutron")


def _quota(owned: Owned, cloud: InCloud) -> Iterator[Finding]:
    quota = cloud.quota
    if quota is None:
        yield unseen("quota", cloud, "quota")
        return
    usages = {"ports": quota.port} | ({"floating IPs": quota.floatingip} if owned.place.floating_network else {})
    free = [each.free for each in usages.values() if each.free is not None]
    fits = min(free) if free else None
    told = ", ".join(_used(name, each) for name, each in usages.items())
    rules = _used("security group rules", quota.security_group_rule)
    seen = f"{told}: {_fit(fits)}; {rules}"
    yield Finding(
        "quota", fits != 0, seen, "ask for a larger quota, or see `mooring orphans` and what else nobody needs"
    )


def _used(name: str, usage: Usage) -> str:
    return f"{name} {usage.used + usage.reserved} of {'any' if usage.free is None else usage.limit}"


def _router(owned: Owned, cloud: InCloud) -> Iterator[Finding]:
    """Between the subnet of the addresses and the network of the floating IPs."""
    place = owned.place
    if place.floating_network is None or owned.around is None:
        return
    if cloud.routers is None:
        yield unseen("router", cloud, "routers")
        return
    near = {each.device_id for each in router_ports(owned)}
    out = {each.id: each.external_gateway_info for each in cloud.routers if each.id in near}
    between = sorted(each for each, way in out.items() if way and way.network_id == place.floating_network)
    others = f"; {', '.join(sorted(near))} lead elsewhere or cannot be seen" if near and not between else ""
    seen = (
        f"{', '.join(between)} leads from the subnet to the floating network" if between else f"there is none{others}"
    )
    fix = "connect subnet and floating network: openstack router add subnet, router set --external-gateway"
    yield Finding("router", bool(between), seen, fix)


def router_ports(owned: Owned) -> tuple[Port, ...]:
    """The ports of routers in the subnet of the addresses; routers of all kinds call them alike."""
    every = owned.around.ports if owned.around else ()
    subnet = owned.place.subnet
    return tuple(
        each
        for each in every
        if each.device_owner.startswith(ROUTER_PORT) and any(fixed.subnet_id == subnet for fixed in each.fixed_ips)
    )


def _mtu(owned: Owned, cloud: InCloud) -> Iterator[Finding]:
    place = owned.place
    if cloud.networks is None:
        yield unseen("MTU", cloud, "networks")
        return
    known = {each.id: each.mtu for each in cloud.networks if each.mtu}
    if place.network not in known:
        return
    inside, outside = known[place.network], known.get(place.floating_network) if place.floating_network else None
    small = place.subnet_ipv6 is not None and inside < LEAST_MTU_IPV6
    told = f"{inside} in the network of the addresses" + (f", {outside} outside" if outside else "")
    seen = f"{told}: too small for IPv6" if small else told
    yield Finding("MTU", not small, seen, f"give the network an MTU of at least {LEAST_MTU_IPV6}")


def _gateways(survey: Survey, cloud: InCloud, limit: int) -> Iterator[Finding]:
    missing = {each.gateway: len(each.addresses) for each in survey.clean_up() if isinstance(each, Pair)}
    for name in survey.without_port:
        fix = f"put gateways.{name}.port right in the configuration, or take the gateway out of it"
        yield Finding(f"port of {name}", well=False, seen="is not there", fix=fix)
    for name, port in survey.gateway_ports.items():
        if cloud.denied is not None:
            why = cloud.denied.get(port.id, "")
            fix = (
                "give the OpenStack user the role of a member in the project of this port, or have its operators "
                "let it be changed: Neutron's policy update_port:allowed_address_pairs"
            )
            yield Finding(f"rights to port of {name}", not why, why or "may be changed", fix)
        fix = f"openstack port set --enable-port-security {port.id}: else Neutron takes no address pairs for it"
        seen = "port security is on" if port.port_security_enabled else "port security is off"
        yield Finding(f"port of {name}", port.port_security_enabled, seen, fix)
        yield pairs(name, len(port.allowed_address_pairs), missing.get(port.id, 0), limit)


def pairs(name: str, used: int, missing: int, known: int = 0) -> Finding:
    """Whether there is room for more addresses. `known`: the limit that the configuration tells; 0: none.

    limit        entries    more needed         ->  well
    -----------  ---------  ------------------      ----
    known        all of it  -                       no
    known        fewer      none                    yes
    default, 10  more       none                    yes: this Neutron's limit is another
    default, 10  8 to 10    -                       no
    default, 10  fewer      none                    yes
    -            -          some                    no: packets to these addresses do not come to it
    """
    limit = known or PAIRS
    raised = not known and used > PAIRS
    room = raised or (used < (known or MANY_PAIRS) and used + missing <= limit)
    told = f"of {limit}, if Neutron's default is in force"
    if known:
        told = f"of {limit}: {_fit(max(limit - used - missing, 0))}"
    elif raised:
        told = f"more than Neutron's default of {PAIRS}"
    more = f"; {missing} more are needed" if missing else ""
    fix = (
        "have the operators of the cloud raise max_allowed_address_pair in neutron.conf, and addresses.pairs_limit "
        "with it; or share addresses more"
    )
    if room:
        fix = "wait for the controller, which enters them within a minute; if it does not, its log says why"
    return Finding(f"address pairs of {name}", room and not missing, f"{used} entries, {told}{more}", fix)


def _fit(number: int | None) -> str:
    more = "any number of" if number is None else "no" if number == 0 else str(number)
    return f"{more} more address{'' if number == 1 else 'es'} fit"


def unseen(what: str, cloud: InCloud, field: str) -> Finding:
    return Finding(what, well=False, seen=f"could not be looked at: {cloud.unseen.get(field, '')}", fix=UNSEEN_FIX)


def some(every: list[str]) -> str:
    more = len(every) - FEW
    return ", ".join(every[:FEW]) + (f" and {more:,} more" if more > 0 else "")
