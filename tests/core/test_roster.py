"""Which gateways count, who may be let go, and what is written down about them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import roster
from mooring.core.roster import DISPUTED, GRACE, Conduct, Member
from mooring.model.cloud import PortId
from mooring.model.gateway import Vrrp

NOW = 100.0
LONG_AGO = NOW - GRACE
JUST_NOW = NOW - GRACE + 0.1
MASTER, BACKUP = Vrrp.MASTER, Vrrp.BACKUP


@pytest.mark.parametrize(
    ("conduct", "live", "counts"),
    [
        (Conduct(), True, True),
        (Conduct(BACKUP), True, True),
        (Conduct(BACKUP, failing_since=JUST_NOW), True, True),
        (Conduct(BACKUP, failing_since=LONG_AGO), False, False),
        (Conduct(MASTER, failing_since=LONG_AGO), False, False),
        (Conduct(BACKUP, refusing_since=JUST_NOW), True, True),
        (Conduct(BACKUP, refusing_since=LONG_AGO), True, False),
        (Conduct(MASTER, refusing_since=LONG_AGO), True, True),
        (Conduct(MASTER, failing_since=LONG_AGO, refusing_since=LONG_AGO), False, False),
        (Conduct(BACKUP, leaves=True), True, False),
        (Conduct(MASTER, leaves=True), True, True),
        (Conduct(MASTER, failing_since=LONG_AGO, leaves=True), False, False),
    ],
)
def test_who_is_live_and_who_counts(conduct: Conduct, live: bool, counts: bool) -> None:  # noqa: FBT001 - a table
    assert roster.live(conduct, now=NOW) is live
    assert roster.counts(conduct, now=NOW) is counts


@pytest.mark.parametrize(
    ("leaving", "others", "let_go"),
    [
        (Conduct(BACKUP, drained=True), [], False),
        (Conduct(BACKUP, drained=True), [Conduct(BACKUP)], False),
        (Conduct(BACKUP, drained=True), [Conduct(MASTER)], True),
        (Conduct(BACKUP), [Conduct(MASTER)], False),
        (Conduct(BACKUP, drained=True), [Conduct(MASTER, failing_since=LONG_AGO)], False),
        (Conduct(BACKUP, drained=True), [Conduct(MASTER, leaves=True)], False),
        (Conduct(BACKUP, failing_since=LONG_AGO), [Conduct(MASTER)], True),
        (Conduct(MASTER, drained=True), [Conduct(MASTER)], False),
        (Conduct(Vrrp.UNKNOWN), [Conduct(MASTER)], False),
        (Conduct(Vrrp.STOPPED), [Conduct(MASTER)], True),
        (Conduct(Vrrp.FAULT), [Conduct(MASTER)], True),
        (Conduct(MASTER, failing_since=JUST_NOW), [Conduct(MASTER)], False),
        (Conduct(MASTER, failing_since=LONG_AGO), [Conduct(MASTER)], True),
        (Conduct(MASTER, failing_since=LONG_AGO), [Conduct(BACKUP)], False),
    ],
)
def test_who_is_let_go(leaving: Conduct, others: list[Conduct], let_go: bool) -> None:  # noqa: FBT001 - a table
    assert roster.let_go(leaving, others, now=NOW) is let_go


def member(agent: str, port: str) -> Member:
    return Member(agent, PortId(port))


WANTED = {"gw1": member("a:1", "p1"), "gw2": member("b:1", "p2")}


@pytest.mark.parametrize(
    ("recorded", "leaving"),
    [
        ({}, {}),
        (WANTED, {}),
        ({"gw1": member("a:1", "p1"), "gw3": member("c:1", "p3")}, {"gw3": member("c:1", "p3")}),
        ({"old": member("a:1", "p1")}, {}),
        ({"gw2": member("elsewhere:1", "p2")}, {}),
        ({"gw2": member("b:1", "p9")}, {"gw2 (p9)": member("", "p9")}),
        ({"gw2": member("c:1", "p9")}, {"gw2 (p9)": member("c:1", "p9")}),
    ],
    ids=["first", "same", "removed", "renamed", "agent moved", "port replaced", "host replaced"],
)
def test_who_leaves(recorded: dict[str, Member], leaving: dict[str, Member]) -> None:
    assert roster.leaving(recorded, WANTED) == leaving


def test_who_may_not_use_an_address_that_is_served() -> None:
    served = frozenset({"10.0.0.5", "10.0.0.6"})
    both = frozenset({"10.0.0.5", "10.0.0.6", "10.0.0.9"})
    one = frozenset({"10.0.0.5"})
    assert roster.lacking(WANTED, {PortId("p1"): both, PortId("p2"): one}, served) == {"gw2"}
    assert roster.lacking(WANTED, {PortId("p1"): both}, served) == {"gw2"}, "its port is gone"
    assert roster.lacking(WANTED, {}, served) == frozenset(), "nobody has looked yet"
    assert roster.lacking(WANTED, {PortId("p1"): one, PortId("p2"): one}, frozenset()) == frozenset()


@pytest.mark.parametrize(
    ("drained", "expected"),
    [({"gw1"}, {"gw1"}), ({"old"}, {"gw2"}), ({"old", "gw1"}, {"gw1", "gw2"}), ({"left"}, {"left"}), (set(), set())],
)
def test_who_is_drained_stays_so_by_another_name(drained: set[str], expected: set[str]) -> None:
    left = Member("10.0.0.9:9443", PortId("p9"))
    recorded = {"gw1": WANTED["gw1"], "old": WANTED["gw2"], "left": left}
    assert roster.renamed(drained, recorded, WANTED) == expected


@pytest.mark.parametrize(("drained", "expected"), [("gw1", "gw2"), ("gw2", "gw1")])
def test_who_is_drained_stays_so_when_names_are_swapped(drained: str, expected: str) -> None:
    swapped = {"gw1": WANTED["gw2"], "gw2": WANTED["gw1"]}
    assert roster.renamed({drained}, swapped, WANTED) == {expected}


PLACES = st.frozensets(st.tuples(st.sampled_from(("10.0.0.5", "10.0.0.6")), st.just("TCP"), st.integers(1, 3)))
HELD = st.lists(st.dictionaries(st.sampled_from("abcd"), PLACES), min_size=1, max_size=3)


@given(HELD)
def test_what_gateways_agree_on_is_what_each_of_them_serves(held: list[roster.Acknowledged]) -> None:
    found = roster.agreed(held)
    for service in "abcd":
        each = {served.get(service, frozenset()) for served in held}
        assert found.get(service, frozenset()) == (next(iter(each)) if len(each) == 1 else DISPUTED)


NAMES = st.text("abcdefgh0123456789-", min_size=1, max_size=20)
MEMBERS = st.builds(member, st.text(max_size=20), st.text(max_size=20))


@given(st.dictionaries(NAMES, MEMBERS))
def test_a_roster_can_be_read_again(members: dict[str, Member]) -> None:
    assert roster.load(roster.dump(members)) == members


@given(st.frozensets(NAMES))
def test_names_can_be_read_again(names: frozenset[str]) -> None:
    assert roster.load_names(roster.dump_names(names)) == names


@pytest.mark.parametrize("text", ["", "gw1", "[]", '{"gw1": 7}', "\udcff"])
def test_what_others_wrote_says_nothing(text: str) -> None:
    assert roster.load(text) == {}


def test_names_as_people_write_them() -> None:
    assert roster.load_names(" gw1 ,gw2,, ") == {"gw1", "gw2"}
