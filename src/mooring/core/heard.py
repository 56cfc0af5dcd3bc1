"""What the gateways say: what they serve, what they leave out, and who does not do what it is told."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from mooring.core.roster import Acknowledged, Places
from mooring.model.gateway import Document, Forward, LeftOut
from mooring.model.kubernetes import Service
from mooring.model.reasons import Reason, Verdict

SEE_AGENT = "See the log of its agent; it is told again by itself"


class Unheeding(Struct, frozen=True):
    """A gateway that answers, and does not do what it is told."""

    gateway: str
    why: str
    serves: Acknowledged = {}
    """By Service what it is known to serve."""
    counts: bool = False
    """It holds the addresses, and so its Services cannot do without it."""


class Gateways(Struct, frozen=True):
    """What the gateways say: what all live ones have acknowledged, by Service, and whether there is a live one."""

    acknowledged: Acknowledged | None = None
    live: bool = True
    holder: bool = True
    """One of the live ones holds the addresses; else packets go to one of which nothing is known."""
    left_out: Mapping[str, tuple[str, LeftOut]] = {}
    """What one of the live ones does not serve of what it acknowledged: by Service, which gateway, and what."""
    snat: frozenset[str] = frozenset()
    """Whom backends see, by what the live ones say of themselves."""
    unheeding: tuple[Unheeding, ...] = ()
    """Those that answer and do not do what they are told."""

    def serve(self, service: Service, wanted: tuple[Forward, ...]) -> bool:
        """Whether they do what a Service wants, be it that it is gone. Endpoints may lag behind for a moment."""
        if self.acknowledged is None:
            return False
        if self.refused(service):
            return False
        known = self.acknowledged.get(str(service.name), frozenset()) == places(wanted)
        return known and ((self.live and self.holder) or not wanted)

    def refused(self, service: Service) -> tuple[str, LeftOut] | None:
        """Which gateway does not serve a part of a Service at all, and why."""
        found = self.left_out.get(str(service.name))
        return found if found is not None and not found[1].backend else None

    def behind(self, service: Service, wanted: tuple[Forward, ...], *, counting: bool) -> Unheeding | None:
        """Which gateway does not do what it is told, and lacks what a Service wants."""
        name, told = str(service.name), places(wanted)
        behind = (each for each in self.unheeding if each.serves.get(name, frozenset()) != told)
        return next((each for each in behind if each.counts is counting), None)


def places(forwards: Iterable[Forward]) -> Places:
    return frozenset((each.address, each.protocol, each.port) for each in forwards)


def acknowledged(document: Document) -> dict[str, Places]:
    """What gateways that hold a document have acknowledged, by Service."""
    found: dict[str, list[Forward]] = {}
    for each in document.forwards:
        found.setdefault(each.service, []).append(each)
    return {service: places(forwards) for service, forwards in found.items()}


def left_out(gateways: Gateways, service: Service) -> Iterator[str]:
    """Which of its endpoints get no packets."""
    found = gateways.left_out.get(str(service.name))
    if found is not None and found[1].backend:
        yield f"{found[0]}: {found[1].message}"


def refused(gateways: Gateways, service: Service, wanted: tuple[Forward, ...]) -> tuple[str, str] | None:
    """Why a gateway that it cannot do without does not serve it, and what to do."""
    if found := gateways.refused(service):
        return f"Gateway {found[0]} does not serve it: {found[1].message}", found[1].advice
    behind = gateways.behind(service, wanted, counting=True)
    return (f"Gateway {behind.gateway} does not do what it is told: {behind.why}", SEE_AGENT) if behind else None


def without(gateways: Gateways, service: Service, wanted: tuple[Forward, ...]) -> Iterator[Verdict]:
    """It is served, and one gateway less can take over."""
    if behind := gateways.behind(service, wanted, counting=False):
        fact = f"Gateway {behind.gateway} does not do what it is told, and cannot take over: {behind.why.rstrip('.')}"
        yield Verdict(Reason.GATEWAY_REFUSES, fact, SEE_AGENT, well=True)
