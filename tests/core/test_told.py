"""What a gateway was told: documents and deltas lead to the same, and what is left out is known."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import gateway_document
from mooring.core.gateway_checks import Reason
from mooring.core.told import Refused, Told
from mooring.model.gateway import Backend, Delta, Document, Forward, Held

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080), Backend("10.1.0.8", 8080)))
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns", (Backend("10.1.0.9", 53),))
BAD = Forward("10.0.0.7", "ICMP", 1, "shop/bad")
HALF = msgspec.structs.replace(WEB, backends=(*WEB.backends, Backend("localhost", 1)))


def document(generation: int, *forwards: Forward, seed: int = 7) -> Document:
    return gateway_document.document(forwards, epoch=1, generation=generation, seed=seed)


def told(*new: Document | Delta) -> Told:
    found = Told()
    for each in new:
        found.follow(found.change(each))
    return found


def between(old: Document, new: Document) -> Delta:
    before, after = (gateway_document.by_place(each.forwards) for each in (old, new))
    places = [place for place in {*before, *after} if before.get(place) != after.get(place)]
    return gateway_document.delta(old.held, new.held, places, after)


def test_what_is_told_is_served() -> None:
    found = told(document(1, WEB, DNS))
    assert found.document == document(1, WEB, DNS)
    assert found.held == document(1, WEB, DNS).held
    assert found.addresses == {"10.0.0.5": 1, "10.0.0.6": 1}
    assert found.backends == 3
    assert not found.left_out


def test_what_cannot_be_served_is_left_out_and_the_digest_says_so() -> None:
    found = told(document(1, BAD, HALF, DNS))
    assert found.document == document(1, BAD, HALF, DNS)
    assert set(found.forwards.values()) == {WEB, DNS}
    assert found.held.digest == document(1, WEB, DNS).digest
    assert found.digest == document(1, BAD, HALF, DNS).digest
    reasons = {each.service: each.reason for some in found.left_out.values() for each in some}
    assert reasons == {"shop/bad": Reason.BAD_PROTOCOL.value, "shop/web": Reason.BAD_ADDRESS.value}
    assert "10.0.0.7" not in found.addresses


def test_what_was_left_out_is_known_when_it_changes_or_goes() -> None:
    first = document(1, BAD, HALF, DNS)
    mended = told(first, between(first, document(2, WEB, DNS)))
    assert mended.held == document(2, WEB, DNS).held
    assert mended.digest == mended.held.digest
    assert not mended.left_out
    assert told(first, document(2, BAD, DNS)).document == document(2, BAD, DNS)


@pytest.mark.parametrize("field", [{"digest": "0"}, {"seed": 8}, {"forwards": (DNS,)}])
def test_a_digest_that_does_not_fit(field: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        told(msgspec.structs.replace(document(1, WEB), **field))
    assert refused.value.refusal.reason == Reason.OTHER_DIGEST.value


def test_a_delta_that_does_not_lead_where_it_says() -> None:
    first, second = document(1, WEB), document(2, WEB, DNS)
    with pytest.raises(Refused) as refused:
        told(first, msgspec.structs.replace(between(first, second), put=()))
    assert refused.value.refusal.reason == Reason.OTHER_DIGEST.value


def test_a_change_costs_as_much_as_there_is_to_change() -> None:
    many = [Forward("10.0.0.5", "TCP", port, "s", WEB.backends) for port in range(1, 1001)]
    found = told(document(1, *many))
    new = msgspec.structs.replace(many[6], backends=WEB.backends[:1])
    change = found.change(document(2, *many[:6], new, *many[7:]))
    assert change.served == {new.place: new}


PLACES = st.tuples(st.sampled_from(("10.0.0.5", "10.0.0.6", "bad")), st.sampled_from(("TCP", "UDP")), st.integers(0, 2))
BACKENDS = st.lists(st.sampled_from(("10.1.0.7", "10.1.0.8", "nobody")), max_size=2, unique=True)
DOCUMENTS = st.dictionaries(PLACES, BACKENDS, max_size=5).map(
    lambda found: tuple(
        Forward(*place, "s", tuple(Backend(each, 80) for each in backends)) for place, backends in found.items()
    )
)


@given(st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_documents_and_deltas_lead_to_the_same(ways: list[tuple[Forward, ...]]) -> None:
    by_documents, by_deltas = Told(), Told()
    last = Document(0, 0, "", ())
    for generation, forwards in enumerate(ways, 1):
        new = document(generation, *forwards)
        by_documents.follow(by_documents.change(new))
        change = by_deltas.change(between(last, new) if generation > 1 else new)
        addresses = by_deltas.addresses_after(change, frozenset(by_deltas.addresses))
        by_deltas.follow(change)
        assert addresses == frozenset(by_deltas.addresses) == {each.address for each in by_deltas.forwards.values()}
        assert by_deltas.document == by_documents.document == new
        assert by_deltas.held == by_documents.held
        assert by_deltas.held.digest == gateway_document.digest(by_deltas.forwards.values(), 7)
        assert by_deltas.left_out == by_documents.left_out
        assert by_deltas.backends == sum(len(each.backends) for each in by_deltas.forwards.values())
        last = new


def test_nothing_is_held_before_anything_was_told() -> None:
    assert Told().held == Held()
    assert Told().document == Document(0, 0, "", ())
