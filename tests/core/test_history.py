"""What a gateway is told that has an earlier document, or the same one of another leader."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.core import editions, gateway_document
from mooring.core.history import LONGEST, History
from mooring.core.told import Told
from mooring.model.gateway import Backend, Document, Forward, Held, State

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns", (Backend("10.1.0.9", 53),))


def document(generation: int, *forwards: Forward, epoch: int = 1, seed: int = 7) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=seed)


def history(*documents: Document) -> History:
    found = History()
    for each in documents:
        found.add(editions.of(each))
    return found


def told(given: Document) -> State:
    return State(given.held, told=given.digest)


def test_who_has_an_earlier_one_is_told_what_differs() -> None:
    first, second, third = document(1, WEB), document(2, WEB, DNS), document(3, DNS)
    delta = history(first, second, third).delta(told(first))
    assert delta is not None
    assert (delta.base, delta.held) == (first.held, third.held)
    assert (delta.put, delta.removed) == ((DNS,), (WEB.place,))


def test_who_has_the_same_of_another_leader_is_told_only_that() -> None:
    mine, other = document(1, WEB, epoch=8), document(5, WEB, epoch=7)
    delta = history(mine).delta(told(other))
    assert delta is not None
    assert (delta.base, delta.held, delta.put, delta.removed) == (other.held, mine.held, (), ())


def test_who_has_something_else_is_told_everything() -> None:
    first, second = document(1, WEB), document(2, DNS)
    assert history(first, second).delta(State(Held())) is None
    assert history(first, second).delta(told(document(1, WEB, DNS))) is None
    assert history(first, document(2, WEB, seed=8)).delta(told(first)) is None
    many = [document(number, Forward("10.0.0.5", "TCP", number, "s")) for number in range(1, LONGEST + 2)]
    assert history(*many).delta(told(many[0])) is None
    assert history(*many).delta(told(many[1])) is not None


def test_what_is_left_out_is_no_obstacle() -> None:
    first = document(1, WEB)
    state = State(Held(1, 1, "what is in force"), told=first.digest)
    delta = history(first, document(2, DNS)).delta(state)
    assert delta is not None
    assert delta.base == first.held


FORWARDS = st.dictionaries(
    st.tuples(st.sampled_from(("10.0.0.5", "10.0.0.6")), st.just("TCP"), st.integers(1, 3)),
    st.integers(0, 2),
    max_size=4,
).map(
    lambda found: [
        Forward(*place, "s", tuple(Backend(f"10.1.0.{each + 1}", 80) for each in range(number)))
        for place, number in found.items()
    ]
)


@given(st.lists(FORWARDS, min_size=1, max_size=5), st.data())
def test_a_delta_leads_from_any_of_them_to_the_newest(ways: list[list[Forward]], data: st.DataObject) -> None:
    documents = [document(number, *forwards) for number, forwards in enumerate(ways, 1)]
    start = data.draw(st.sampled_from(documents))
    gateway = Told()
    gateway.follow(gateway.change(start))
    delta = history(*documents).delta(State(gateway.held, told=gateway.digest))
    assert delta is not None
    gateway.follow(gateway.change(delta))
    assert gateway.document == documents[-1]
