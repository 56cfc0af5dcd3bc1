"""Every row of the table that decides what happens to a Service."""

import pytest

from mooring.core import mapping
from mooring.core.mapping import Seen
from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.gateway import Key
from mooring.model.kubernetes import (
    Ingress,
    LoadBalancerStatus,
    Meta,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from mooring.model.steps import Annotate, Clear, Forget, LetGo, MakePort, Manage, Publish, Push, Rest, Step

PORT = PortId("p-1")
OTHER = PortId("p-2")
ADDRESS = "203.0.113.9"


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


@pytest.mark.parametrize(
    ("seen", "step"),
    [
        # no, no
        (Seen(service(type="ClusterIP")), Rest("NotOurs")),
        (Seen(service(lb_class="example.org/other")), Rest("NotOurs")),
        (Seen(service(lb_class="")), Rest("NotOurs")),
        (Seen(service(managed="false")), Rest("NotOurs")),
        (Seen(service(deleting=True)), Rest("NotOurs")),
        # no, yes
        (Seen(service()), Manage()),
        (Seen(service(shown="198.51.100.1")), Rest("ForeignAddress")),
        # yes, yes, no port
        (Seen(ours(), candidate=PORT), Annotate(PORT)),
        (Seen(ours()), MakePort()),
        (Seen(ours(shown=ADDRESS), candidate=PORT, shows_ours=True), Clear()),
        (Seen(ours(shown="198.51.100.1"), candidate=PORT), Rest("ForeignAddress")),
        # yes, yes, port that fits
        (Seen(ours(port=PORT), fits=True, address=ADDRESS), Push()),
        (Seen(ours(port=PORT), fits=True, address=ADDRESS, served=True), Publish(ADDRESS)),
        (Seen(ours(port=PORT, shown="198.51.100.1"), fits=True, address=ADDRESS, served=True), Publish(ADDRESS)),
        (Seen(ours(port=PORT, shown=ADDRESS), fits=True, address=ADDRESS, served=True), Rest("Served")),
        (Seen(ours(port=PORT, shown=ADDRESS), fits=True, address=ADDRESS), Push()),
        # yes, yes, port that does not fit
        (Seen(ours(port=PORT, shown=ADDRESS), candidate=OTHER), Clear()),
        (Seen(ours(port=PORT), candidate=OTHER), Annotate(OTHER)),
        (Seen(ours(port=PORT)), MakePort()),
        # yes, no
        (Seen(ours(port=PORT, shown=ADDRESS, deleting=True)), Clear()),
        (Seen(ours(port=PORT, deleting=True)), Forget()),
        (Seen(ours(deleting=True)), Push()),
        (Seen(ours(deleting=True), served=True), LetGo()),
        (Seen(ours(type="ClusterIP"), served=True), LetGo()),
        (Seen(service(managed="false", finalizer=True), served=True), LetGo()),
        # traces of ours without the annotation: somebody edited it
        (Seen(service(finalizer=True), candidate=PORT), Annotate(PORT)),
        (Seen(service(port=PORT, deleting=True)), Forget()),
        # an address that somebody gave to it after its port was taken: not ours to take back
        (Seen(ours(shown="198.51.100.1", deleting=True), served=True), LetGo()),
        # an address of ours whose port annotation somebody took away
        (Seen(ours(shown=ADDRESS, deleting=True), served=True, shows_ours=True), Clear()),
    ],
)
def test_each_row_of_the_table(seen: Seen, step: Step) -> None:
    assert mapping.next_step(seen) == step


def test_protocols_are_told_apart() -> None:
    assert mapping.keys(service()) == (Key("TCP", 80), Key("UDP", 53))


@pytest.mark.parametrize(
    ("given", "expected"),
    [(ours(port=PORT), True), (ours(), False), (ours(port=PORT, deleting=True), False), (service(), False)],
)
def test_what_the_gateways_are_to_serve(given: Service, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    assert mapping.mapped(given) is expected
