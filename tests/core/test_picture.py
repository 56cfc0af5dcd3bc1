"""What the one picture tells: who has what, what is free, what is to be served, and what the gateways do of it."""

from typing import Any

import msgspec
import pytest

from mooring.core import gateway_document, mapping, ranges
from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.heard import Gateways, acknowledged
from mooring.core.nodes import Usable
from mooring.core.picture import Picture
from mooring.model import names
from mooring.model.cloud import AddressPair, FixedIp, NetworkId, Port, PortId, ProjectId, SubnetId
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
from mooring.model.reasons import Reason
from mooring.model.steps import Clear, MakePort, Rest

A, B = PortId("a"), PortId("b")
NOBODY = Gateways()


def port(name: str, address: str) -> Port:
    fixed = (FixedIp(SubnetId("s6" if ":" in address else "s"), address),)
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


def slices(*addresses: str) -> Known:
    return Known(
        (EndpointSlice(Meta(), "IPv4", tuple(Endpoint((each,)) for each in addresses), (EndpointPort("", 8080),)),)
    )


def painted(*services: Service) -> Picture:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s")))
    addresses.replace([port("a", "10.0.0.5"), port("b", "10.0.0.6")], [], [])
    picture = Picture(addresses)
    picture.holdings.offer()
    for each in services:
        picture.holdings.claim(each)
    return picture


WEB = service("web", 80, on="a")


def test_who_came_first_keeps_it_and_the_other_knows_who_has_it() -> None:
    rival = service("rival", 80, on="a")
    picture = painted(WEB, rival)
    assert picture.seen(WEB, Known(), NOBODY).fits
    [leg] = picture.seen(rival, Known(), NOBODY).legs
    assert (leg.fits, leg.rival, leg.candidate) == (False, Name("shop", "web"), B)
    assert picture.forwards(rival, slices("10.244.1.5")) == ()


def test_what_is_given_is_nobody_elses_before_the_service_says_so() -> None:
    picture = painted()
    first, second = service("first", 80), service("second", 80)
    picture.holdings.grant(first, (A,))
    assert picture.seen(second, Known(), NOBODY).legs[0].candidate == B
    assert picture.seen(first, Known(), NOBODY).legs[0].candidate == A


def test_a_port_that_is_gone_is_offered_to_nobody() -> None:
    picture = painted(WEB)
    picture.addresses.replace([port("b", "10.0.0.6")], [], [])
    picture.holdings.offer()
    seen = picture.seen(WEB, Known(), NOBODY)
    assert (seen.port_is_ours, seen.fits, seen.legs[0].candidate) == (False, False, B)
    assert picture.holdings.used() == {A}


