"""Which clients other gateways have to be told of, and which of those that they tell are taken."""

import functools
import ipaddress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import affinity, elements, jhash
from mooring.core.affinity import MOST, SLACK, Strayed
from mooring.model.gateway import Backend, Clients, Forward, Place, Remembered
from mooring.model.rules import Element, Recalled

SEED = 7
FOUR = tuple(Backend(f"10.2.0.{number}", 8080) for number in range(1, 9))
SIX = tuple(Backend(f"fd02::{number}", 8080) for number in range(1, 9))
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", FOUR[:4], affinity=600)
WEB6 = Forward("fd00::5", "UDP", 53, "shop/web6", SIX[:4], affinity=600)
PLAIN = msgspec.structs.replace(WEB, affinity=0)
CLIENTS = {4: tuple(f"203.0.113.{number}" for number in range(1, 101)), 6: tuple(f"fd09::{n}" for n in range(1, 101))}


def with_backends(forward: Forward, count: int) -> Forward:
    return msgspec.structs.replace(forward, backends=(SIX if ":" in forward.address else FOUR)[:count])


def owner(forward: Forward, client: str) -> Backend:
    """Where a gateway sends a client that it does not remember."""
    slot = affinity.slot(ipaddress.ip_address(client).packed, SEED)
    return owners(forward.backends)[slot]


@functools.cache
def owners(backends: tuple[Backend, ...]) -> tuple[Backend, ...]:
    return elements.sticky_slots(backends)


def entry(forward: Forward, client: str, backend: Backend) -> Element:
    (to,) = elements.slots(forward, (backend,))
    key = ipaddress.ip_address(client).packed + elements.service_key(forward)
    return Element(to.family, "affinity", key, to.value)


def without_value(element: Element) -> Element:
    return element._replace(value=b"")


def told(forward: Forward, backend: Backend, *clients: tuple[str, int]) -> Clients:
    return Clients((Remembered(*forward.place, backend, clients),))


def recalled(forward: Forward, here: dict[Element, float], said: Clients) -> tuple[Recalled, ...]:
    return affinity.taken(said, {forward.place: forward}, here).recalled


@pytest.mark.parametrize(
    ("client", "hashed", "slot"),
    [
        ("10.1.0.41", 0x7D194A80, 125),
        ("10.1.0.42", 0xD9C1901B, 217),
        ("10.1.0.50", 0xED369828, 237),
        ("fd01::41", 0xAECA5071, 174),
        ("fd01::50", 0x37AB2888, 55),
    ],
)
def test_the_slot_that_the_kernel_gives(client: str, hashed: int, slot: int) -> None:
    """The kernel was seen to give these clients these slots (tests/lab/test_dataplane.py)."""
    packed = ipaddress.ip_address(client).packed
    assert (jhash.jhash(packed, SEED), affinity.slot(packed, SEED)) == (hashed, slot)


@pytest.mark.parametrize(
    ("before", "wanted", "joins"),
    [
        (WEB, with_backends(WEB, 5), True),
        (WEB, with_backends(WEB, 3), False),
        (WEB, WEB, False),
        (WEB, None, False),
        (None, WEB, False),
        (PLAIN, WEB, False),
        (WEB, msgspec.structs.replace(WEB, backends=FOUR[4:8]), True),
        (WEB, msgspec.structs.replace(PLAIN, backends=FOUR[:5]), False),
        (WEB, msgspec.structs.replace(WEB, affinity=60), False),
        (PLAIN, with_backends(PLAIN, 5), False),
    ],
)
def test_where_a_backend_comes(before: Forward | None, wanted: Forward | None, *, joins: bool) -> None:
    there = {} if before is None else {before.place: before}
    assert affinity.joined(there, {WEB.place: wanted}) == ((WEB.place,) if joins else ())


