"""When a node counts as silent, and what then is sent to whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import probing
from mooring.core.nodes import Usable
from mooring.core.probing import FALLS, RISES, Health
from mooring.model.gateway import Backend, Probes

ONE, TWO = Usable("one", ("10.0.0.1", "fd00::1")), Usable("two", ("10.0.0.2",))
AT = tuple(Backend(each, 10256) for each in ("10.0.0.1", "10.0.0.2", "fd00::1"))


def believed(answers: str) -> Health:
    """After answers (+) and silences (-)."""
    health = Health()
    for each in answers:
        health = probing.after(health, answered=each == "+")
    return health


@pytest.mark.parametrize(
    ("answers", "silent"),
    [
        ("", False),
        ("+++", False),
        ("--", False),
        ("---", True),
        ("--+--", False),
        ("--+---", True),
        ("---+", True),
        ("---++", False),
        ("---+-+", True),
        ("---++--", False),
    ],
)
def test_it_takes_some_in_a_row(answers: str, silent: bool) -> None:  # noqa: FBT001 - a table
    assert believed(answers).silent is silent


@given(st.text("+-"))
def test_what_is_seen_often_enough_is_believed(before: str) -> None:
    assert believed(before + FALLS * "-").silent
    assert not believed(before + RISES * "+").silent


def test_every_address_of_every_node_is_asked_if_anybody_is() -> None:
    assert probing.probes([TWO, ONE], 10256) == Probes(AT)
    assert probing.probes([TWO, ONE], 0) == Probes()


def test_names_tell_them_apart() -> None:
    names = {probing.name(Probes(AT[:count])) for count in range(3)}
    assert len(names) == 3
    assert probing.name(Probes()) == ""


@pytest.mark.parametrize(
    ("told", "silent"),
    [
        ([], set()),
        ([()], set()),
        ([AT[:1]], {"10.0.0.1"}),
        ([AT[:1], ()], set()),
        ([AT[:2], AT[1:]], {"10.0.0.2"}),
    ],
)
def test_all_gateways_have_to_say_so(told: list[tuple[Backend, ...]], silent: set[str]) -> None:
    assert probing.silent(told) == silent


@pytest.mark.parametrize(
    ("silent", "left"),
    [
        ((), (ONE, TWO)),
        (("10.0.0.2",), (ONE,)),
        (("10.0.0.1",), (Usable("one", ("fd00::1",)), TWO)),
        (("10.0.0.1", "fd00::1"), (TWO,)),
        (("10.0.0.1", "fd00::1", "10.0.0.2"), (ONE, TWO)),
        (("10.0.0.9",), (ONE, TWO)),
    ],
)
def test_the_silent_are_sent_nothing_unless_all_are(silent: tuple[str, ...], left: tuple[Usable, ...]) -> None:
    assert probing.answering((ONE, TWO), frozenset(silent)) == left
