"""What the configuration names is found at the start, or the start says what is wrong with it."""

import re

import msgspec
import pytest

from mooring.cloud.api import Cloud
from mooring.cloud.twin import neutron
from mooring.cloud.twin.neutron import NeutronTwin
from mooring.controller import finding
from mooring.core.addresses import Place
from mooring.core.roster import Member
from mooring.kube.api import Api
from mooring.kube.twin.server import KubeTwin
from mooring.model.cloud import PortId
from mooring.model.config import Addresses, Config, Gateway
from mooring.model.errors import StartRefused
from mooring.wire.http import NotSent, Request, Response
from tests.silent import SILENT
from tests.simulation.loop import run_virtually
from tests.simulation.world import BEGIN, MEMBER

LB = Addresses("lb")


class Way:
    """To Neutron, as an ordinary member; it answers after so many refusals."""

    def __init__(self, twin: NeutronTwin, *, refusals: int = 0) -> None:
        self._twin = twin
        self._refusals = refusals

    async def send(self, request: Request) -> Response:
        self._refusals -= 1
        if self._refusals >= 0:
            raise NotSent("connection refused")
        return self._twin.handle(request, MEMBER)


def make(twin: NeutronTwin, kind: str, **wanted: object) -> str:
    body = msgspec.json.encode({kind: wanted})
    response = twin.handle(Request("create", "POST", f"/v2.0/{kind}s", body=body), neutron.ADMIN)
    made: dict[str, dict[str, str]] = msgspec.json.decode(response.body)
    return made[kind]["id"]


def cloud() -> tuple[NeutronTwin, dict[str, str]]:
    """Two networks called `lb` would be one too many; there is one, and two called `twice`."""
    twin = NeutronTwin(neutron.counted_ids(), lambda: 0.0)
    us = {"project_id": MEMBER.project}
    ids = {name: make(twin, "network", name=name, **us) for name in ("lb", "other", "empty")}
    ids |= {f"twice{number}": make(twin, "network", name="twice", **us) for number in (1, 2)}
    ids["public"] = make(twin, "network", name="public", **{"router:external": True})
    for name, network, cidr in (
        ("lb4", "lb", "10.0.0.0/24"),
        ("o4", "other", "10.1.0.0/24"),
        ("o5", "other", "10.2.0.0/24"),
    ):
        ids[name] = make(twin, "subnet", name=name, network_id=ids[network], ip_version=4, cidr=cidr, **us)
    for name, network in (("gw1", "lb"), ("gw2", "lb"), ("stray", "other")):
        ids[name] = make(twin, "port", name=name, network_id=ids[network], **us)
    return twin, ids


def looked_for(
    addresses: Addresses = LB,
    *,
    refusals: int = 0,
    gateways: tuple[str, ...] = ("gw1", "gw2"),
    lenient: bool = False,
) -> Place:
    twin, _ = cloud()
    listed = {f"g{number}": Gateway(f"192.0.2.{number}:9443", name) for number, name in enumerate(gateways, 1)}
    config = Config(addresses=addresses, gateways=listed)

    async def scene() -> Place:
        kube = KubeTwin(lambda: BEGIN)
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})
        kube.handle(Request("create namespaces", "POST", "/api/v1/namespaces", body=body))
        way = Cloud(Way(twin, refusals=refusals))
        return await finding.place_patiently(config, Api(kube.transport()), way, SILENT, lenient=lenient)

    return run_virtually(scene())


def test_who_starts_goes_on_with_the_gateways_that_are_there() -> None:
    _, ids = cloud()
    assert looked_for(gateways=("gw1", "gone"), lenient=True).gateways == (ids["gw1"], "gone")
    for gateways, lenient in ((("gw1", "gone"), False), (("gone",), True)):
        with pytest.raises(StartRefused, match="there is no port with the id or name 'gone'"):
            looked_for(gateways=gateways, lenient=lenient)


def test_everything_is_found_by_its_name() -> None:
    _, ids = cloud()
    found = looked_for(Addresses("lb", "lb4", "public"))
    assert re.fullmatch(r"[0-9a-f-]{36}", found.cluster)
    assert (found.network, found.subnet, found.floating_network) == (ids["lb"], ids["lb4"], ids["public"])
    assert found.gateways == (ids["gw1"], ids["gw2"])