@pytest.mark.parametrize(("forward", "version"), [(WEB, 4), (WEB6, 6)])
def test_a_client_is_told_if_its_slot_went_to_another(forward: Forward, version: int) -> None:
    more = with_backends(forward, 6)
    remembered = [(entry(forward, each, owner(forward, each)), 500.5) for each in CLIENTS[version]]
    assert affinity.strayed(remembered, [forward], SEED) == Strayed()
    found = affinity.strayed(remembered, [more], SEED)
    moved = {(each, owner(forward, each)) for each in CLIENTS[version] if owner(forward, each) != owner(more, each)}
    assert 10 < len(moved) < 90
    assert {(client, each.backend) for each in found.remembered for client, left in each.clients} == moved
    assert {left for each in found.remembered for _, left in each.clients} == {500}
    assert (found.count, found.cut, found.places) == (len(moved), 0, frozenset({forward.place}))


def stray() -> tuple[str, Backend]:
    """A client of WEB that has another slot as soon as there are eight backends."""
    more = with_backends(WEB, 8)
    client = next(each for each in CLIENTS[4] if owner(WEB, each) != owner(more, each))
    return client, owner(WEB, client)


@pytest.mark.parametrize(
    ("forward", "left", "count"),
    [
        (with_backends(WEB, 8), 500.0, 1),
        (with_backends(WEB, 8), 0.9, 0),
        (msgspec.structs.replace(with_backends(WEB, 8), affinity=0), 500.0, 0),
        (with_backends(WEB, 0), 500.0, 0),
        (msgspec.structs.replace(with_backends(WEB, 8), port=81), 500.0, 0),
        (msgspec.structs.replace(with_backends(WEB, 8), backends=FOUR[6:]), 500.0, 0),
    ],
)
def test_who_is_no_stray(forward: Forward, left: float, count: int) -> None:
    client, backend = stray()
    assert affinity.strayed([(entry(WEB, client, backend), left)], [forward], SEED).count == count


def test_of_too_many_those_are_told_that_came_last() -> None:
    more = with_backends(WEB, 8)
    numbers = (ipaddress.ip_address("198.18.0.0") + number for number in range(40_000))
    strays = [str(each) for each in numbers if owner(WEB, str(each)) != owner(more, str(each))][: MOST + 5]
    remembered = [(entry(WEB, each, owner(WEB, each)), 10.0 + at) for at, each in enumerate(strays)]
    found = affinity.strayed(remembered, [more], SEED)
    assert (found.count, found.cut) == (MOST, 5)
    assert min(left for each in found.remembered for _, left in each.clients) == 15


def test_time_passes_on_the_way() -> None:
    clients = (("203.0.113.1", 100), ("203.0.113.2", 3), ("203.0.113.3", 2))
    found = [Remembered(*WEB.place, FOUR[0], clients), Remembered(*WEB.place, FOUR[1], clients[2:])]
    assert list(affinity.later(found, 0.0)) == found
    assert list(affinity.later(found, 1.2)) == [
        Remembered(*WEB.place, FOUR[0], (("203.0.113.1", 98), ("203.0.113.2", 1)))
    ]


@pytest.mark.parametrize(
    ("here", "seconds", "taken"),
    [
        (None, 300, True),
        (299.0, 300, False),
        (300.0 - SLACK, 300, False),
        (300.0 - SLACK - 1, 300, True),
        (600.0, 300, False),
        (None, 0, False),
        (None, -5, False),
    ],
)
@pytest.mark.parametrize("other", [False, True])
def test_a_told_client_against_what_is_here(here: float | None, seconds: int, *, taken: bool, other: bool) -> None:
    wanted = entry(WEB, "203.0.113.9", FOUR[0])
    there = entry(WEB, "203.0.113.9", FOUR[int(other)])
    known = {} if here is None else {without_value(there): here}
    found = recalled(WEB, known, told(WEB, FOUR[0], ("203.0.113.9", seconds)))
    assert found == ((Recalled(wanted, seconds, there=here is not None),) if taken else ())


