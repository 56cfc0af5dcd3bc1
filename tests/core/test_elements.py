"""What Services are in the kernel, and that a change leads where everything anew does."""

import struct
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import elements, gateway_document
from mooring.core.elements import InForce
from mooring.core.gateway_change import Wanted, shut_off
from mooring.core.ruleset import SLOTS, Mode
from mooring.model.gateway import Backend, Forward, Place
from mooring.model.rules import Element, Transaction

BACKENDS = tuple(Backend(f"10.1.0.{number}", 8080) for number in range(1, 9))
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS[:2])
MORE = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS[:3])
DNS = Forward("10.0.0.5", "UDP", 53, "shop/dns", (Backend("10.1.0.9", 5353),))
SIX = Forward("fd00::5", "TCP", 443, "shop/six", (Backend("fd00:1::7", 8443),))
NOBODY = Forward("10.0.0.6", "TCP", 25, "shop/mail")
KEY = bytes((10, 0, 0, 5)) + b"\x06\0\0\0" + b"\0\x50\0\0"


USUAL = Mode()


def in_force(*forwards: Forward, mode: Mode = USUAL) -> InForce:
    found = InForce(mode)
    found.follow(gateway_document.by_place(forwards))
    return found


def of(forwards: InForce, name: str) -> set[Element]:
    return {each for each in forwards.elements() if each.set == name}


def slot(number: int) -> bytes:
    return KEY + struct.pack("=I", number)


def test_a_service_becomes_elements() -> None:
    assert set(in_force(WEB).elements()) == {
        Element("ip", "services", KEY, "n2"),
        Element("ip", "counted", KEY),
        Element("ip", "be", slot(0), bytes((10, 1, 0, 1)) + b"\x1f\x90\0\0"),
        Element("ip", "be", slot(1), bytes((10, 1, 0, 2)) + b"\x1f\x90\0\0"),
        Element("ip", "backends", bytes((10, 1, 0, 1)) + b"\x06\0\0\0\x1f\x90\0\0"),
        Element("ip", "backends", bytes((10, 1, 0, 2)) + b"\x06\0\0\0\x1f\x90\0\0"),
        Element("ip", "vips", bytes((10, 0, 0, 5))),
    }


def test_a_family_has_its_own() -> None:
    assert {each.family for each in in_force(SIX).elements()} == {"ip6"}
    assert {len(each.key) for each in of(in_force(SIX), "services")} == {24}


def test_an_address_without_backends_is_ours_and_refuses() -> None:
    assert set(in_force(NOBODY).elements()) == {Element("ip", "vips", bytes((10, 0, 0, 6)))}
    assert set(in_force(shut_off("10.0.0.6")).elements()) == {Element("ip", "vips", bytes((10, 0, 0, 6)))}


def test_clients_that_come_back_have_slots_and_are_remembered() -> None:
    sticky = in_force(msgspec.structs.replace(WEB, affinity=60))
    assert of(sticky, "services") == {Element("ip", "services", KEY, "sticky")}
    assert of(sticky, "learning") == {Element("ip", "learning", KEY, "t60")}
    assert len(of(sticky, "be")) == SLOTS


def test_who_may_call_is_told_by_ranges_that_do_not_overlap() -> None:
    limited = in_force(msgspec.structs.replace(WEB, sources=("10.9.0.0/24", "10.9.0.0/16", "10.8.0.1/32")))
    assert of(limited, "limited") == {Element("ip", "limited", KEY)}
    assert of(limited, "allowed") == {
        Element("ip", "allowed", KEY + bytes((10, 8, 0, 1)), b"", KEY + bytes((10, 8, 0, 1))),
        Element("ip", "allowed", KEY + bytes((10, 9, 0, 0)), b"", KEY + bytes((10, 9, 255, 255))),
    }


@pytest.mark.parametrize(
    ("mode", "more"),
    [
        (Mode(), set()),
        (Mode(source="masquerade"), set()),
        (Mode(source="never"), {"hosts"}),
        (Mode(counters="bytes"), {"received", "sent"}),
        (Mode(counters="endpoints"), {"received", "sent"}),
    ],
)
def test_what_a_mode_needs_besides(mode: Mode, more: set[str]) -> None:
    usual = {"services", "counted", "be", "backends", "vips"}
    assert {each.set for each in in_force(WEB, mode=mode).elements()} == usual | more