def test_ids_do_as_well_and_the_only_subnet_needs_no_name() -> None:
    _, ids = cloud()
    found = looked_for(Addresses(ids["lb"]), gateways=(ids["gw1"],))
    assert (found.subnet, found.floating_network, found.gateways) == (ids["lb4"], None, (ids["gw1"],))


def test_who_does_not_answer_is_asked_again() -> None:
    assert looked_for(refusals=3) == looked_for()


def test_nobody_is_asked_for_addresses_that_are_listed() -> None:
    listed = Addresses(static=("192.0.2.10-192.0.2.12", "2001:db8::/126"), wishes_allowed=("192.0.2.12",))
    found = looked_for(listed, refusals=1000)
    assert [str(each) for each in found.static] == ["192.0.2.10-192.0.2.12", "2001:db8::1-2001:db8::3"]
    assert found.families == {"IPv4", "IPv6"}
    assert (found.network, found.subnets, found.floating_network) == ("", {}, None)
    config = Config(addresses=listed, gateways={"g1": Gateway("192.0.2.1:9443"), "g2": Gateway("192.0.2.2:9443")})
    assert finding.gateways(config, found) == {
        "g1": Member("192.0.2.1:9443", PortId("192.0.2.1:9443")),
        "g2": Member("192.0.2.2:9443", PortId("192.0.2.2:9443")),
    }


def test_a_list_may_change_and_not_where_addresses_come_from() -> None:
    one, other, none = (Config(addresses=Addresses(static=each)) for each in (("192.0.2.1",), ("192.0.2.2",), ()))
    place = looked_for(one.addresses)
    finding.refuse_another_source(place, other)
    finding.refuse_another_source(looked_for(), none)
    for before, after in ((place, none), (looked_for(), one)):
        with pytest.raises(StartRefused, match=r"addresses\.static: from OpenStack to a list, or back"):
            finding.refuse_another_source(before, after)


def test_what_services_may_choose_is_known_by_name_and_by_id() -> None:
    _, ids = cloud()
    found = looked_for(Addresses("lb", None, "public", subnets_allowed=("lb4",), floating_networks_allowed=("other",)))
    assert found.choices.subnets == {"lb4": ("IPv4", ids["lb4"]), ids["lb4"]: ("IPv4", ids["lb4"])}
    assert {*found.choices.floating_networks.items()} == {
        *((name, ids[name]) for name in ("public", "other")),
        *((ids[name], ids[name]) for name in ("public", "other")),
    }


@pytest.mark.parametrize(
    ("wanted", "gateways", "told"),
    [
        (Addresses("nowhere"), ("gw1",), "addresses.network: there is no network with the id or name 'nowhere'"),
        (Addresses("twice"), ("gw1",), "addresses.network: 2 networks are called 'twice'"),
        (Addresses("lb", None, "nowhere"), ("gw1",), "addresses.floating_network: there is no network"),
        (Addresses("lb", "nowhere"), ("gw1",), "addresses.subnet: there is no subnet"),
        (Addresses("lb", subnets_allowed=("o4",)), ("gw1",), "addresses.subnets_allowed: o4 is not a subnet of"),
        (
            Addresses("lb", floating_networks_allowed=("nowhere",)),
            ("gw1",),
            "addresses.floating_networks_allowed: there is no network",
        ),
        (Addresses("lb", "o4"), ("gw1",), "addresses.subnet: o4 is not a subnet of addresses.network"),
        (Addresses("other"), ("stray",), "addresses.network has 2 subnets of IPv4"),
        (Addresses("empty"), (), "addresses.network has 0 subnets of IPv4"),
        (Addresses("lb"), ("gw3",), "gateways.g1.port: there is no port with the id or name 'gw3'"),
        (Addresses("lb"), ("gw1", "stray"), "gateways.g2.port: port .* is in network .*, and addresses.network is"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(wanted: Addresses, gateways: tuple[str, ...], told: str) -> None:
    with pytest.raises(StartRefused, match=told):
        looked_for(wanted, gateways=gateways)