def test_what_is_served_follows_service_endpoints_and_address() -> None:
    """It is remembered, and never longer than it holds."""
    picture = painted(WEB)
    five = slices("10.244.1.5")
    before = picture.forwards(WEB, five)
    assert before == (Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.244.1.5", 8080),)),)
    assert picture.forwards(WEB, five) is before
    assert picture.forwards(WEB, slices("10.244.1.6"))[0].backends == (Backend("10.244.1.6", 8080),)
    both = service("web", 80, 81, on="a")
    picture.holdings.claim(both)
    assert [each.port for each in picture.forwards(both, five)] == [80, 81]
    picture.addresses.replace([port("a", "10.0.0.9")], [], [])
    picture.holdings.offer()
    assert {each.address for each in picture.forwards(both, five)} == {"10.0.0.9"}
    picture.release(both.name)
    assert picture.holdings.used() == frozenset()


def test_nodes_matter_to_who_is_sent_there() -> None:
    """Of many Services at the layer of pods none is made anew when a node goes."""
    picture = painted(WEB)
    one, two = (
        msgspec.structs.replace(slices("10.244.1.5"), nodes=(Usable("n", (at,)),)) for at in ("10.0.1.1", "10.0.1.2")
    )
    assert picture.forwards(WEB, one) is picture.forwards(WEB, two)
    port = ServicePort(80, node_port=30080)
    spec = msgspec.structs.replace(WEB.spec, ports=(port,))
    meta = msgspec.structs.replace(WEB.metadata, annotations=WEB.metadata.annotations | {names.LAYER: "node"})
    web = msgspec.structs.replace(WEB, spec=spec, metadata=meta)
    assert picture.forwards(web, one)[0].backends == (Backend("10.0.1.1", 30080),)
    assert picture.forwards(web, two)[0].backends == (Backend("10.0.1.2", 30080),)
    assert [each.reason for each in picture.seen(web, slices("10.244.1.5"), NOBODY).remarks] == [Reason.NO_NODES]


def test_the_operator_chooses_for_who_does_not() -> None:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s"), layer="cluster"))
    assert Picture(addresses).layer(WEB) == "cluster"
    assert painted(WEB).layer(WEB) == "pod"


def test_what_the_gateways_have_acknowledged() -> None:
    picture = painted(WEB)
    document = gateway_document.document(picture.forwards(WEB, slices("10.244.1.5")), epoch=1, generation=1, seed=0)
    told = Gateways(acknowledged(document), live=True)
    assert picture.seen(WEB, slices("10.244.1.5"), told).served
    assert picture.seen(WEB, slices("10.244.1.6"), told).served, "endpoints may lag behind for a moment"
    assert not picture.seen(WEB, Known(), NOBODY).served
    assert not picture.seen(WEB, Known(), msgspec.structs.replace(told, live=False)).served
    moved = service("web", 81, on="a")
    picture.holdings.claim(moved)
    assert not picture.seen(moved, Known(), told).served
    gone = service("gone", 82)
    assert picture.seen(gone, Known(), Gateways({}, live=False)).served, "nothing is wanted, and nothing is served"


def test_an_address_is_known_as_ours_whoever_shows_it() -> None:
    picture = painted()
    assert picture.seen(service("web", 80, shown="10.0.0.6"), Known(), NOBODY).shows_ours
    assert not picture.seen(service("web", 80, shown="198.51.100.1"), Known(), NOBODY).shows_ours


def test_every_port_needs_an_endpoint() -> None:
    picture = painted(WEB)
    assert picture.seen(WEB, slices("10.244.1.5"), NOBODY).endpoints
    assert not picture.seen(WEB, slices(), NOBODY).endpoints


def dual(name: str, on: str = "", **more: str) -> Service:
    given = service(name, 80, on=on)
    annotations = given.metadata.annotations | {f"openstack.org/mooring-{key}": text for key, text in more.items()}
    return msgspec.structs.replace(
        given,
        metadata=msgspec.structs.replace(given.metadata, annotations=annotations),
        spec=msgspec.structs.replace(given.spec, ip_families=("IPv6", "IPv4")),
    )


def both_families(*services: Service) -> Picture:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s"), subnet_ipv6=SubnetId("s6")))
    addresses.replace([port("a", "10.0.0.5"), port("b", "10.0.0.6"), port("six", "fd00::5")], [], [])
    picture = Picture(addresses)
    picture.holdings.offer()
    for each in services:
        picture.holdings.claim(each)
    return picture


def test_each_family_has_a_port_of_its_own() -> None:
    new, there = dual("new"), dual("there", on="six,a")
    picture = both_families()
    assert [each.candidate for each in picture.seen(new, Known(), NOBODY).legs] == ["six", A]
    picture = both_families(there)
    seen = picture.seen(there, Known(), NOBODY)
    assert seen.addresses == ("fd00::5", "10.0.0.5")
    assert {each.address for each in picture.forwards(there, slices("10.244.1.5"))} == {"10.0.0.5", "fd00::5"}
    assert [each.candidate for each in picture.seen(new, Known(), NOBODY).legs] == [None, B]


def test_a_wish_is_granted_or_refused_and_nothing_else_is_given() -> None:
    web = service("web", 80, on="a")
    wishing = dual("new", addresses="10.0.0.5")
    six, four = both_families(web).seen(wishing, Known(), NOBODY).legs
    assert four.candidate == A, "what it asks for"
    assert four.denied is not None
    assert "shop/web" in four.denied.fact
    free = both_families().seen(wishing, Known(), NOBODY).legs[1]
    assert (free.candidate, free.denied) == (A, None)
    unknown = both_families().seen(dual("new", addresses="10.0.0.77"), Known(), NOBODY).legs[1]
    assert (unknown.candidate, unknown.denied) == (None, None), "it has to be made"
    assert six.denied is None
    moved = both_families(service("new", 80, on="b")).seen(
        msgspec.structs.replace(wishing, metadata=dual("new", on="b", addresses="10.0.0.5").metadata), Known(), NOBODY
    )
    assert not moved.legs[1].fits, "it has another one than it asks for"


def test_who_needs_more_addresses_than_there_is_room_for_gets_none() -> None:
    picture = both_families(service("web", 80, on="a"), service("mail", 80, on="b"), dual("six", on="six"))
    addresses = picture.addresses
    addresses.place = msgspec.structs.replace(addresses.place, pairs_limit=4)
    held = tuple(AddressPair(each) for each in ("10.0.0.5", "10.0.0.6", "fd00::5"))
    addresses.put_gateway(msgspec.structs.replace(port("g1", "10.0.0.2"), allowed_address_pairs=held))
    new = dual("new")
    denied = [each.denied for each in picture.seen(new, Known(), NOBODY).legs]
    assert [each and each.reason for each in denied] == [Reason.PAIRS_LIMIT] * 2
    assert denied[0] is not None
    assert "g1" in denied[0].fact
    assert mapping.next_step(picture.seen(new, Known(), NOBODY)) == Rest(Reason.PAIRS_LIMIT)
    one = service("one", 80)
    assert picture.seen(one, Known(), NOBODY).denied is None, "for one more there is room"
    assert isinstance(mapping.next_step(picture.seen(one, Known(), NOBODY)), MakePort)
    assert picture.seen(service("api", 81), Known(), NOBODY).denied is None, "it shares one that is there"


@pytest.mark.parametrize(
    ("allowed", "asks", "told"),
    [
        ({"wishes": "none"}, "10.0.0.6", "nobody may ask"),
        ({"wishes": "own"}, "10.0.0.6", ""),
        ({"wishes": "own", "sharing": "cluster"}, "10.0.0.6", ""),
        ({"wishes": "own", "sharing": "cluster"}, "10.0.0.5", "other/web of another namespace"),
        ({"wishes": "shared", "sharing": "cluster"}, "10.0.0.5", ""),
        ({"wishes": "shared", "sharing": "namespace"}, "10.0.0.5", "not to be shared"),
        ({"wished": ranges.read_all(["10.0.0.6"])}, "10.0.0.6", ""),
        (
            {"wished": ranges.read_all(["10.0.0.7-10.0.0.9", "fd00::/64"])},
            "10.0.0.6",
            "only 10.0.0.7-10.0.0.9, fd00::1",
        ),
    ],
)
def test_what_the_operator_lets_services_ask_for(allowed: dict[str, Any], asks: str, told: str) -> None:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s"), **allowed))
    addresses.replace([port("a", "10.0.0.5"), port("b", "10.0.0.6")], [], [])
    picture = Picture(addresses)
    picture.holdings.offer()
    other = service("web", 80, on="a")
    picture.holdings.claim(
        msgspec.structs.replace(other, metadata=msgspec.structs.replace(other.metadata, namespace="other"))
    )
    new = service("new", 81)
    wishing = msgspec.structs.replace(new, spec=msgspec.structs.replace(new.spec, load_balancer_ip=asks))
    [leg] = picture.seen(wishing, Known(), NOBODY).legs
    assert told in (leg.denied.fact if leg.denied else "")
    assert (leg.denied is None) is (told == "")
    assert picture.asked_for([wishing]) == ({leg.candidate} if not told else set())


def test_what_it_has_stays_when_nobody_may_ask_any_more() -> None:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s"), wishes="none"))
    addresses.replace([port("a", "10.0.0.5")], [], [])
    picture = Picture(addresses)
    picture.holdings.offer()
    web = msgspec.structs.replace(WEB, spec=msgspec.structs.replace(WEB.spec, load_balancer_ip="10.0.0.5"))
    picture.holdings.claim(web)
    assert picture.seen(web, Known(), NOBODY).fits


def test_only_those_of_one_key_share() -> None:
    keyed, same, other = dual("a", on="a"), dual("b"), dual("c")
    for each, key in ((keyed, "x"), (same, "x"), (other, "y")):
        each.metadata.annotations[names.SHARING_KEY] = key
    keyed, same, other = (with_port(each, number) for each, number in ((keyed, 80), (same, 81), (other, 82)))
    picture = both_families(keyed)
    assert picture.seen(same, Known(), NOBODY).legs[1].candidate == A
    assert picture.seen(other, Known(), NOBODY).legs[1].candidate == B


def with_port(given: Service, number: int) -> Service:
    return msgspec.structs.replace(given, spec=msgspec.structs.replace(given.spec, ports=(ServicePort(number),)))


def test_what_somebody_asks_for_does_not_go() -> None:
    picture = both_families()
    assert picture.asked_for([dual("new", addresses="10.0.0.6"), dual("other")]) == {B}


@pytest.mark.parametrize("named", ["a", "a,b", "b,a"])
def test_who_shows_the_address_of_a_port_has_it_before_who_only_names_it(named: str) -> None:
    """However old the other one is, and though it shows an address of its own."""
    mine, other = service("z", 80, on="a", shown="10.0.0.5"), service("old", 80, on=named, shown="10.0.0.6")
    metas = [
        msgspec.structs.replace(each.metadata, creation_timestamp=since, namespace=where)
        for each, since, where in ((mine, "2026-01-01T00:00:00Z", "shop"), (other, "2020-01-01T00:00:00Z", "other"))
    ]
    mine, thief = (
        msgspec.structs.replace(each, metadata=meta) for each, meta in zip((mine, other), metas, strict=True)
    )
    picture = painted()
    picture.holdings.claim_all([thief, mine])
    assert [each.address for each in picture.forwards(mine, Known())] == ["10.0.0.5"]
    assert "10.0.0.5" not in {each.address for each in picture.forwards(thief, Known())}


@pytest.mark.parametrize(("gone", "step"), [(5, Clear), (6, Rest)], ids=["some", "too many at once"])
def test_a_service_whose_port_is_gone_gets_another_one(gone: int, step: type) -> None:
    """If the ports of many are gone, it is rather that we are shown something else than they were given in."""
    services = [service(f"s{number}", 80, on=f"gone-{number}", shown=f"10.0.9.{number}") for number in range(gone)]
    picture = painted(WEB, *services)
    found = [mapping.next_step(picture.seen(each, Known(), NOBODY)) for each in services]
    assert {type(each) for each in found} == {step}
    if step is Rest:
        assert set(found) == {Rest(Reason.FOREIGN_ADDRESS)}


@pytest.mark.parametrize(
    "annotations",
    [
        {names.ADDRESSES: "10.0.0.500"},
        {names.SUBNET: "no-such"},
        {names.FLOATING_NETWORK: "no-such"},
        {names.LAYER: "nodes"},
    ],
    ids=["no address", "not listed", "no such network", "no such layer"],
)
def test_who_asks_for_what_cannot_be_keeps_what_it_has_and_is_told(annotations: dict[str, str]) -> None:
    """A slip of the pen, or of the operator's, takes no address away; who is new gets none."""
    had = service("web", 80, on="a", shown="10.0.0.5")
    new = service("new", 81)
    for each in (had, new):
        each.metadata.annotations.update(annotations)
    picture = painted(had, new)
    [leg] = picture.seen(had, Known(), NOBODY).legs
    assert (leg.fits, leg.refused is not None) == (True, True)
    assert [each.address for each in picture.forwards(had, Known())] == ["10.0.0.5"]
    [leg] = picture.seen(new, Known(), NOBODY).legs
    assert (leg.fits, leg.denied is not None) == (False, True)


@pytest.mark.parametrize(
    ("asks", "choices", "told"),
    [
        ("10.0.0.6", {}, "shop/mail"),
        ("10.0.0.7", {"wishes": "none"}, "nobody may ask"),
        ("10.0.0.7", {"wished": ranges.read_all(["10.0.0.9"])}, "only 10.0.0.9"),
        ("10.0.0.7", {"pairs_limit": 2}, "g1"),
    ],
    ids=["taken", "not allowed", "not listed", "no room"],
)
def test_who_asks_for_what_it_cannot_have_keeps_what_it_has(asks: str, choices: dict[str, Any], told: str) -> None:
    had = service("web", 80, on="a", shown="10.0.0.5")
    web = msgspec.structs.replace(had, spec=msgspec.structs.replace(had.spec, load_balancer_ip=asks))
    picture = painted(web, service("mail", 80, on="b", shown="10.0.0.6"))
    addresses = picture.addresses
    addresses.place = msgspec.structs.replace(addresses.place, **choices)
    held = tuple(AddressPair(each) for each in ("10.0.0.5", "10.0.0.6"))
    addresses.put_gateway(msgspec.structs.replace(port("g1", "10.0.0.2"), allowed_address_pairs=held))
    seen = picture.seen(web, Known(), NOBODY)
    assert (seen.fits, seen.addresses, seen.in_vain) == (True, ("10.0.0.5",), True)
    assert told in (seen.legs[0].refused.fact if seen.legs[0].refused else "")
    new = msgspec.structs.replace(web, status=ServiceStatus())
    assert not picture.seen(new, Known(), NOBODY).fits, "everybody can name a port"
    if told == "shop/mail":
        picture.release(Name("shop", "mail"))
        seen = picture.seen(web, Known(), NOBODY)
        assert (seen.fits, seen.legs[0].candidate, mapping.next_step(seen)) == (False, B, Clear()), "it is free"


def test_what_it_asks_for_is_made_before_it_loses_what_it_has() -> None:
    had = service("web", 80, on="a", shown="10.0.0.5")
    web = msgspec.structs.replace(had, spec=msgspec.structs.replace(had.spec, load_balancer_ip="10.0.0.7"))
    picture = painted(web)
    assert mapping.next_step(picture.seen(web, Known(), NOBODY)) == MakePort("IPv4", "10.0.0.7")
    assert [each.address for each in picture.forwards(web, Known())] == ["10.0.0.5"]
    picture.addresses.replace([port("a", "10.0.0.5"), port("c", "10.0.0.7")], [], [])
    picture.holdings.offer()
    assert mapping.next_step(picture.seen(web, Known(), NOBODY)) == Clear()


def test_a_slip_does_not_give_back_what_was_given_up_for_another_wish() -> None:
    """It asks for an address that it cannot have, and shows none; then it says something that cannot be, too."""
    web = service("web", 80, on="a")
    web.metadata.annotations.update({names.ADDRESSES: "10.0.0.99", names.LAYER: "nodes"})
    [leg] = painted(web).seen(web, Known(), NOBODY).legs
    assert (leg.fits, leg.denied is not None) == (False, True)


def test_who_lost_its_annotations_gets_the_address_that_it_shows() -> None:
    """Such as by `kubectl replace`: though another one would come first, and unless somebody else has it."""
    there = service("web", 80, shown="10.0.0.6")
    [leg] = painted(there).seen(there, Known(), NOBODY).legs
    assert (leg.port, leg.fits, leg.address) == (B, True, "10.0.0.6")
    assert [each.address for each in painted(there).forwards(there, Known())] == ["10.0.0.6"], "all the while"
    late = painted(there)
    assert late.seen(service("new", 80), Known(), NOBODY).legs[0].candidate == A, "it is not given to others"
    taken = painted(service("other", 80, on="b", shown="10.0.0.6"), there)
    [leg] = taken.seen(there, Known(), NOBODY).legs
    assert (leg.fits, leg.candidate) == (False, A)
