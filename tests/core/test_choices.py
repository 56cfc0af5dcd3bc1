"""Which subnet and which network of floating IPs owners choose, row by row, and what follows for their Services."""

import msgspec
import pytest

from mooring.core import choices, mapping
from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.choices import Choices
from mooring.core.heard import Gateways
from mooring.core.picture import Picture
from mooring.core.wishes import IPV4, IPV6, NO_FLOATING_IP, Wish
from mooring.model import names
from mooring.model.cloud import FixedIp, FloatingIp, FloatingIpId, NetworkId, Port, PortId, ProjectId, SubnetId
from mooring.model.kubernetes import (
    Ingress,
    LoadBalancerStatus,
    Meta,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from mooring.model.reasons import Reason
from mooring.model.steps import Annotate, Clear, MakePort, Push, PutBack, Rest, Step

S, S2, S6 = SubnetId("s"), SubnetId("s2"), SubnetId("s6")
OUT, OUT2 = NetworkId("out"), NetworkId("out2")
THEIRS = "loadbalancer.openstack.org/floating-network-id"
OFFERED = Choices(
    {"s": (IPV4, S), "fast": (IPV4, S2), "s2": (IPV4, S2), "six": (IPV6, S6)}, {"out": OUT, "partners": OUT2}
)


def service(  # noqa: PLR0913 - what there is to say of one
    name: str,
    number: int = 80,
    *,
    on: str = "",
    shown: str = "",
    subnet: str = "",
    pool: str = "",
    internal: str | None = None,
    theirs: str = "",
) -> Service:
    given = {names.MANAGED: "true", names.PORT: on, names.SUBNET: subnet, names.FLOATING_NETWORK: pool}
    given[THEIRS] = theirs
    annotations = {key: text for key, text in given.items() if text}
    annotations |= {} if internal is None else {names.INTERNAL: internal}
    return Service(
        Meta(name=name, namespace="shop", annotations=annotations, finalizers=(names.FINALIZER,)),
        ServiceSpec("LoadBalancer", (ServicePort(number),), load_balancer_class=names.GATEWAY_CLASS),
        ServiceStatus(LoadBalancerStatus((Ingress(shown),) if shown else ())),
    )


@pytest.mark.parametrize(
    ("given", "family", "subnet", "network"),
    [
        (service("web"), IPV4, None, None),
        (service("web", subnet="fast"), IPV4, S2, None),
        (service("web", subnet="fast, six"), IPV6, S6, None),
        (service("web", subnet="six"), IPV4, None, None),
        (service("web", pool="partners"), IPV4, None, OUT2),
        (service("web", pool="partners"), IPV6, None, None),
        (service("web", pool="none"), IPV4, None, NO_FLOATING_IP),
        (service("web", pool=" None "), IPV4, None, NO_FLOATING_IP),
        (service("web", pool="none", subnet="fast"), IPV4, S2, NO_FLOATING_IP),
        (service("web", pool="none"), IPV6, None, None),
        (service("web", internal="true"), IPV4, None, NO_FLOATING_IP),
        (service("web", internal=" True"), IPV4, None, NO_FLOATING_IP),
        (service("web", internal="true", on="a"), IPV4, None, NO_FLOATING_IP),
        (service("web", internal="true"), IPV6, None, None),
        (service("web", internal="false"), IPV4, None, None),
        (service("web", internal="true", pool="partners"), IPV4, None, OUT2),
        (service("web", internal="true", pool=" "), IPV4, None, NO_FLOATING_IP),
        (service("web", internal="yes please", pool="none"), IPV4, None, NO_FLOATING_IP),
        (service("web", internal="true", theirs="partners"), IPV4, None, NO_FLOATING_IP),
        (service("web", internal="true", theirs="unknown"), IPV4, None, NO_FLOATING_IP),
        (service("web", internal="false", theirs="partners"), IPV4, None, OUT2),
        (service("web", internal=""), IPV4, None, None),
    ],
)
def test_what_is_chosen(given: Service, family: str, subnet: SubnetId | None, network: NetworkId | None) -> None:
    assert choices.chosen(given, Wish(family), OFFERED) == Wish(family, "", subnet, network)
    assert choices.refused(given, OFFERED) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (service("web", subnet="theirs"), "'theirs', which is not in addresses.subnets_allowed"),
        (service("web", subnet="fast,theirs"), "'theirs'"),
        (service("web", subnet="fast,s"), "several subnets of one family"),
        (service("web", pool="theirs"), "'theirs', which is not in addresses.floating_networks_allowed"),
        (service("web", pool="x" * 500), "addresses.floating_networks_allowed"),
        (service("web", theirs="none"), "'none', which is not in addresses.floating_networks_allowed"),
        (service("web", internal="yes please"), f"{names.INTERNAL} says 'yes please'"),
        (service("web", internal="x" * 500), names.INTERNAL),
    ],
)
def test_what_cannot_be_chosen_is_told(given: Service, told: str) -> None:
    refused = choices.refused(given, OFFERED)
    assert refused is not None
    assert told in refused.fact
    assert len(refused.fact) < 300
    assert refused.fix


def test_where_nothing_floats_nobody_has_to_say_clearly_that_it_is_not_to() -> None:
    assert choices.refused(service("web", internal="yes please"), OFFERED, floats=False) is None


def port(name: str, address: str, subnet: SubnetId, owner: str = "") -> Port:
    return Port(
        id=PortId(name),
        network_id=NetworkId("n"),
        project_id=ProjectId("p"),
        revision_number=1,
        fixed_ips=(FixedIp(subnet, address),),
        device_owner=owner,
    )


