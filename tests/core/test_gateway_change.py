"""The way from what is in force to a document, carried out by a kernel in memory."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import gateway_change, gateway_document, ruleset
from mooring.core.gateway_change import Flow, Present, SetAddresses, SetRules, Step
from mooring.model.gateway import Backend, Document, Forward
from tests.simulation.gateway import elements
from tests.simulation.host import Kernel

BACKENDS = tuple(Backend(f"10.1.0.{number}", 8080) for number in range(1, 4))
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS[:2])
MORE = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS)
DNS = Forward("10.0.0.5", "UDP", 53, "shop/dns", BACKENDS[:2])
ELSEWHERE = Forward("10.0.0.6", "TCP", 80, "shop/else", BACKENDS[:1])
SIX = Forward("fd00::5", "TCP", 443, "shop/six", (Backend("fd00:1::7", 8443),))
CROWD = Forward("10.0.0.5", "TCP", 80, "shop/web", tuple(Backend("10.1.0.1", 1 + port) for port in range(65)))


def document(*forwards: Forward, seed: int = 7) -> Document:
    return gateway_document.document(forwards, epoch=1, generation=1, seed=seed)


def in_force(*forwards: Forward) -> Present:
    return after(Present(), document(*forwards))


def after(present: Present, wanted: Document) -> Present:
    steps = gateway_change.steps(present, wanted)
    return steps[-1].after if steps else present


def kinds(steps: tuple[Step, ...]) -> list[str]:
    names = []
    for step in steps:
        match step:
            case SetRules(_, whole):
                names.append("load" if whole else "change")
            case SetAddresses():
                names.append("addresses")
    return names


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((WEB,), (WEB,), []),
        ((WEB,), (MORE,), ["change"]),
        ((WEB, DNS), (WEB,), ["change"]),
        ((WEB,), (WEB, ELSEWHERE), ["change", "addresses"]),
        ((WEB, ELSEWHERE), (WEB,), ["addresses", "change"]),
        ((WEB,), (ELSEWHERE,), ["change", "addresses", "change"]),
        ((WEB,), (CROWD,), ["load"]),
        ((WEB,), (CROWD, SIX), ["load", "addresses"]),
    ],
)
def test_each_kind_of_change(old: tuple[Forward, ...], new: tuple[Forward, ...], expected: list[str]) -> None:
    assert kinds(gateway_change.steps(in_force(*old), document(*new))) == expected


def test_where_nothing_is_known_everything_is_loaded() -> None:
    assert kinds(gateway_change.steps(Present(), document(WEB))) == ["load", "addresses"]


def test_another_seed_loads_everything() -> None:
    assert kinds(gateway_change.steps(in_force(WEB), document(WEB, seed=8))) == ["load"]


def test_rules_that_nobody_is_sure_of_are_loaded_with_the_old_ones_until_their_address_is_gone() -> None:
    unsure = msgspec.structs.replace(in_force(WEB, ELSEWHERE), known=False)
    assert kinds(gateway_change.steps(unsure, document(WEB, ELSEWHERE))) == ["load"]
    first, *_ = gateway_change.steps(unsure, document(WEB))
    assert isinstance(first, SetRules)
    assert "10.0.0.6 . tcp . 80 : goto n1" in first.text


def test_rules_for_fewer_backends_have_room_for_them() -> None:
    assert kinds(gateway_change.steps(in_force(CROWD), document(WEB))) == ["change"]


def test_addresses_that_were_not_obeyed_are_told_again() -> None:
    unsure = msgspec.structs.replace(in_force(WEB), settled=False)
    assert kinds(gateway_change.steps(unsure, document(WEB))) == ["addresses"]


def test_of_two_rules_for_the_same_the_new_one_stands_at_once() -> None:
    first, *_ = gateway_change.steps(in_force(WEB), document(MORE, ELSEWHERE))
    assert isinstance(first, SetRules)
    assert "10.0.0.5 . tcp . 80 : goto n3" in first.text


def test_an_address_that_may_be_held_serves_nothing_until_it_is_gone() -> None:
    first, move, last = gateway_change.steps(Present(addresses=frozenset({"10.0.0.9"})), document(WEB))
    assert isinstance(first, SetRules)
    assert "vips { 10.0.0.5, 10.0.0.9 }" in first.text
    assert isinstance(move, SetAddresses)
    assert move.addresses == {"10.0.0.5"}
    assert isinstance(last, SetRules)
    assert last.text == "delete element ip mooring vips { 10.0.0.9 }\n"


def test_a_name_is_no_reason_to_do_anything() -> None:
    renamed = msgspec.structs.replace(WEB, service="shop/renamed")
    assert gateway_change.steps(in_force(WEB), document(renamed)) == ()


@pytest.mark.parametrize(
    ("new", "ended"),
    [
        (DNS, ()),
        (msgspec.structs.replace(DNS, backends=BACKENDS), ()),
        (msgspec.structs.replace(DNS, backends=BACKENDS[:1]), (BACKENDS[1],)),
        (WEB, BACKENDS[:2]),
    ],
)
def test_flows_to_backends_that_are_gone(new: Forward, ended: tuple[Backend, ...]) -> None:
    found = gateway_change.ended_flows(in_force(DNS), document(new))
    assert found == tuple(Flow("10.0.0.5", "UDP", 53, backend) for backend in ended)


def test_connections_are_left_to_end_by_themselves() -> None:
    assert gateway_change.ended_flows(in_force(MORE), document(WEB)) == ()


ADDRESSES = ("10.0.0.5", "10.0.0.6", "fd00::5", "fd00::6")
KEYS = st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(("TCP", "UDP")), st.integers(1, 2))
SLOTS = st.lists(st.integers(1, 4), max_size=4)


def _forwards(found: dict[tuple[str, str, int], list[int]]) -> tuple[Forward, ...]:
    return tuple(
        Forward(address, protocol, port, "s", tuple(Backend(_backend(address, each), 80) for each in slots))
        for (address, protocol, port), slots in found.items()
    )


def _backend(address: str, number: int) -> str:
    return f"fd00:1::{number}" if ":" in address else f"10.1.0.{number}"


FORWARDS = st.dictionaries(KEYS, SLOTS, max_size=6).map(_forwards)
DOCUMENTS = st.builds(lambda forwards, seed: document(*forwards, seed=seed), FORWARDS, st.integers(1, 2))


@given(st.lists(DOCUMENTS, min_size=1, max_size=4), st.frozensets(st.sampled_from(ADDRESSES)))
def test_every_way_leads_to_exactly_the_new_document(ways: list[Document], may_hold: frozenset[str]) -> None:
    kernel = Kernel(lambda _: None)
    present = Present(addresses=may_hold)
    held = may_hold
    for wanted in ways:
        for step in gateway_change.steps(present, wanted):
            match step:
                case SetRules(text):
                    kernel.run(text)
                case SetAddresses(addresses):
                    assert addresses | held <= kernel.vips, "an address would be there without rules"
                    held = addresses
            present = step.after
            assert held <= kernel.vips
        assert {family: kernel.elements(family) for family in ("ip", "ip6")} == elements(wanted)
        assert held == {each.address for each in wanted.forwards}
        assert gateway_change.steps(present, wanted) == ()


@given(DOCUMENTS, DOCUMENTS)
def test_whatever_both_serve_is_served_wholly_by_old_or_new_in_between(old: Document, new: Document) -> None:
    kernel = Kernel(lambda _: None)
    for step in gateway_change.steps(Present(), old):
        if isinstance(step, SetRules):
            kernel.run(step.text)
    for step in gateway_change.steps(after(Present(), old), new):
        if isinstance(step, SetRules):
            kernel.run(step.text)
        for forward in (*old.forwards, *new.forwards):
            if _both_serve(forward, old, new):
                assert _rule(kernel, forward) in (_rule_in(old, forward), _rule_in(new, forward))


def _both_serve(forward: Forward, old: Document, new: Document) -> bool:
    key = (forward.address, forward.protocol, forward.port)
    return key in ruleset.by_key(old.forwards) and key in ruleset.by_key(new.forwards)


def _rule_in(wanted: Document, forward: Forward) -> tuple[str | None, ...]:
    kernel = Kernel(lambda _: None)
    kernel.run(ruleset.load(wanted.forwards, seed=1, chains=64))
    return _rule(kernel, forward)


def _rule(kernel: Kernel, forward: Forward) -> tuple[str | None, ...]:
    """What the kernel does for one address, protocol and port: the chain, and the backend of each slot."""
    maps = kernel.elements("ip6" if ":" in forward.address else "ip")
    key = f"{forward.address} . {forward.protocol.lower()} . {forward.port}"
    chain = maps["services"].get(key)
    slots = int(chain.removeprefix("goto n")) if chain else 0
    return (chain, *(maps["be"].get(f"{key} . {slot}") for slot in range(slots)))


@given(DOCUMENTS, DOCUMENTS)
def test_the_same_gives_the_same_bytes(old: Document, new: Document) -> None:
    again = msgspec.json.decode(msgspec.json.encode(new), type=Document)
    assert gateway_change.steps(after(Present(), old), new) == gateway_change.steps(after(Present(), old), again)
