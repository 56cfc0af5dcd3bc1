"""What gateways are told is the same, whether it is made of the edition before or of everything anew."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import editions, gateway_document
from mooring.core.editions import Edition, Forwards
from mooring.core.history import History
from mooring.core.told import Told
from mooring.model.gateway import Backend, Forward, Held, State

SEED = 7
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
TLS = Forward("10.0.0.5", "TCP", 443, "shop/web", (Backend("10.1.0.7", 8443),))
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns", (Backend("10.1.0.9", 53),))
CLOSED = Forward("10.0.0.6", "TCP", 81, "shop/closed", sources=("192.0.2.0/24",))


def moved(forward: Forward) -> Forward:
    return Forward(*forward.place, forward.service, (Backend("10.1.0.99", 1),))


def edition(*forwards: Forward) -> Edition:
    return editions.none(SEED).next(editions.by_service(forwards), epoch=1)


def anew(forwards: Iterable[Forward], held: Held) -> Edition:
    return editions.of(gateway_document.document(forwards, epoch=held.epoch, generation=held.generation, seed=SEED))


def test_an_edition_is_the_one_before_with_what_changed() -> None:
    first = edition(WEB, TLS, DNS)
    second = first.next({"shop/web": (moved(WEB), TLS), "shop/dns": ()}, epoch=2)
    assert second.held == Held(2, 2, gateway_document.digest([moved(WEB), TLS], SEED))
    assert second.changes == {WEB.place: moved(WEB), DNS.place: None}, "the other port of the Service is as it was"
    assert second.wanted == {"shop/web": (moved(WEB), TLS)}
    assert first.wanted == {"shop/web": (WEB, TLS), "shop/dns": (DNS,)}, "the first one is as it was"


def test_a_place_that_goes_from_one_service_to_another_is_served_for_the_other() -> None:
    other = Forward(*WEB.place, "shop/other")
    after = edition(WEB).next({"shop/other": (other,), "shop/web": ()}, epoch=1)
    assert after.changes == {WEB.place: other}
    assert after.document.forwards == (other,)


def test_nothing_that_changed_is_the_same_for_a_gateway() -> None:
    first = edition(WEB)
    again = first.next({"shop/web": (WEB,), "shop/gone": ()}, epoch=3)
    assert (again.held, again.changes) == (Held(3, 2, first.held.digest), {})


def test_what_is_served_is_told_by_service() -> None:
    first = edition(WEB, TLS, DNS)
    assert first.acknowledged == {"shop/web": {WEB.place, TLS.place}, "shop/dns": {DNS.place}}
    assert first.acknowledged.get("shop/other") is None
    assert first.addresses == {"10.0.0.5", "10.0.0.6"}


@pytest.mark.parametrize(
    ("forwards", "schemas", "kept"),
    [
        ((WEB, CLOSED), (1, 2), (CLOSED, WEB)),
        ((WEB, CLOSED), (1,), (WEB,)),
        ((WEB, CLOSED), (), (WEB,)),
        ((WEB,), (1,), (WEB,)),
    ],
    ids=["new", "old", "says nothing", "nothing new in it"],
)
def test_an_older_gateway_is_told_what_it_understands(
    forwards: Forwards, schemas: tuple[int, ...], kept: Forwards
) -> None:
    whole = edition(*forwards)
    part = whole.understood(schemas)
    assert part.document == gateway_document.document(kept, epoch=1, generation=1, seed=SEED)
    assert (part is whole) == (len(kept) == len(forwards))


SERVICES = ("shop/a", "shop/b", "other/c")


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Forwards]:
    """What some Services want now; no two want the same place."""
    found: dict[str, Forwards] = {}
    for name in draw(st.sets(st.sampled_from(SERVICES))):
        numbers = draw(st.dictionaries(st.integers(1, 3), st.integers(0, 2), max_size=3))
        address = f"10.0.0.{SERVICES.index(name) + 1}"
        found[name] = tuple(
            Forward(address, "TCP", port, name, tuple(Backend(f"10.1.0.{each + 1}", 80) for each in range(backends)))
            for port, backends in numbers.items()
        )
    return found


@given(st.lists(changes(), min_size=1, max_size=6), st.data())
def test_step_by_step_or_anew_it_is_the_same(steps: list[dict[str, Forwards]], data: st.DataObject) -> None:
    made = [editions.none(SEED)]
    wanted: dict[str, Forwards] = {}
    history = History()
    for each in steps:
        wanted = {name: forwards for name, forwards in (wanted | each).items() if forwards}
        made.append(made[-1].next(each, epoch=1))
        history.add(made[-1])
        assert made[-1].wanted == wanted
        assert made[-1].document == anew(made[-1].forwards, made[-1].held).document
    start = data.draw(st.sampled_from(made[1:]))
    gateway = Told()
    gateway.follow(gateway.change(start.document))
    delta = history.delta(State(start.held, told=start.held.digest))
    assert delta is not None
    gateway.follow(gateway.change(delta))
    assert gateway.document == made[-1].document