def floating_ip(on: str, address: str, network: NetworkId) -> FloatingIp:
    return FloatingIp(
        id=FloatingIpId(f"f-{on}"),
        project_id=ProjectId("p"),
        revision_number=1,
        floating_network_id=network,
        floating_ip_address=address,
        port_id=PortId(on),
    )


A, B, C, D = PortId("a"), PortId("b"), PortId("c"), PortId("d")


def painted(*services: Service, internal: bool = False) -> Picture:
    """An address as all are, one of another subnet, and one of another network of floating IPs.

    `internal`: and one that is to have no floating IP, beside one of which the floating IP is only lacking.
    """
    addresses = Addresses(Place("c", NetworkId("n"), S, OUT, choices=OFFERED))
    bare = [port("d", "10.0.0.7", S, names.INTERNAL_OWNER), port("e", "10.0.0.8", S)] if internal else []
    addresses.replace(
        [port("a", "10.0.0.5", S), port("b", "10.2.0.5", S2), port("c", "10.0.0.6", S), *bare],
        [
            floating_ip("a", "203.0.113.5", OUT),
            floating_ip("b", "203.0.113.6", OUT),
            floating_ip("c", "198.51.100.5", OUT2),
        ],
        [],
    )
    picture = Picture(addresses)
    picture.holdings.offer()
    for each in services:
        picture.holdings.claim(each)
    return picture


def step(picture: Picture, given: Service) -> Step:
    return mapping.next_step(picture.seen(given, Known(), Gateways()))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (service("new"), Annotate((A,))),
        (service("new", subnet="s"), Annotate((A,))),
        (service("new", subnet="fast"), Annotate((B,))),
        (service("new", subnet="s2", pool="out"), Annotate((B,))),
        (service("new", pool="partners"), Annotate((C,))),
        (service("new", subnet="fast", pool="partners"), MakePort(IPV4, "", S2, OUT2)),
        (service("new", subnet="theirs"), Rest(Reason.WISH_REFUSED)),
    ],
)
def test_each_gets_an_address_from_where_it_chose(given: Service, expected: Step) -> None:
    assert step(painted(), given) == expected


NONE = MakePort(IPV4, "", None, NO_FLOATING_IP)


@pytest.mark.parametrize(
    ("given", "there", "expected"),
    [
        (service("new", pool="none"), True, Annotate((D,))),
        (service("new", internal="true"), True, Annotate((D,))),
        (service("new"), True, Annotate((A,))),
        (service("new", pool="none"), False, NONE),
        (service("new", internal="true"), False, NONE),
        (service("new", pool="none", subnet="fast"), True, MakePort(IPV4, "", S2, NO_FLOATING_IP)),
        (service("new", internal="yes please"), True, Rest(Reason.BAD_ANNOTATION)),
        (service("new", internal="true", on="gone"), False, NONE),
        (service("old", pool="none", on="a", shown="203.0.113.5"), True, Clear()),
        (service("old", internal="true", on="a", shown="203.0.113.5"), True, Clear()),
        (service("old", internal="true", on="a", shown="203.0.113.5"), False, NONE),
        (service("old", internal="true", on="e", shown="203.0.113.9"), True, Clear()),
        (service("old", internal="true", on="d", shown="10.0.0.7"), True, Push()),
        (service("old", internal="false", on="d", shown="10.0.0.7"), True, Push()),
        (service("old", on="d", shown="10.0.0.7"), True, Push()),
        (service("old", pool="out", on="d", shown="10.0.0.7"), True, Clear()),
        (service("old", internal="yes please", on="d", shown="10.0.0.7"), True, Push()),
    ],
)
def test_who_wants_no_floating_ip_gets_a_port_without_one(given: Service, expected: Step, *, there: bool) -> None:
    assert step(painted(given, internal=there), given) == expected


@pytest.mark.parametrize(
    ("on", "given_back"),
    [("e", PutBack(PortId("e"), FloatingIpId("f-x"))), ("gone", MakePort(IPV4, "203.0.113.9", floating_network=OUT))],
    ids=["taken off", "without its port"],
)
def test_who_wants_no_floating_ip_does_not_get_back_the_one_that_it_lost(on: str, given_back: Step) -> None:
    off = msgspec.structs.replace(floating_ip("x", "203.0.113.9", OUT), port_id=None)
    for pool, expected in (("", given_back), ("none", Clear())):
        web = service("web", on=on, shown="203.0.113.9", pool=pool)
        picture = painted(web, internal=True)
        picture.addresses.put(off)
        assert step(picture, web) == expected


def test_services_of_different_origins_do_not_share() -> None:
    there = service("there", 80, on="b", subnet="fast")
    assert step(painted(there), service("new", 81, subnet="fast")) == Annotate((B,))
    assert step(painted(there), service("new", 81)) == Annotate((A,))
    assert step(painted(there), service("new", 80, subnet="fast")) == MakePort(IPV4, "", S2)


def test_who_chooses_anew_moves_and_who_no_longer_chooses_stays() -> None:
    web = service("web", on="a", shown="203.0.113.5", subnet="fast")
    picture = painted(web)
    assert step(picture, web) == Clear()
    cleared = msgspec.structs.replace(web, status=ServiceStatus())
    picture.holdings.claim(cleared)
    assert step(picture, cleared) == Annotate((B,))
    stays = service("web", on="b", shown="203.0.113.6")
    assert isinstance(step(painted(stays), stays), Push), "it is served where it is"
