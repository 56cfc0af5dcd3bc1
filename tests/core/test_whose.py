"""What can be asked for, and who is found at it in worlds with a controller."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import reporting, whose
from mooring.core.surveyed import Survey
from mooring.core.whose import Asked
from mooring.model.reports import WhoReport
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import look_around, scene

ID = "0000000a-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("203.0.113.7", Asked("203.0.113.7")),
        (" 203.0.113.7 ", Asked("203.0.113.7")),
        ("203.0.113.7:80", Asked("203.0.113.7", 80)),
        ("2001:DB8::7", Asked("2001:db8::7")),
        ("2001:db8::0:7", Asked("2001:db8::7")),
        ("[2001:db8::7]", Asked("2001:db8::7")),
        ("[2001:db8::7]:443", Asked("2001:db8::7", 443)),
        (ID, Asked(ID)),
        (ID.replace("-", ""), Asked(ID.replace("-", ""))),
        ("203.0.113.7:0", None),
        ("203.0.113.7:65536", None),
        ("203.0.113.7:http", None),
        ("203.0.113.7:²", None),
        ("203.0.113.700", None),
        ("1:2:3:4:5:6:7:8:80", None),
        ("web", None),
        ("", None),
        (":80", None),
        ("shop/web", None),
    ],
)
def test_what_can_be_asked_for(text: str, asked: Asked | None) -> None:
    assert whose.read(text) == asked


@given(st.ip_addresses(), st.none() | st.integers(1, 65535))
def test_what_is_asked_for_is_told_in_words_that_ask_for_it(address: object, port: int | None) -> None:
    asked = Asked(str(address), port)
    assert whose.read(str(asked)) == asked


async def _world(world: World) -> Survey:
    user = User(world)
    user.node("n1")
    user.expose("web", "80/TCP", "443/TCP")
    user.pods("web", "10.244.1.5")
    user.expose("dns", "53/UDP")
    user.expose("theirs", "80/TCP", ours=False)
    user.set_status("theirs", "198.51.100.9")
    await user.wait(15.0)
    return await look_around(world)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return scene(_world)


def who(survey: Survey, text: str) -> WhoReport:
    asked = whose.read(text)
    assert asked is not None
    return whose.who(survey, asked)


def test_every_way_to_ask_for_an_address_of_ours_finds_it(survey: Survey) -> None:
    [address] = reporting.status(survey).addresses
    assert survey.sights.owned is not None
    [floating_ip] = survey.sights.owned.floating_ips
    for text in (address.public, address.inner, address.port, floating_ip.id):
        found = who(survey, text)
        assert found.ours
        assert (found.address, found.floating_ip) == (address, floating_ip.id)
        assert [(each.service, each.ports, each.state) for each in found.services] == [
            ("shop/dns", ("53/UDP",), "refusing"),
            ("shop/web", ("80/TCP", "443/TCP"), "served"),
        ]
        assert (found.allowed, found.holders) == (("g1", "g2"), ("g1",))
        assert not found.well  # nobody answers for dns
        assert found.others == ()


@pytest.mark.parametrize(
    ("port", "services", "well"),
    [(443, [("shop/web", ("443/TCP",))], True), (53, [("shop/dns", ("53/UDP",))], False), (22, [], False)],
)
def test_a_port_of_it(survey: Survey, port: int, services: list[object], well: bool) -> None:  # noqa: FBT001 - a column
    [address] = reporting.status(survey).addresses
    found = who(survey, f"{address.public}:{port}")
    assert [(each.service, each.ports) for each in found.services] == services
    assert (found.ours, found.well) == (True, well)


def test_a_gateway_that_may_not_use_it(survey: Survey) -> None:
    owned = survey.sights.owned
    assert owned is not None
    first, second = owned.gateways
    bare = msgspec.structs.replace(owned, gateways=(first, msgspec.structs.replace(second, allowed_address_pairs=())))
    found = Survey(msgspec.structs.replace(survey.sights, owned=bare))
    [address] = reporting.status(survey).addresses
    assert who(found, address.public).allowed == ("g1",)


def test_who_does_not_see_all_gateways_does_not_say_that_all_is_well(survey: Survey) -> None:
    [address] = reporting.status(survey).addresses
    first, second = survey.sights.agents
    silent = msgspec.structs.replace(second, state=None, failure="no way")
    found = who(Survey(msgspec.structs.replace(survey.sights, agents=(first, silent))), f"{address.public}:443")
    assert [each.state for each in found.services] == ["served"]
    assert (found.well, [each.what for each in found.missing]) == (False, ["gateway g2"])


def test_what_is_not_ours(survey: Survey) -> None:
    owned = survey.sights.owned
    assert owned is not None
    assert owned.around is not None
    gateway = owned.gateways[0]
    another = next(each for each in owned.around.ports if each.description == "mooring cluster another")
    theirs = next(each for each in owned.around.floating_ips if each.port_id == another.id)
    told = {
        gateway.fixed_ips[0].ip_address: f"Port {gateway.id} has it: gateway g1",
        another.id: "it is of the Mooring of cluster another",
        another.fixed_ips[0].ip_address: "it is of the Mooring of cluster another",
        theirs.floating_ip_address: f"It is floating IP {theirs.id} of project",
        "198.51.100.9": "Service shop/theirs shows it, and is not served by Mooring",
        "10.244.1.5": "It is an endpoint of EndpointSlice shop/web-0",
        "172.30.0.1": "Node n1 has it",
        "192.0.2.77": "Gateway g1 may use it, by an entry that is not Mooring's",
        survey.services[min(survey.services)].spec.cluster_ip: "It is the cluster IP of Service",
    }
    for text, expected in told.items():
        found = who(survey, text)
        assert not found.ours
        assert expected in " ".join(found.others), (text, found.others)


def test_what_nobody_knows(survey: Survey) -> None:
    found = who(survey, "198.51.100.200")
    assert (found.ours, found.well, found.others, found.missing) == (False, False, (), ())
