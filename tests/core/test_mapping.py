"""Every row of the table that decides what happens to a Service."""

import msgspec
import pytest

from mooring.core import mapping
from mooring.core.mapping import Seen
from mooring.model import names
from mooring.model.cloud import PortId
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
from mooring.model.steps import Annotate, Clear, Forget, LetGo, MakePort, Manage, Publish, Push, Rest, Step, Tell

PORT = PortId("p-1")
OTHER = PortId("p-2")
ADDRESS = "203.0.113.9"
OTHERS = Rest(Reason.OTHER_CLASS)
GOING = Rest(Reason.ENDING)


def service(  # noqa: PLR0913 - all that the table depends on
    *,
    managed: str = "",
    port: str = "",
    finalizer: bool = False,
    shown: str = "",
    type: str = "LoadBalancer",  # noqa: A002 - Kubernetes' word
    lb_class: str = names.GATEWAY_CLASS,
    deleting: bool = False,
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
        status=ServiceStatus(LoadBalancerStatus((Ingress(shown),) if shown else ())),
    )


def ours(**parts: object) -> Service:
    return service(managed="true", finalizer=True, **parts)  # type: ignore[arg-type]


def mapped(shown: str = "", *, deleting: bool = False) -> Service:
    return ours(port=PORT, shown=shown, deleting=deleting)


def said(given: Service) -> Service:
    """The same with a condition of ours."""
    condition = Condition(names.ACCEPTED, "True", "Accepted")
    return msgspec.structs.replace(given, status=ServiceStatus(given.status.load_balancer, (condition,)))


def wishing(given: Service, **wishes: object) -> Service:
    """The same with something in it that no gateway does."""
    wishes = wishes or {"load_balancer_ip": "203.0.113.1"}
    return msgspec.structs.replace(given, spec=msgspec.structs.replace(given.spec, **wishes))


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({"session_affinity": "None", "external_traffic_policy": "Cluster"}, ()),
        ({"load_balancer_source_ranges": ("192.0.2.0/24",), "session_affinity": "ClientIP"}, ()),
        ({"load_balancer_ip": "203.0.113.1"}, ("spec.loadBalancerIP",)),
        ({"external_traffic_policy": "Local"}, ("spec.externalTrafficPolicy Local",)),
    ],
)
def test_what_nobody_does_is_not_ignored(wishes: dict[str, object], expected: tuple[str, ...]) -> None:
    assert mapping.unsupported(wishing(service(), **wishes)) == expected


