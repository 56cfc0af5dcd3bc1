"""Every row of the table that decides what happens to a Service."""

import msgspec
import pytest

from mooring.core import mapping, shares
from mooring.core.mapping import Leg, Seen
from mooring.core.wishes import IPV4, IPV6, Refused, Wish
from mooring.model import names
from mooring.model.cloud import FloatingIpId, PortId
from mooring.model.gateway import Key
from mooring.model.kubernetes import (
    Condition,
    Ingress,
    LoadBalancerStatus,
    Meta,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from mooring.model.reasons import Reason
from mooring.model.steps import (
    Annotate,
    Clear,
    DoNotKeep,
    Forget,
    Keep,
    LetGo,
    MakePort,
    Manage,
    Publish,
    Push,
    PutBack,
    Rest,
    Step,
    Tell,
)
from tests.core.seeing import seen

PORT = PortId("p-1")
OTHER = PortId("p-2")
ADDRESS = "203.0.113.9"
OTHERS = Rest(Reason.OTHER_CLASS)
GOING = Rest(Reason.ENDING)
GOOD = Rest(Reason.PROGRAMMED)


def service(  # noqa: PLR0913 - all that the table depends on
    *,
    managed: str = "",
    port: str = "",
    finalizer: bool = False,
    shown: str = "",
    type: str = "LoadBalancer",  # noqa: A002 - Kubernetes' word
    lb_class: str = names.GATEWAY_CLASS,
    deleting: bool = False,
    given: tuple[Key, ...] = (),
) -> Service:
    annotations = {key: text for key, text in ((names.MANAGED, managed), (names.PORT, port)) if text}
    return Service(
        metadata=Meta(
            name="web",
            namespace="shop",
            annotations=annotations,
            finalizers=(names.FINALIZER,) if finalizer else (),
            deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
        ),
        spec=ServiceSpec(type=type, load_balancer_class=lb_class, ports=(ServicePort(80), ServicePort(53, "UDP"))),
        status=ServiceStatus(LoadBalancerStatus((Ingress(shown, ports=given),) if shown else ())),
    )


def ours(**parts: object) -> Service:
    return service(managed="true", finalizer=True, **parts)  # type: ignore[arg-type]


def mapped(shown: str = "", *, deleting: bool = False) -> Service:
    return ours(port=PORT, shown=shown, deleting=deleting)


KEYS = (Key("TCP", 80), Key("UDP", 53))


def told(keys: tuple[Key, ...]) -> Service:
    """Its status tells these as its own."""
    return ours(port=PORT, shown=ADDRESS, given=keys)


def said(given: Service) -> Service:
    """The same with a condition of ours."""
    condition = Condition(names.ACCEPTED, "True", "Accepted")
    return msgspec.structs.replace(given, status=ServiceStatus(given.status.load_balancer, (condition,)))


@pytest.mark.parametrize(
    ("given", "step"),
    [
        # can not be managed, nothing of ours
        (seen(service(type="ClusterIP")), Rest(Reason.NOT_LOAD_BALANCER)),
        (seen(service(lb_class="example.org/other")), Rest(Reason.OTHER_CLASS)),
        (seen(service(lb_class="")), Rest(Reason.OTHER_CLASS)),
        (seen(service(managed="false")), Rest(Reason.OPTED_OUT)),
        (seen(service(deleting=True)), Rest(Reason.ENDING)),
        (seen(service(type="ClusterIP", port="somebody's text")), Rest(Reason.NOT_LOAD_BALANCER)),
        (seen(service(managed="False")), Rest(Reason.OPTED_OUT)),
        # of another class: what was copied into it says nothing
        (seen(service(lb_class="x.org/y", managed="true", port=PORT, shown="198.51.100.1"), port_is_ours=True), OTHERS),
        (seen(service(lb_class="x.org/y", managed="true", shown=ADDRESS), shows_ours=True), OTHERS),
        (seen(service(lb_class="x.org/y", managed="true", port=PORT, deleting=True), port_is_ours=True), GOING),
        (seen(ours(lb_class="x.org/y", shown="198.51.100.1"), served=True), LetGo()),
        (seen(ours(lb_class="x.org/y", shown="198.51.100.1", port=PORT), port_is_ours=True, served=True), Forget()),
        # can be managed, not bound
        (seen(service()), Manage()),
        (seen(service(shown="198.51.100.1")), Rest(Reason.FOREIGN_ADDRESS)),
        (seen(service(managed="true")), Manage()),
        (seen(service(finalizer=True), candidate=PORT), Manage()),
        (seen(service(port=PORT), port_is_ours=True, fits=True), Manage()),
        (seen(service(shown=ADDRESS), shows_ours=True), Manage()),
        # bound, no port
        (seen(ours(), candidate=PORT), Annotate((PORT,))),
        (seen(ours()), MakePort(IPV4)),
        (seen(ours(shown=ADDRESS), candidate=PORT, shows_ours=True), Clear()),
        (seen(ours(shown="198.51.100.1"), candidate=PORT), Rest(Reason.FOREIGN_ADDRESS)),
        # its annotations were lost, and nothing else
        (seen(ours(shown=ADDRESS), port=PORT, fits=True, address=ADDRESS, shows_ours=True), Annotate((PORT,))),
        (seen(ours(shown=ADDRESS), port=PORT, holds=True, address=ADDRESS, shows_ours=True), Annotate((PORT,))),
        (seen(ours(shown=ADDRESS, port=OTHER), port=PORT, holds=True, address=ADDRESS), Annotate((PORT,))),
        # bound, port that fits
        (seen(mapped(), port_is_ours=True, fits=True, address=ADDRESS), Push()),
        (seen(mapped(), port_is_ours=True, fits=True, address=ADDRESS, served=True), Publish((ADDRESS,))),
        (seen(mapped("198.51.100.1"), port_is_ours=True, fits=True, address=ADDRESS, served=True), Publish((ADDRESS,))),
        (seen(mapped(ADDRESS), port_is_ours=True, fits=True, address=ADDRESS, served=True), Rest(Reason.PROGRAMMED)),
        (seen(mapped(ADDRESS), port_is_ours=True, fits=True, address=ADDRESS), Push()),
        (seen(told(KEYS), port_is_ours=True, fits=True, address=ADDRESS, served=True), GOOD),
        (seen(told(KEYS[:1]), port_is_ours=True, fits=True, address=ADDRESS, served=True), Publish((ADDRESS,))),
        (seen(told(KEYS[:1]), port_is_ours=True, fits=True, address=ADDRESS), Push()),
        # bound, port that does not fit, or is none of ours
        (seen(mapped(ADDRESS), port_is_ours=True, candidate=OTHER), Clear()),
        (seen(mapped(), port_is_ours=True, candidate=OTHER), Annotate((OTHER,))),
        (seen(mapped()), MakePort(IPV4)),
        (seen(mapped("198.51.100.1")), Rest(Reason.FOREIGN_ADDRESS)),
        # can not be managed any more
        (seen(mapped(ADDRESS, deleting=True), port_is_ours=True), Clear()),
        (seen(mapped(deleting=True), port_is_ours=True), Forget()),
        (seen(mapped(deleting=True)), Forget()),
        (seen(ours(deleting=True)), Push()),
        (seen(ours(deleting=True), served=True), LetGo()),
        (seen(ours(type="ClusterIP"), served=True), LetGo()),
        (seen(service(managed="false", finalizer=True), served=True), LetGo()),
        # what somebody else gave stays; what is ours is known without its annotation
        (seen(ours(shown="198.51.100.1", deleting=True), served=True), LetGo()),
        (seen(ours(shown=ADDRESS, deleting=True), served=True, shows_ours=True), Clear()),
        (seen(service(shown=ADDRESS, type="ClusterIP"), shows_ours=True), Clear()),
        (seen(service(port=PORT, type="ClusterIP"), port_is_ours=True), Forget()),
        # conditions of ours go before anything else does, but not from what is going anyway
        (seen(said(ours(type="ClusterIP")), served=True), Tell(())),
        (seen(said(ours(shown="198.51.100.1", type="ClusterIP")), served=True), Tell(())),
        (seen(said(mapped(ADDRESS)), port_is_ours=True, candidate=OTHER), Clear()),
        (seen(said(ours(deleting=True)), served=True), LetGo()),
    ],
)
def test_each_row_of_the_table(given: Seen, step: Step) -> None:
    assert mapping.next_step(given) == step


V6 = PortId("p-6")
ADDRESS6 = "fd00::9"
NO = Refused("It cannot be had", "Ask for another")
KEPT = FloatingIpId("f-1")


def leg4(**facts: object) -> Leg:
    return Leg(Wish(IPV4), PORT, fits=True, address=ADDRESS, **facts)  # type: ignore[arg-type]


def leg6(**facts: object) -> Leg:
    return Leg(Wish(IPV6), **facts)  # type: ignore[arg-type]


FOUND6 = leg6(port=V6, fits=True, address=ADDRESS6)
BOTH = f"{PORT},{V6}"


def both(port: str = BOTH, *shown: str) -> Service:
    given = ours(port=port)
    return msgspec.structs.replace(given, status=ServiceStatus(LoadBalancerStatus(tuple(map(Ingress, shown)))))


@pytest.mark.parametrize(
    ("given", "step"),
    [
        # two families: what is missing is found before anything is given
        (Seen(ours(), (leg6(), Leg(Wish(IPV4), candidate=PORT))), MakePort(IPV6)),
        (Seen(ours(), (Leg(Wish(IPV4), candidate=PORT), leg6(candidate=V6))), Annotate((PORT, V6))),
        (Seen(both(), (leg4(), FOUND6)), Push()),
        (Seen(both(), (leg4(), FOUND6), served=True), Publish((ADDRESS, ADDRESS6))),
        (Seen(both(), (FOUND6, leg4()), served=True), Publish((ADDRESS6, ADDRESS))),
        (Seen(both(BOTH, ADDRESS, ADDRESS6), (leg4(), FOUND6), served=True), Rest(Reason.PROGRAMMED)),
        # a second family comes: the first address stays
        (Seen(both(PORT, ADDRESS), (leg4(), leg6(candidate=V6)), port_is_ours=True), Annotate((PORT, V6))),
        (Seen(both(PORT, ADDRESS), (leg4(), leg6()), port_is_ours=True), MakePort(IPV6)),
        # and goes: the world is told first, then the port is taken away
        (Seen(both(BOTH, ADDRESS, ADDRESS6), (leg4(),), port_is_ours=True, served=True), Publish((ADDRESS,))),
        (Seen(both(BOTH, ADDRESS), (leg4(),), port_is_ours=True, served=True), Annotate((PORT,))),
        (Seen(both(f"{PORT},nonsense", ADDRESS), (leg4(),), port_is_ours=True, served=True), Annotate((PORT,))),
        # what it shows of a family that does not fit any more is taken back
        (Seen(both(BOTH, ADDRESS, ADDRESS6), (leg4(), leg6(candidate=V6)), port_is_ours=True), Clear()),
        # a wish
        (seen(ours(), denied=NO, candidate=PORT), Rest(Reason.WISH_REFUSED)),
        (seen(mapped(ADDRESS), port_is_ours=True, denied=NO), Clear()),
        # what it has stays until what it asks for is there, unless it shows something else, too
        (seen(mapped(ADDRESS), port_is_ours=True, holds=True, address=ADDRESS), MakePort(IPV4)),
        (seen(mapped(ADDRESS), port_is_ours=True, holds=True, address=ADDRESS, candidate=PORT), Clear()),
        (seen(mapped("192.0.2.1"), port_is_ours=True, holds=True, address=ADDRESS), Clear()),
        (
            Seen(
                both(BOTH, ADDRESS, ADDRESS6), (leg4(), leg6(port=V6, holds=True, address=ADDRESS6)), port_is_ours=True
            ),
            MakePort(IPV6),
        ),
        (seen(mapped(ADDRESS), port_is_ours=True, fits=True, denied=NO, address=ADDRESS, served=True), GOOD),
        (Seen(ours(), (Leg(Wish(IPV4, ADDRESS)),)), MakePort(IPV4, ADDRESS)),
        # what is to be kept says so before the world hears of it, and before it is left
        (seen(mapped(), port_is_ours=True, fits=True, address=ADDRESS, to_keep=KEPT), Keep(KEPT, "shop")),
        (seen(mapped(), port_is_ours=True, fits=True, address=ADDRESS, not_to_keep=KEPT), DoNotKeep(KEPT)),
        # what somebody took off its port is put back, and stays shown; what may be refused is made first
        (seen(mapped(ADDRESS), port_is_ours=True, taken_off=KEPT), PutBack(PORT, KEPT)),
        (Seen(ours(), (Leg(Wish(IPV4)), Leg(Wish(IPV6, ADDRESS6)))), MakePort(IPV6, ADDRESS6)),
        # a floating IP whose port somebody deleted gets a new one, whatever else there would be
        (seen(mapped(ADDRESS), lost=Wish(IPV4, ADDRESS)), MakePort(IPV4, ADDRESS)),
        (seen(mapped(ADDRESS), lost=Wish(IPV4, ADDRESS), candidate=PORT), MakePort(IPV4, ADDRESS)),
        (seen(mapped(deleting=True), port_is_ours=True, to_keep=KEPT), Keep(KEPT, "shop")),
    ],
)
def test_rows_of_several_families_and_of_wishes(given: Seen, step: Step) -> None:
    assert mapping.next_step(given) == step


@pytest.mark.parametrize(
    ("wanted", "mode", "step"),
    [
        ("Proxy", "Proxy", Rest),
        ("Proxy", "", Rest),
        ("Proxy", "VIP", Publish),
        ("VIP", "VIP", Rest),
        ("VIP", "Proxy", Publish),
    ],
)
def test_what_somebody_else_writes_beside_the_address_is_put_right(wanted: str, mode: str, step: type[Step]) -> None:
    shown = msgspec.structs.replace(
        mapped(), status=ServiceStatus(LoadBalancerStatus((Ingress(ADDRESS, ip_mode=mode),)))
    )
    given = seen(shown, port_is_ours=True, fits=True, address=ADDRESS, served=True, ip_mode=wanted)
    assert isinstance(mapping.next_step(given), step)


def test_a_service_of_another_class_has_no_port_of_ours() -> None:
    assert mapping.named_ports(service(lb_class="x.org/y", port=PORT)) == ()
    assert mapping.named_ports(ours(lb_class="x.org/y", port=PORT)) == (PORT,), "we still hold it"


def test_who_keeps_what_two_claim() -> None:
    """The one that the world knows, then the older one, then the first by name."""
    known = named("z", since="2026-01-03T00:00:00Z", shown=ADDRESS)
    older = named("y", since="2026-01-01T00:00:00Z")
    first, second = (named(name, since="2026-01-02T00:00:00Z") for name in "ab")
    assert sorted([second, first, older, known], key=mapping.precedence) == [known, older, first, second]


def named(name: str, *, since: str, shown: str = "") -> Service:
    base = service(shown=shown)
    return msgspec.structs.replace(
        base, metadata=msgspec.structs.replace(base.metadata, name=name, creation_timestamp=since)
    )


def test_protocols_are_told_apart() -> None:
    assert shares.keys(service()) == (Key("TCP", 80), Key("UDP", 53))
