"""What the one picture tells: who has what, what is free, what is to be served, and what the gateways do of it."""

import msgspec

from mooring.core import gateway_document
from mooring.core.addresses import Addresses, Place
from mooring.core.picture import Gateways, Picture, acknowledged
from mooring.model import names
from mooring.model.cloud import FixedIp, NetworkId, Port, PortId, ProjectId, SubnetId
from mooring.model.gateway import Backend, Forward
from mooring.model.kubernetes import (
    Endpoint,
    EndpointPort,
    EndpointSlice,
    Ingress,
    LoadBalancerStatus,
    Meta,
    Name,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)

A, B = PortId("a"), PortId("b")
NOBODY = Gateways()


def port(name: str, address: str) -> Port:
    fixed = (FixedIp(SubnetId("s"), address),)
    return Port(
        id=PortId(name), network_id=NetworkId("n"), project_id=ProjectId("p"), revision_number=1, fixed_ips=fixed
    )


def service(name: str, *numbers: int, on: str = "", shown: str = "") -> Service:
    annotations = {names.MANAGED: "true"} | ({names.PORT: on} if on else {})
    return Service(
        Meta(name=name, namespace="shop", annotations=annotations, finalizers=(names.FINALIZER,)),
        ServiceSpec("LoadBalancer", tuple(map(ServicePort, numbers)), load_balancer_class=names.GATEWAY_CLASS),
        ServiceStatus(LoadBalancerStatus((Ingress(shown),) if shown else ())),
    )


def slices(*addresses: str) -> tuple[EndpointSlice, ...]:
    return (EndpointSlice(Meta(), "IPv4", tuple(Endpoint((each,)) for each in addresses), (EndpointPort("", 8080),)),)


def painted(*services: Service) -> Picture:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s")))
    addresses.replace([port("a", "10.0.0.5"), port("b", "10.0.0.6")], [], [])
    picture = Picture(addresses)
    picture.offer()
    for each in services:
        picture.claim(each)
    return picture


WEB = service("web", 80, on="a")


def test_who_came_first_keeps_it_and_the_other_knows_who_has_it() -> None:
    rival = service("rival", 80, on="a")
    picture = painted(WEB, rival)
    assert picture.seen(WEB, (), NOBODY).fits
    seen = picture.seen(rival, (), NOBODY)
    assert (seen.fits, seen.rival, seen.candidate) == (False, Name("shop", "web"), B)
    assert picture.forwards(rival, slices("10.244.1.5")) == ()


def test_what_is_given_is_nobody_elses_before_the_service_says_so() -> None:
    picture = painted()
    first, second = service("first", 80), service("second", 80)
    picture.give(first, A)
    assert picture.seen(second, (), NOBODY).candidate == B
    assert picture.seen(first, (), NOBODY).candidate == A


def test_a_port_that_is_gone_is_offered_to_nobody() -> None:
    picture = painted(WEB)
    picture.addresses.replace([port("b", "10.0.0.6")], [], [])
    picture.offer()
    seen = picture.seen(WEB, (), NOBODY)
    assert (seen.port_is_ours, seen.fits, seen.candidate) == (False, False, B)
    assert picture.used() == {A}


def test_what_is_served_follows_service_endpoints_and_address() -> None:
    """It is remembered, and never longer than it holds."""
    picture = painted(WEB)
    five = slices("10.244.1.5")
    before = picture.forwards(WEB, five)
    assert before == (Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.244.1.5", 8080),)),)
    assert picture.forwards(WEB, five) is before
    assert picture.forwards(WEB, slices("10.244.1.6"))[0].backends == (Backend("10.244.1.6", 8080),)
    both = service("web", 80, 81, on="a")
    picture.claim(both)
    assert [each.port for each in picture.forwards(both, five)] == [80, 81]
    picture.addresses.replace([port("a", "10.0.0.9")], [], [])
    picture.offer()
    assert {each.address for each in picture.forwards(both, five)} == {"10.0.0.9"}
    picture.release(both.name)
    assert picture.used() == frozenset()


def test_what_the_gateways_have_acknowledged() -> None:
    picture = painted(WEB)
    document = gateway_document.document(picture.forwards(WEB, slices("10.244.1.5")), epoch=1, generation=1, seed=0)
    told = Gateways(acknowledged(document), live=True)
    assert picture.seen(WEB, slices("10.244.1.5"), told).served
    assert picture.seen(WEB, slices("10.244.1.6"), told).served, "endpoints may lag behind for a moment"
    assert not picture.seen(WEB, (), NOBODY).served
    assert not picture.seen(WEB, (), msgspec.structs.replace(told, live=False)).served
    moved = service("web", 81, on="a")
    picture.claim(moved)
    assert not picture.seen(moved, (), told).served
    gone = service("gone", 82)
    assert picture.seen(gone, (), Gateways({}, live=False)).served, "nothing is wanted, and nothing is served"


def test_an_address_is_known_as_ours_whoever_shows_it() -> None:
    picture = painted()
    assert picture.seen(service("web", 80, shown="10.0.0.6"), (), NOBODY).shows_ours
    assert not picture.seen(service("web", 80, shown="198.51.100.1"), (), NOBODY).shows_ours


def test_every_port_needs_an_endpoint() -> None:
    picture = painted(WEB)
    assert picture.seen(WEB, slices("10.244.1.5"), NOBODY).endpoints
    assert not picture.seen(WEB, slices(), NOBODY).endpoints