@pytest.mark.parametrize(
    ("seen", "step"),
    [
        # can not be managed, nothing of ours
        (Seen(service(type="ClusterIP")), Rest(Reason.NOT_LOAD_BALANCER)),
        (Seen(service(lb_class="example.org/other")), Rest(Reason.OTHER_CLASS)),
        (Seen(service(lb_class="")), Rest(Reason.OTHER_CLASS)),
        (Seen(service(managed="false")), Rest(Reason.OPTED_OUT)),
        (Seen(service(deleting=True)), Rest(Reason.ENDING)),
        (Seen(service(type="ClusterIP", port="somebody's text")), Rest(Reason.NOT_LOAD_BALANCER)),
        (Seen(service(managed="False")), Rest(Reason.OPTED_OUT)),
        # of another class: what was copied into it says nothing
        (Seen(service(lb_class="x.org/y", managed="true", port=PORT, shown="198.51.100.1"), port_is_ours=True), OTHERS),
        (Seen(service(lb_class="x.org/y", managed="true", shown=ADDRESS), shows_ours=True), OTHERS),
        (Seen(service(lb_class="x.org/y", managed="true", port=PORT, deleting=True), port_is_ours=True), GOING),
        (Seen(ours(lb_class="x.org/y", shown="198.51.100.1"), served=True), LetGo()),
        (Seen(ours(lb_class="x.org/y", shown="198.51.100.1", port=PORT), port_is_ours=True, served=True), Forget()),
        # something in it that nobody does
        (Seen(wishing(service())), Rest(Reason.NOT_SUPPORTED)),
        (Seen(wishing(mapped(ADDRESS)), port_is_ours=True), Clear()),
        (Seen(wishing(ours()), served=True), LetGo()),
        (Seen(said(wishing(service()))), Rest(Reason.NOT_SUPPORTED)),
        # can be managed, not bound
        (Seen(service()), Manage()),
        (Seen(service(shown="198.51.100.1")), Rest(Reason.FOREIGN_ADDRESS)),
        (Seen(service(managed="true")), Manage()),
        (Seen(service(finalizer=True), candidate=PORT), Manage()),
        (Seen(service(port=PORT), port_is_ours=True, fits=True), Manage()),
        (Seen(service(shown=ADDRESS), shows_ours=True), Manage()),
        # bound, no port
        (Seen(ours(), candidate=PORT), Annotate(PORT)),
        (Seen(ours()), MakePort()),
        (Seen(ours(shown=ADDRESS), candidate=PORT, shows_ours=True), Clear()),
        (Seen(ours(shown="198.51.100.1"), candidate=PORT), Rest(Reason.FOREIGN_ADDRESS)),
        # bound, port that fits
        (Seen(mapped(), port_is_ours=True, fits=True, address=ADDRESS), Push()),
        (Seen(mapped(), port_is_ours=True, fits=True, address=ADDRESS, served=True), Publish(ADDRESS)),
        (Seen(mapped("198.51.100.1"), port_is_ours=True, fits=True, address=ADDRESS, served=True), Publish(ADDRESS)),
        (Seen(mapped(ADDRESS), port_is_ours=True, fits=True, address=ADDRESS, served=True), Rest(Reason.PROGRAMMED)),
        (Seen(mapped(ADDRESS), port_is_ours=True, fits=True, address=ADDRESS), Push()),
        # bound, port that does not fit, or is none of ours
        (Seen(mapped(ADDRESS), port_is_ours=True, candidate=OTHER), Clear()),
        (Seen(mapped(), port_is_ours=True, candidate=OTHER), Annotate(OTHER)),
        (Seen(mapped()), MakePort()),
        (Seen(mapped("198.51.100.1")), Rest(Reason.FOREIGN_ADDRESS)),
        # can not be managed any more
        (Seen(mapped(ADDRESS, deleting=True), port_is_ours=True), Clear()),
        (Seen(mapped(deleting=True), port_is_ours=True), Forget()),
        (Seen(mapped(deleting=True)), Forget()),
        (Seen(ours(deleting=True)), Push()),
        (Seen(ours(deleting=True), served=True), LetGo()),
        (Seen(ours(type="ClusterIP"), served=True), LetGo()),
        (Seen(service(managed="false", finalizer=True), served=True), LetGo()),
        # what somebody else gave stays; what is ours is known without its annotation
        (Seen(ours(shown="198.51.100.1", deleting=True), served=True), LetGo()),
        (Seen(ours(shown=ADDRESS, deleting=True), served=True, shows_ours=True), Clear()),
        (Seen(service(shown=ADDRESS, type="ClusterIP"), shows_ours=True), Clear()),
        (Seen(service(port=PORT, type="ClusterIP"), port_is_ours=True), Forget()),
        # conditions of ours go before anything else does, but not from what is going anyway
        (Seen(said(ours(type="ClusterIP")), served=True), Tell(())),
        (Seen(said(ours(shown="198.51.100.1", type="ClusterIP")), served=True), Tell(())),
        (Seen(said(mapped(ADDRESS)), port_is_ours=True, candidate=OTHER), Clear()),
        (Seen(said(ours(deleting=True)), served=True), LetGo()),
    ],
)
def test_each_row_of_the_table(seen: Seen, step: Step) -> None:
    assert mapping.next_step(seen) == step


@pytest.mark.parametrize(("mode", "step"), [("Proxy", Rest), ("", Rest), ("VIP", Publish)])
def test_what_somebody_else_writes_beside_the_address_is_put_right(mode: str, step: type[Step]) -> None:
    shown = msgspec.structs.replace(
        mapped(), status=ServiceStatus(LoadBalancerStatus((Ingress(ADDRESS, ip_mode=mode),)))
    )
    assert isinstance(mapping.next_step(Seen(shown, port_is_ours=True, fits=True, address=ADDRESS, served=True)), step)


def test_a_service_of_another_class_has_no_port_of_ours() -> None:
    assert mapping.port_of(service(lb_class="x.org/y", port=PORT)) is None
    assert mapping.port_of(ours(lb_class="x.org/y", port=PORT)) == PORT, "we still hold it"


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
    assert mapping.keys(service()) == (Key("TCP", 80), Key("UDP", 53))


@pytest.mark.parametrize(
    ("given", "expected"),
    [(mapped(), True), (ours(), False), (mapped(deleting=True), False), (service(), False)],
)
def test_what_the_gateways_are_to_serve(given: Service, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    assert mapping.mapped(given) is expected