def test_one_endpoint_more_touches_only_its_elements() -> None:
    found = in_force(WEB, DNS, SIX).transaction({MORE.place: MORE})
    assert found.removed == (Element("ip", "services", KEY, "n2"),)
    assert set(found.added) == {
        Element("ip", "services", KEY, "n3"),
        Element("ip", "be", slot(2), bytes((10, 1, 0, 3)) + b"\x1f\x90\0\0"),
        Element("ip", "backends", bytes((10, 1, 0, 3)) + b"\x06\0\0\0\x1f\x90\0\0"),
    }


def test_a_name_is_no_reason_to_do_anything() -> None:
    renamed = msgspec.structs.replace(WEB, service="shop/renamed")
    assert not in_force(WEB).transaction({renamed.place: renamed})


def test_what_somebody_else_needs_too_stays() -> None:
    other = Forward("10.0.0.5", "TCP", 81, "shop/other", BACKENDS[:2])
    found = in_force(WEB, other).transaction({WEB.place: None})
    assert not {"vips", "backends"} & {each.set for each in found.removed}


def test_a_transaction_names_the_times_that_it_needs() -> None:
    found = in_force().transaction({WEB.place: msgspec.structs.replace(WEB, affinity=60), DNS.place: DNS})
    assert found.times == {60}


def test_a_backend_of_another_family_is_not_a_backend() -> None:
    bad = Forward("10.0.0.5", "TCP", 80, "s", (Backend("fd00::1", 80),))
    with pytest.raises(ValueError, match="not of the same family"):
        in_force().transaction({bad.place: bad})


@given(st.integers(1, 8))
def test_slots_are_shared_out_and_move_only_with_who_goes(number: int) -> None:
    had = elements.sticky_slots(BACKENDS[:number])
    assert len(had) == SLOTS
    shares = Counter(had)
    assert set(shares) == set(BACKENDS[:number])
    assert max(shares.values()) < 2 * SLOTS / number
    for gone in BACKENDS[: number if number > 1 else 0]:
        has = elements.sticky_slots(tuple(each for each in BACKENDS[:number] if each != gone))
        assert all(new == old for old, new in zip(had, has, strict=True) if old != gone)


PLACES = st.tuples(
    st.sampled_from(("10.0.0.5", "10.0.0.6", "fd00::5")), st.sampled_from(("TCP", "UDP")), st.integers(1, 3)
)


def _forward(place: Place, slots: list[int], affinity: int, limited: bool) -> Forward:  # noqa: FBT001 - drawn
    six = ":" in place[0]
    backends = tuple(Backend(f"fd00:1::{each}" if six else f"10.1.0.{each}", 80) for each in slots)
    sources = (("fd00::/8",) if six else ("10.0.0.0/8",)) if limited else ()
    return Forward(*place, "s", backends, affinity, sources)


FORWARDS = st.dictionaries(
    PLACES,
    st.tuples(st.lists(st.integers(1, 4), max_size=4, unique=True), st.sampled_from((0, 0, 60)), st.booleans()),
    max_size=6,
).map(lambda found: {place: _forward(place, *rest) for place, rest in found.items()})


@given(st.lists(FORWARDS, min_size=1, max_size=4), st.sampled_from((Mode(), Mode(source="never", counters="bytes"))))
def test_every_change_leads_where_everything_anew_does(ways: list[dict[Place, Forward]], mode: Mode) -> None:
    present = InForce(mode)
    kernel: dict[tuple[str, str, bytes], Element] = {}
    for new in ways:
        wanted: Wanted = {place: new.get(place) for place in (*present.forwards, *new)}
        _obey(kernel, present.transaction(wanted))
        present.follow(wanted)
        anew = InForce(mode)
        anew.follow(new)
        assert set(kernel.values()) == set(present.elements()) == set(anew.elements())
        assert list(present.elements()) == list(anew.elements()), "the same in the same order"
        assert not present.transaction(dict(present.forwards))


def _obey(kernel: dict[tuple[str, str, bytes], Element], change: Transaction) -> None:
    """As the kernel does: what is added must not be there, what is removed must be."""
    for each in change.removed:
        assert kernel.pop((each.family, each.set, each.key)) == each
    for each in change.added:
        assert (each.family, each.set, each.key) not in kernel
        kernel[each.family, each.set, each.key] = each
