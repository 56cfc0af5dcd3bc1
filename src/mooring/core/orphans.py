"""What bears a mark of Mooring's in OpenStack and nobody needs: what `mooring orphans` tells, from a survey.

What of this cluster is an orphan, the controller's own clean-up decides. Of other clusters only their marks are known.
"""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal

from mooring.core import addresses, mark
from mooring.core.addresses import Ours
from mooring.core.cleaning import Doom
from mooring.core.surveyed import Survey
from mooring.model.cloud import FloatingIp, Port
from mooring.model.reports import EntryReport, OrphanReport, OrphansReport, TaggedReport

Network = IPv4Network | IPv6Network


def orphans(survey: Survey) -> OrphansReport:
    found = [*_doomed(survey), *(each.what for each in survey.waiting())]
    shown = _shown(survey)
    held_back = frozenset(each.what.id for each in survey.held_back)

    def told(what: Ours) -> OrphanReport:
        return OrphanReport(
            kind=_kind(what),
            id=what.id,
            address=", ".join(_addresses(what)),
            cluster=mark.load(what.description or "") or "",
            created=what.created_at,
            going=addresses.going(what),
            held_back=what.id in held_back,
            shown_by=_shown_by(survey, what, shown),
            in_use_on=_in_use_on(survey, what),
        )

    return OrphansReport(
        orphans=tuple(map(told, sorted(found, key=_order))),
        others=tuple(map(told, sorted(_of_others(survey), key=_order))),
        entries=tuple(_entries(survey)),
        leads=survey.leads,
        missing=survey.sights.missing,
    )


def why_not(survey: Survey) -> str:
    """Why nothing may be tagged now; empty, if it may. What was not seen may be needed."""
    missing = "; ".join(f"{each.what}: {each.why.rstrip('.')}" for each in survey.sights.missing)
    return missing or ("" if survey.picture is not None else "OpenStack was not looked at")


def to_tag(survey: Survey) -> tuple[Ours, ...]:
    """What a person may let go: the orphans that do not go yet, but for those that a Service shows to the world."""
    if why_not(survey):
        return ()
    shown = _shown(survey)
    return tuple(each for each in sorted(_doomed(survey), key=_order) if not _shown_by(survey, each, shown))


def tagged(what: Ours, why: str = "") -> TaggedReport:
    """What became of one; `why` not, if something was in the way."""
    return TaggedReport(_kind(what), what.id, ", ".join(_addresses(what)), tagged=not why, why=why)


def _doomed(survey: Survey) -> list[Ours]:
    """What nobody needs and does not go yet: what the controller tags next, and what it holds back."""
    return [each.what for each in (*survey.clean_up(), *survey.held_back) if isinstance(each, Doom)]


def _order(what: Ours) -> tuple[bool, str]:
    return isinstance(what, FloatingIp), what.id


def _of_others(survey: Survey) -> Iterator[Ours]:
    owned = survey.sights.owned
    if owned is None or owned.around is None:
        return
    every: tuple[Ours, ...] = (*owned.around.ports, *owned.around.floating_ips)
    yield from (each for each in every if mark.load(each.description or "") not in {None, owned.place.cluster})


def _kind(what: Ours) -> Literal["port", "floating IP"]:
    return "port" if isinstance(what, Port) else "floating IP"


def _addresses(what: Ours) -> tuple[str, ...]:
    if isinstance(what, FloatingIp):
        return (what.floating_ip_address,)
    return tuple(each.ip_address for each in what.fixed_ips)


def _in_use_on(survey: Survey, what: Ours) -> str:
    """The port that is not ours and that a floating IP of ours was put on."""
    ours = survey.picture.addresses.ports if survey.picture else {}
    elsewhere = isinstance(what, FloatingIp) and what.port_id is not None and what.port_id not in ours
    return (what.port_id or "") if isinstance(what, FloatingIp) and elsewhere else ""


def _shown(survey: Survey) -> Mapping[str, list[str]]:
    """By address, the Services that show it to the world."""
    found: dict[str, list[str]] = {}
    for service in survey.services.values():
        for each in service.status.load_balancer.ingress:
            found.setdefault(each.ip, []).append(str(service.name))
    return found


def _shown_by(survey: Survey, what: Ours, shown: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The Services that show the address at which it is reached, or its own."""
    public = survey.picture.addresses.public(what.id) if survey.picture and isinstance(what, Port) else None
    known = {*_addresses(what), *((public,) if public else ())}
    return tuple(sorted({name for address in known for name in shown.get(address, ())}))


def _entries(survey: Survey) -> Iterator[EntryReport]:
    """What gateways may use, of the subnets that addresses come from, and no port has: somebody left it there.

    Once its port is gone, nobody can tell whether an entry was ours.
    """
    owned = survey.sights.owned
    if owned is None or owned.around is None:
        return
    had = {each.ip_address for port in owned.around.ports for each in port.fixed_ips}
    near = [ip_network(each.cidr) for each in owned.around.subnets if each.id in owned.place.subnets.values()]
    for name, port in survey.gateway_ports.items():
        for pair in port.allowed_address_pairs:
            if pair.ip_address not in had and _within(pair.ip_address, near):
                yield EntryReport(name, port.id, pair.ip_address)


def _within(address: str, networks: Iterable[Network]) -> bool:
    """A prefix is no address, and nobody's but who entered it."""
    return "/" not in address and any(ip_address(address) in each for each in networks)
