"""In which order a gateway gets from what is in force to what it was told."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import gateway_change, gateway_document
from mooring.core.gateway_change import Change, Flow, SetAddresses, SetRules, Step, Wanted, shut_off
from mooring.model.gateway import Backend, Forward

BACKENDS = tuple(Backend(f"10.1.0.{number}", 8080) for number in range(1, 4))
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS[:2])
MORE = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS)
DNS = Forward("10.0.0.5", "UDP", 53, "shop/dns", BACKENDS[:2])
ELSEWHERE = Forward("10.0.0.6", "TCP", 80, "shop/else", BACKENDS[:1])
HERE, THERE, BOTH = frozenset({"10.0.0.5"}), frozenset({"10.0.0.6"}), frozenset({"10.0.0.5", "10.0.0.6"})
GONE = {ELSEWHERE.place: None}
COME = {ELSEWHERE.place: ELSEWHERE}


@pytest.mark.parametrize(
    ("change", "fits", "settled", "expected"),
    [
        (Change({}, HERE, HERE), True, True, ()),
        (Change({}, HERE, HERE), False, True, (SetRules({}),)),
        (Change({}, HERE, HERE), True, False, (SetAddresses(HERE),)),
        (Change({}, HERE, HERE), False, False, (SetRules({}), SetAddresses(HERE))),
        (Change({MORE.place: MORE}, HERE, HERE), True, True, (SetRules({MORE.place: MORE}),)),
        (Change(COME, HERE, BOTH), True, True, (SetRules(COME), SetAddresses(BOTH))),
        (Change(GONE, BOTH, HERE), True, True, (SetAddresses(HERE), SetRules(GONE))),
        (
            Change({**COME, WEB.place: None}, HERE, THERE),
            True,
            True,
            (SetRules(COME), SetAddresses(THERE), SetRules({WEB.place: None})),
        ),
        (
            Change({WEB.place: WEB}, THERE, HERE, THERE),
            False,
            False,
            (
                SetRules({WEB.place: WEB, ("10.0.0.6", "TCP", 0): shut_off("10.0.0.6")}),
                SetAddresses(HERE),
                SetRules({("10.0.0.6", "TCP", 0): None}),
            ),
        ),
    ],
)
def test_each_kind_of_change(change: Change, fits: bool, settled: bool, expected: tuple[Step, ...]) -> None:  # noqa: FBT001 - a table
    assert gateway_change.steps(change, fits=fits, settled=settled) == expected


@pytest.mark.parametrize(
    ("wanted", "ended"),
    [
        ({DNS.place: DNS}, ()),
        ({DNS.place: msgspec.structs.replace(DNS, backends=BACKENDS)}, ()),
        ({DNS.place: msgspec.structs.replace(DNS, backends=BACKENDS[:1])}, (BACKENDS[1],)),
        ({DNS.place: None}, BACKENDS[:2]),
    ],
)
def test_flows_to_backends_that_are_gone(wanted: Wanted, ended: tuple[Backend, ...]) -> None:
    found = gateway_change.ended_flows([DNS], wanted, frozenset({"UDP"}))
    assert found == tuple(Flow("10.0.0.5", "UDP", 53, backend) for backend in ended)


def test_connections_are_left_to_end_by_themselves_unless_they_are_to_be_ended() -> None:
    assert gateway_change.ended_flows([MORE], {WEB.place: WEB}, frozenset({"UDP"})) == ()
    ended = gateway_change.ended_flows([MORE], {WEB.place: WEB}, frozenset({"UDP", "TCP"}))
    assert ended == (Flow("10.0.0.5", "TCP", 80, BACKENDS[2]),)


ADDRESSES = ("10.0.0.5", "10.0.0.6", "10.0.0.7")
FORWARDS = st.dictionaries(
    st.tuples(st.sampled_from(ADDRESSES), st.just("TCP"), st.integers(1, 2)), st.integers(1, 3), max_size=4
).map(lambda found: [Forward(*place, "s", BACKENDS[:number]) for place, number in found.items()])


@given(st.lists(FORWARDS, min_size=1, max_size=4), st.frozensets(st.sampled_from(ADDRESSES)))
def test_no_address_is_there_without_rules_and_what_both_serve_is_served_throughout(
    ways: list[list[Forward]], may_hold: frozenset[str]
) -> None:
    rules: dict[tuple[str, str, int], Forward] = {}
    held, settled = may_hold, False
    for forwards in ways:
        new = gateway_document.by_place(forwards)
        before = dict(rules)
        wanted: Wanted = {place: new.get(place) for place in (*rules, *new)}
        addresses = frozenset(each.address for each in forwards)
        bare = held - addresses - {each.address for each in rules.values()}
        for step in gateway_change.steps(Change(wanted, held, addresses, bare), fits=settled, settled=settled):
            match step:
                case SetRules(some):
                    rules |= {place: each for place, each in some.items() if each is not None}
                    rules = {place: each for place, each in rules.items() if some.get(place, each) is not None}
                case SetAddresses(addresses):
                    assert addresses | held <= {each.address for each in rules.values()}
                    held = addresses
            for place in before.keys() & new.keys():
                assert rules[place] in (before[place], new[place])
        assert (rules, held) == (new, addresses)
        settled = True
