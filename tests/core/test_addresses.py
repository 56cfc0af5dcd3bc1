"""When an address is usable, and how a gateway's list of addresses changes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import addresses
from mooring.core.addresses import Addresses, Origin, Place
from mooring.core.wishes import IPV4, IPV6, NO_FLOATING_IP, Wish
from mooring.model import names
from mooring.model.cloud import (
    AddressPair,
    FixedIp,
    FloatingIp,
    FloatingIpId,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    SecurityGroup,
    SecurityGroupId,
    SubnetId,
)

INSIDE, OUTSIDE, SUBNET, PROJECT = NetworkId("in"), NetworkId("out"), SubnetId("s"), ProjectId("p")
GATEWAYS = (PortId("g1"), PortId("g2"))
PLACE = Place("c", INSIDE, SUBNET, OUTSIDE, GATEWAYS)


def port(name: str, address: str = "", *, tags: tuple[str, ...] = (), since: str = "") -> Port:
    fixed = (FixedIp(SUBNET, address),) if address else ()
    return Port(
        id=PortId(name),
        network_id=INSIDE,
        project_id=PROJECT,
        revision_number=1,
        fixed_ips=fixed,
        tags=tags,
        created_at=since,
    )


def gateway(name: str, *allowed: str) -> Port:
    pairs = tuple(AddressPair(each) for each in allowed)
    return Port(id=PortId(name), network_id=INSIDE, project_id=PROJECT, revision_number=1, allowed_address_pairs=pairs)


def floating_ip(on: str | None, address: str = "203.0.113.5") -> FloatingIp:
    return FloatingIp(
        id=FloatingIpId(f"f-{on}"),
        project_id=PROJECT,
        revision_number=1,
        floating_network_id=OUTSIDE,
        floating_ip_address=address,
        port_id=PortId(on) if on else None,
    )


def known(*parts: Port | FloatingIp, outside: bool = True, gateways: tuple[Port, ...] = ()) -> Addresses:
    found = Addresses(Place("c", INSIDE, SUBNET, OUTSIDE if outside else None, GATEWAYS))
    ports = [each for each in parts if isinstance(each, Port)]
    found.replace(ports, [each for each in parts if isinstance(each, FloatingIp)], gateways)
    return found


BOTH = (gateway("g1", "10.0.0.5"), gateway("g2", "10.0.0.5"))
ONE = (gateway("g1", "10.0.0.5"), gateway("g2"))


@pytest.mark.parametrize(
    ("given", "usable", "begun"),
    [
        (known(), [], None),
        (known(port("a", "10.0.0.5"), floating_ip("a"), gateways=BOTH), ["a"], None),
        (known(port("a", "10.0.0.5"), gateways=BOTH), [], "a"),
        (known(port("a", "10.0.0.5"), floating_ip("a"), gateways=ONE), [], "a"),
        (known(port("a", "10.0.0.5"), gateways=BOTH, outside=False), ["a"], None),
        (known(port("a", "10.0.0.5"), gateways=ONE, outside=False), [], "a"),
        (known(port("a", "10.0.0.5", tags=(names.DELETING_TAG,)), floating_ip("a"), gateways=BOTH), [], None),
        (known(port("a"), outside=False), [], None),
        (known(floating_ip(None), gateways=BOTH), [], None),
    ],
)
def test_what_is_usable_and_what_was_only_begun(given: Addresses, usable: list[str], begun: str | None) -> None:
    assert given.usable() == usable
    assert given.begun(given.place.origin(Wish(IPV4))) == begun


INNER = msgspec.structs.replace(port("i", "10.0.0.5"), device_owner=names.INTERNAL_OWNER)


@pytest.mark.parametrize(
    ("given", "usable", "begun", "begun_inside"),
    [
        (known(INNER, gateways=BOTH), ["i"], None, None),
        (known(INNER, gateways=ONE), [], None, "i"),
        (known(port("a", "10.0.0.5"), gateways=BOTH), [], "a", None),
        (known(INNER, floating_ip("i"), gateways=BOTH), ["i"], None, None),
        (known(INNER, floating_ip("i"), gateways=ONE), [], None, "i"),
        (known(INNER, gateways=ONE, outside=False), [], "i", "i"),
        (known(port("a", "10.0.0.5"), gateways=ONE, outside=False), [], "a", "a"),
    ],
)
def test_a_port_that_is_to_have_no_floating_ip_is_complete_without(
    given: Addresses, usable: list[str], begun: str | None, begun_inside: str | None
) -> None:
    assert given.usable() == usable
    assert given.begun(given.place.origin(Wish(IPV4))) == begun
    assert given.begun(given.place.origin(Wish(IPV4, floating_network=NO_FLOATING_IP))) == begun_inside


def test_a_port_that_is_to_have_no_floating_ip_is_reached_at_its_own_address_whatever_people_put_on_it() -> None:
    for found in (known(INNER), known(INNER, floating_ip("i"))):
        assert found.public(INNER.id) == "10.0.0.5"
        assert found.origin(INNER.id) == Origin(IPV4, SUBNET)
    assert addresses.bare(PLACE, [INNER, port("a", "10.0.0.6")], []) == ("a",)


def test_whether_a_gateway_has_a_group_of_ours_is_not_known_before_somebody_has_looked() -> None:
    found = known(gateways=(msgspec.structs.replace(gateway("g1"), security_groups=(SecurityGroupId("s"),)),))
    assert found.guarded(PortId("g1"))
    assert not found.guarded(PortId("g2")), "it is not there"
    found.groups = {}
    assert not found.guarded(PortId("g1"))
    ours = SecurityGroup(id=SecurityGroupId("s"), project_id=PROJECT, revision_number=1)
    found.groups = {ours.id: ours}
    assert found.guarded(PortId("g1"))


def test_a_new_port_with_the_address_of_another_is_there_in_its_place() -> None:
    found = known(port("a", "10.0.0.5"), port("b", "10.0.0.6"), port("c"))
    found.put(port("d", "10.0.0.5"))
    found.put(port("b", "10.0.0.6", tags=("new",)))
    found.put(port("e"))
    assert sorted(found.ports) == ["b", "c", "d", "e"]


def test_a_floating_ip_that_moves_is_reached_where_it_went() -> None:
    first = floating_ip("a")
    at = known(port("a", "10.0.0.5"), port("b", "10.0.0.6"), first)
    assert (at.public(PortId("a")), at.reached_at("203.0.113.5")) == ("203.0.113.5", "a")
    at.put(msgspec.structs.replace(first, port_id=PortId("b")))
    assert (at.public(PortId("a")), at.public(PortId("b"))) == (None, "203.0.113.5")
    assert at.reached_at("203.0.113.5") == "b"
    at.put(msgspec.structs.replace(first, port_id=None))
    assert at.reached_at("203.0.113.5") is None


def test_the_oldest_is_given_out_first() -> None:
    old, new = port("z", "10.0.0.5", since="2026-01-01"), port("a", "10.0.0.6", since="2026-01-02")
    assert known(new, old, outside=False).usable() == ["z", "a"]


def test_the_addresses_that_the_world_may_be_sent_to() -> None:
    parts = (port("a", "10.0.0.5"), floating_ip("a"), floating_ip(None, "203.0.113.6"))
    every = ("203.0.113.5", "203.0.113.6", "203.0.113.7", "10.0.0.5")
    assert list(map(known(*parts).is_public, every)) == [True, True, False, False]
    assert list(map(known(port("a", "10.0.0.5"), outside=False).is_public, every)) == [False, False, False, True]


def test_what_somebody_else_deleted_is_remembered_while_a_gateway_may_use_it() -> None:
    given = known(port("a", "10.0.0.5"), port("b", "10.0.0.6"), gateways=BOTH)
    given.replace([port("b", "10.0.0.6")], [], BOTH)
    assert given.former == {"10.0.0.5"}
    given.replace([port("c", "10.0.0.5")], [], BOTH)
    assert given.former == frozenset(), "it is ours again"
    given.replace([], [], BOTH)
    given.replace([], [], [gateway("g1"), gateway("g2")])
    assert given.former == frozenset()
    given.replace([], [], BOTH)
    assert given.former == frozenset(), "who entered it anew is somebody else"


@pytest.mark.parametrize(
    ("has", "add", "remove", "expected"),
    [
        ([], [], [], None),
        ([], ["10.0.0.5"], [], ["10.0.0.5"]),
        (["10.0.0.5"], ["10.0.0.5"], [], None),
        (["192.0.2.0/24"], ["10.0.0.6", "10.0.0.5"], [], ["192.0.2.0/24", "10.0.0.5", "10.0.0.6"]),
        (["10.0.0.5", "192.0.2.0/24"], [], ["10.0.0.5"], ["192.0.2.0/24"]),
        (["192.0.2.0/24"], [], ["10.0.0.5"], None),
    ],
)
def test_a_gateways_list(has: list[str], add: list[str], remove: list[str], expected: list[str] | None) -> None:
    pairs = tuple(AddressPair(each, "fa:16:3e:00:00:01") for each in has)
    found = addresses.paired(pairs, add=frozenset(add), remove=frozenset(remove))
    assert (None if found is None else [each.ip_address for each in found]) == expected


ADDRESS = st.integers(1, 20).map(lambda number: f"10.0.0.{number}")


@given(st.lists(ADDRESS, unique=True), st.frozensets(ADDRESS), st.frozensets(ADDRESS))
def test_others_entries_stay_as_they_are_and_a_second_change_is_none(
    has: list[str], add: frozenset[str], remove: frozenset[str]
) -> None:
    remove -= add
    pairs = tuple(AddressPair(each, "fa:16:3e:00:00:01") for each in has)
    found = addresses.paired(pairs, add=add, remove=remove)
    changed = pairs if found is None else found
    assert [each for each in changed if each in pairs] == [each for each in pairs if each.ip_address not in remove]
    assert {each.ip_address for each in changed} == {*has, *add} - remove
    assert addresses.paired(changed, add=add, remove=remove) is None


def test_a_family_has_begun_ports_of_its_own() -> None:
    given = known(port("a", "10.0.0.5"), port("six", "fd00::5"), gateways=ONE)
    four, six = Origin(IPV4, SUBNET, OUTSIDE), Origin(IPV6, SUBNET)
    assert (given.begun(four), given.begun(six)) == ("a", "six")
    assert given.begun(Origin(IPV4, SubnetId("another"), OUTSIDE)) is None
    assert given.public(PortId("six")) == "fd00::5", "IPv6 has no floating IPs"
    assert given.begun(six, "fd00::5") == "six"
    assert given.begun(six, "fd00::6") is None
    assert given.begun(four, "203.0.113.77") == "a", "which floating IP it gets is open"


def test_what_others_have_and_lost_is_not_completed_for_anybody_else() -> None:
    mine = frozenset({PortId("a"), PortId("b")})
    given = known(port("a", "10.0.0.5"), port("b", "10.0.0.6"), floating_ip("b"), gateways=ONE)
    four = Origin(IPV4, SUBNET, OUTSIDE)
    assert given.begun(four) == "a"
    assert given.begun(four, taken=mine) == "b", "a gateway more may use it, which is of use to all"


def test_where_an_address_comes_from() -> None:
    given = known(port("a", "10.0.0.5"), port("b", "10.0.0.6"), floating_ip("a"), gateways=BOTH, outside=False)
    assert given.origin(PortId("a")) == Origin(IPV4, SUBNET, OUTSIDE)
    assert given.origin(PortId("b")) == given.place.origin(Wish(IPV4)) == Origin(IPV4, SUBNET)
    assert given.place.origin(Wish(IPV4, floating_network=OUTSIDE)) == Origin(IPV4, SUBNET, OUTSIDE)
    assert given.public(PortId("a")) == "203.0.113.5", "who has a floating IP is reached there"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"description": ""}, None),
        ({"description": "of the mail team"}, "description"),
        ({"port_id": PortId("x")}, "in use on port x"),
        ({"project_id": ProjectId("theirs")}, "another project"),
        ({"floating_network_id": NetworkId("elsewhere")}, "network"),
        ({"tags": (names.KEEP_TAG, "mooring-namespace:shop")}, None),
        ({"tags": (names.KEEP_TAG, "mooring-namespace:other")}, "kept for a Service of another namespace"),
    ],
)
def test_a_floating_ip_that_somebody_asks_for(changes: dict[str, object], told: str | None) -> None:
    found = msgspec.structs.replace(floating_ip(None), **({"description": PLACE.mark} | changes))
    problem = addresses.not_to_be_had(found, PLACE.origin(Wish(IPV4)), PLACE, frozenset({PROJECT}), "shop")
    assert (problem is None) == (told is None)
    assert (told or "") in (problem or "")