@pytest.mark.parametrize(
    ("forward", "backend", "client"),
    [
        (PLAIN, FOUR[0], "203.0.113.9"),
        (WEB, FOUR[7], "203.0.113.9"),
        (WEB, Backend("10.2.0.1", 8081), "203.0.113.9"),
        (WEB, SIX[0], "203.0.113.9"),
        (WEB, FOUR[0], "fd09::1"),
        (WEB, FOUR[0], "203.0.113.9/24"),
        (WEB, FOUR[0], "203.0.113.09"),
        (WEB, FOUR[0], "127.0.0.1"),
        (WEB, FOUR[0], ""),
        (WEB, FOUR[0], "x" * 100_000),
        (WEB6, SIX[0], "203.0.113.9"),
        (WEB6, SIX[0], "fe80::1%eth0"),
    ],
)
def test_what_cannot_be_is_left_out_alone(forward: Forward, backend: Backend, client: str) -> None:
    fine = "fd09::7" if ":" in forward.address else "203.0.113.7"
    said = told(forward, backend, (client, 300), (fine, 300))
    stays = backend in forward.backends and forward.affinity > 0
    assert [each.element for each in recalled(forward, {}, said)] == ([entry(forward, fine, backend)] if stays else [])


def test_what_nobody_serves_is_left_out() -> None:
    said = Clients((Remembered("10.9.9.9", "QUIC", -1, FOUR[0], (("203.0.113.9", 300),)),))
    assert recalled(WEB, {}, said) == ()


def test_nobody_is_remembered_for_longer_than_the_service_says() -> None:
    (found,) = recalled(WEB, {}, told(WEB, FOUR[0], ("203.0.113.9", 1 << 60)))
    assert found.seconds == WEB.affinity


def test_of_two_words_about_a_client_the_later_one_counts() -> None:
    said = Clients(
        (*told(WEB, FOUR[0], ("203.0.113.9", 30)).remembered, *told(WEB, FOUR[1], ("203.0.113.9", 50)).remembered)
    )
    for each in (said, Clients(said.remembered[::-1])):
        assert recalled(WEB, {}, each) == (Recalled(entry(WEB, "203.0.113.9", FOUR[1]), 50),)


def test_no_more_are_taken_than_are_told() -> None:
    many = tuple((str(ipaddress.ip_address("198.18.0.0") + number), 300) for number in range(MOST + 100))
    assert len(recalled(WEB, {}, told(WEB, FOUR[0], *many))) == MOST


counts = st.integers(1, 8)
histories = st.lists(st.tuples(counts, st.sets(st.sampled_from(CLIENTS[4][:30]))), min_size=1, max_size=6)


@given(histories)
def test_whoever_is_told_agrees_about_all_clients(history: list[tuple[int, set[str]]]) -> None:
    """Backends come and go, clients come; then another gateway is told, and would send each where it was last."""
    memory: dict[str, Backend] = {}
    forward = with_backends(WEB, 1)
    for count, clients in history:
        forward = with_backends(WEB, count)
        memory = {client: backend for client, backend in memory.items() if backend in forward.backends}
        for each in sorted(clients):
            memory.setdefault(each, owner(forward, each))
    remembered = [(entry(forward, client, backend), 300.0) for client, backend in memory.items()]
    found = affinity.strayed(remembered, [forward], SEED)
    other = {each.element for each in recalled(forward, {}, Clients(found.remembered))}
    for client, backend in memory.items():
        known = entry(forward, client, backend) in other
        assert known != (owner(forward, client) == backend), "told if and only if it would go elsewhere"
    again = {without_value(each): 300.0 for each in other}
    assert recalled(forward, again, Clients(found.remembered)) == (), "telling it twice changes nothing"


@given(st.permutations(range(4)), st.lists(st.integers(1, 600), min_size=4, max_size=4))
def test_in_which_order_gateways_tell_does_not_matter_much(order: list[int], seconds: list[int]) -> None:
    """What lasts longest stays, but for what is taken for the same time."""
    here: dict[Element, float] = {}
    for number in order:
        for each in recalled(WEB, here, told(WEB, FOUR[number], ("203.0.113.9", seconds[number]))):
            here[without_value(each.element)] = each.seconds
    (left,) = here.values()
    assert left >= max(seconds) - SLACK


def test_places_are_those_of_what_is_taken() -> None:
    wanted: dict[Place, Forward] = {WEB.place: WEB, WEB6.place: WEB6}
    found = affinity.taken(told(WEB, FOUR[0], ("203.0.113.9", 30)), wanted, {})
    assert found.places == {WEB.place}
    assert affinity.taken(Clients(), wanted, {}).places == frozenset()
