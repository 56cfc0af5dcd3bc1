"""Which subnet and which network of floating IPs owners choose, row by row, and what follows for their Services."""

import msgspec
import pytest

from mooring.core import choices, mapping
from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.choices import Choices
from mooring.core.heard import Gateways
from mooring.core.picture import Picture
from mooring.core.wishes import IPV4, IPV6, Wish
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
from mooring.model.steps import Annotate, Clear, MakePort, Push, Rest, Step

S, S2, S6 = SubnetId("s"), SubnetId("s2"), SubnetId("s6")
OUT, OUT2 = NetworkId("out"), NetworkId("out2")
OFFERED = Choices(
    {"s": (IPV4, S), "fast": (IPV4, S2), "s2": (IPV4, S2), "six": (IPV6, S6)}, {"out": OUT, "partners": OUT2}
)


def service(  # noqa: PLR0913 - what there is to say of one
    name: str, number: int = 80, *, on: str = "", shown: str = "", subnet: str = "", pool: str = ""
) -> Service:
    given = {names.MANAGED: "true", names.PORT: on, names.SUBNET: subnet, names.FLOATING_NETWORK: pool}
    annotations = {key: text for key, text in given.items() if text}
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
    ],
)
def test_what_cannot_be_chosen_is_told(given: Service, told: str) -> None:
    refused = choices.refused(given, OFFERED)
    assert refused is not None
    assert told in refused.fact
    assert len(refused.fact) < 300
    assert refused.fix


def port(name: str, address: str, subnet: SubnetId) -> Port:
    fixed = (FixedIp(subnet, address),)
    return Port(
        id=PortId(name), network_id=NetworkId("n"), project_id=ProjectId("p"), revision_number=1, fixed_ips=fixed
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


A, B, C = PortId("a"), PortId("b"), PortId("c")


def painted(*services: Service) -> Picture:
    """An address as all are, one of another subnet, and one of another network of floating IPs."""
    addresses = Addresses(Place("c", NetworkId("n"), S, OUT, choices=OFFERED))
    addresses.replace(
        [port("a", "10.0.0.5", S), port("b", "10.2.0.5", S2), port("c", "10.0.0.6", S)],
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
