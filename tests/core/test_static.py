"""Addresses of an operator's list: given, shared, asked for, used up, and listed no more."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.core import explaining, gateway_document, mapping, ranges
from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.heard import Gateways, acknowledged
from mooring.core.mapping import Seen
from mooring.core.picture import Picture
from mooring.model import names
from mooring.model.cloud import NetworkId, PortId
from mooring.model.kubernetes import (
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
from mooring.model.steps import Annotate, Clear, Publish, Rest, Step

LIST = ("192.0.2.9-192.0.2.10", "2001:db8::5")


def service(name: str, *numbers: int, on: str = "", shown: str = "", wish: str = "", **spec: object) -> Service:
    annotations = {names.MANAGED: "true"} | ({names.PORT: on} if on else {})
    return Service(
        Meta(name=name, namespace="shop", annotations=annotations, finalizers=(names.FINALIZER,)),
        ServiceSpec(
            "LoadBalancer",
            tuple(map(ServicePort, numbers)),
            load_balancer_class=names.GATEWAY_CLASS,
            load_balancer_ip=wish,
            **spec,  # type: ignore[arg-type]
        ),
        ServiceStatus(LoadBalancerStatus((Ingress(shown, ip_mode="Proxy"),) if shown else ())),
    )


def painted(*services: Service, listed: tuple[str, ...] = LIST) -> Picture:
    picture = Picture(Addresses(Place("c", NetworkId(""), None, static=ranges.read_all(listed))))
    picture.holdings.offer()
    for each in services:
        picture.holdings.claim(each)
    return picture


def seen(picture: Picture, service: Service) -> Seen:
    wanted = picture.forwards(service, Known())
    document = gateway_document.document(wanted, epoch=1, generation=1, seed=0)
    return picture.seen(service, Known(), Gateways(acknowledged(document)))


def step(picture: Picture, service: Service) -> Step:
    return mapping.next_step(seen(picture, service))


def test_the_first_that_is_free_is_given_in_the_order_of_the_list() -> None:
    web, shop = service("web", 80, on="192.0.2.9"), service("shop", 80)
    assert step(painted(), shop) == Annotate((PortId("192.0.2.9"),))
    assert step(painted(web), shop) == Annotate((PortId("192.0.2.10"),))
    assert step(painted(web), service("api", 81)) == Annotate((PortId("192.0.2.9"),)), "they share"
    both = service("both", 80, ip_families=("IPv6", "IPv4"))
    assert step(painted(web), both) == Annotate((PortId("2001:db8::5"), PortId("192.0.2.10")))
    assert step(painted(web), service("web", 80, on="192.0.2.9")) == Publish(("192.0.2.9",))


@pytest.mark.parametrize(
    ("new", "reason", "told"),
    [
        (service("new", 80), Reason.NO_MORE_ADDRESSES, "No address of IPv4"),
        (service("new", 80, wish="192.0.2.9"), Reason.WISH_REFUSED, "carries shop/a"),
        (service("new", 80, wish="192.0.2.11"), Reason.WISH_REFUSED, "not in addresses.static"),
        (service("new", 81, wish="192.0.2.10"), None, ""),
        (service("new", 80, ip_families=("IPv6",)), None, ""),
    ],
)
def test_what_there_is_not_is_refused_with_its_reason_and_nothing_is_made(
    new: Service, reason: Reason | None, told: str
) -> None:
    picture = painted(service("a", 80, on="192.0.2.9"), service("b", 80, on="192.0.2.10"))
    found = step(picture, new)
    if reason is None:
        assert isinstance(found, Annotate)
        return
    assert found == Rest(reason)
    allocated = explaining.verdicts(seen(picture, new))[1]
    assert (allocated.reason, allocated.well) == (reason, False)
    assert told in allocated.fact
    assert allocated.fix


OLD = service("old", 80, on="192.0.2.7", shown="192.0.2.7")


def test_what_is_listed_no_more_stays_with_who_has_it_and_nobody_else_gets_it() -> None:
    picture = painted(OLD)
    assert step(picture, OLD) == Rest(Reason.PROGRAMMED)
    allocated = explaining.verdicts(seen(picture, OLD))[1]
    assert (allocated.reason, allocated.well) == (Reason.ADDRESS_RETIRED, True)
    assert [each.address for each in picture.forwards(OLD, Known())] == ["192.0.2.7"]
    assert step(picture, service("new", 81)) == Annotate((PortId("192.0.2.9"),))
    asking = service("new", 81, wish="192.0.2.7")
    assert step(picture, asking) == Rest(Reason.WISH_REFUSED)
    assert "no longer" in explaining.verdicts(seen(picture, asking))[1].fact
    beside = service("beside", 81, on="192.0.2.7", shown="192.0.2.7")
    assert step(painted(OLD, beside), beside) == Rest(Reason.PROGRAMMED), "who shares it keeps it too"


def test_who_lets_it_go_gets_another_one() -> None:
    picture = painted(OLD)
    without = service("old", 80, shown="192.0.2.7")
    picture.holdings.claim(without)
    assert step(picture, without) == Clear()
    cleared = service("old", 80)
    picture.holdings.claim(cleared)
    assert step(picture, cleared) == Annotate((PortId("192.0.2.9"),))


def test_who_lets_it_go_while_nobody_leads_gets_another_one_too() -> None:
    """Who leads next never knew the address: the Service itself says whose it was."""
    without = service("old", 80, shown="192.0.2.7")
    assert step(painted(without), without) == Rest(Reason.FOREIGN_ADDRESS)
    said = explaining.conditions(seen(painted(OLD), OLD))
    without = msgspec.structs.replace(without, status=ServiceStatus(without.status.load_balancer, said))
    assert step(painted(without), without) == Clear()


@pytest.mark.parametrize(
    "thief",
    [
        service("thief", 80, on="192.0.2.7"),
        service("thief", 80, on="8.8.8.8"),
        service("thief", 80, on="192.0.2.7", shown="198.51.100.9"),
        msgspec.structs.replace(OLD, metadata=msgspec.structs.replace(OLD.metadata, finalizers=())),
    ],
)
def test_naming_an_address_does_not_make_it_ours(thief: Service) -> None:
    """Anybody can write an annotation; the status is for controllers."""
    picture = painted(thief)
    assert not seen(picture, thief).port_is_ours
    assert picture.forwards(thief, Known()) == ()


@pytest.mark.parametrize(
    ("policy", "named", "expected"),
    [
        ({"wishes": "none"}, "192.0.2.10", Annotate((PortId("192.0.2.9"),))),
        ({"wished": ranges.read_all(("192.0.2.9",))}, "192.0.2.10", Annotate((PortId("192.0.2.9"),))),
        ({"wished": ranges.read_all(("192.0.2.10",))}, "192.0.2.10", Publish(("192.0.2.10",))),
    ],
)
def test_who_names_an_address_gets_what_may_be_asked_for(policy: Mapping[str, Any], named: str, expected: Step) -> None:
    """The port of an address of a list is that address, and everybody can write it. What we gave counts, too."""
    place = Place("c", NetworkId(""), None, static=ranges.read_all(LIST), **policy)
    picture = Picture(Addresses(place))
    picture.holdings.offer()
    new = service("new", 80, on=named)
    picture.holdings.claim_all([new])
    assert step(picture, new) == expected
    if isinstance(expected, Annotate):
        picture.holdings.grant(new, expected.ports)
        given = service("new", 80, on=expected.ports[0])
        picture.holdings.claim(given)
        assert step(picture, given) == Publish(expected.ports), "by whom it was given it"


def test_the_list_is_all_that_there_is_also_where_openstack_says_something() -> None:
    picture = painted()
    picture.addresses.replace([], [], [])
    assert list(picture.addresses.ports) == ["192.0.2.9", "192.0.2.10", "2001:db8::5"]
    assert (picture.addresses.going(), picture.addresses.all_begun()) == ([], [])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((80, 443)), st.booleans()), max_size=10),
    st.sampled_from(((*LIST,), ("192.0.2.9",), ("192.0.2.10", "198.51.100.1"))),
)
def test_services_are_kept_apart_and_what_they_have_is_read_back(
    wanted: list[tuple[str, int, bool]], later: tuple[str, ...]
) -> None:
    """Whatever comes: no two on one key, no two namespaces on one address, and another list moves nobody."""
    picture, there = painted(), dict[Name, Service]()
    for number, (namespace, port, six) in enumerate(wanted):
        one = service(f"s{number}", port, ip_families=("IPv6" if six else "IPv4",))
        one = msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, namespace=namespace))
        match step(picture, one):
            case Annotate((given,)):
                meta = msgspec.structs.replace(one.metadata, annotations=one.metadata.annotations | {names.PORT: given})
                status = ServiceStatus(LoadBalancerStatus((Ingress(given, ip_mode="Proxy"),)))
                one = there[one.name] = msgspec.structs.replace(one, metadata=meta, status=status)
                picture.holdings.claim(one)
            case other:
                assert other == Rest(Reason.NO_MORE_ADDRESSES)
    for listed in (LIST, later):
        again = painted(*there.values(), listed=listed)
        places = [(each.address, each.port) for one in there.values() for each in again.forwards(one, Known())]
        assert len(places) == len(set(places)) == len(there)
        assert all(step(again, one) == Rest(Reason.PROGRAMMED) for one in there.values())
        owners = {(each.address, one.name.namespace) for one in there.values() for each in again.forwards(one, Known())}
        assert len(owners) == len({address for address, _ in owners})
