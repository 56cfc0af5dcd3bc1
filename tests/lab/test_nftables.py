"""Our rules in a real kernel, in a network namespace of their own: what it holds is what it was told, or nothing is."""

import ctypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest

from mooring.core import elements, ruleset
from mooring.core.elements import InForce
from mooring.core.ruleset import FAMILIES, Mode, Skeleton
from mooring.host.nftables import AT_ONCE, Nftables, NftError
from mooring.model.gateway import Backend, Forward
from mooring.model.rules import Element, Transaction

WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080), Backend("10.1.0.8", 8080)))
MORE = Forward("10.0.0.5", "TCP", 80, "shop/web", (*WEB.backends, Backend("10.1.0.9", 8080)), 0, ("10.9.0.0/16",))
SIX = Forward("fd00::5", "UDP", 53, "shop/six", (Backend("fd00:1::7", 5353),), 30, ("fd00:9::/64", "fd00:a::1/128"))
A, B = ruleset.TABLES
SETS = ("services", "be", "backends", "hosts", "vips", "limited", "allowed", "learning", "counted")
Counters = Literal["connections", "bytes", "endpoints"]
NEW_NETWORK = 0x40000000

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables

Alone = Callable[[Callable[[Nftables], None]], None]


@pytest.fixture
def alone() -> Iterator[Alone]:
    """Has something done in a network namespace that ends with the test."""

    def enter() -> None:
        if ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    with ThreadPoolExecutor(1, initializer=enter) as hand:
        nft = Nftables()
        yield lambda steps: hand.submit(steps, nft).result()
        hand.submit(nft.close).result()


def loaded(nft: Nftables, *forwards: Forward, table: str = A, mode: Mode | None = None) -> InForce:
    """A table in the dark with these."""
    chosen = mode or Mode()
    in_force = InForce(chosen)
    in_force.follow({each.place: each for each in forwards})
    nft.run(ruleset.table(table, Skeleton(0x5EED, 64, chosen)))
    nft.change(
        table, Transaction(), {each.affinity: ruleset.memory(each.affinity) for each in forwards if each.affinity}
    )
    nft.fill(table, in_force.elements())
    return in_force


def held(nft: Nftables, table: str = A) -> set[Element]:
    return {each for family in FAMILIES for name in SETS for each in nft.elements(family.name, table, name)}


@pytest.mark.parametrize("source", ["vip", "never", "masquerade"])
@pytest.mark.parametrize("counters", ["connections", "bytes", "endpoints"])
def test_a_load_and_a_change_are_what_the_kernel_holds(
    alone: Alone, source: ruleset.Source, counters: Counters
) -> None:
    mode = Mode(source, "reject", counters)

    def steps(nft: Nftables) -> None:
        in_force = loaded(nft, WEB, SIX, mode=mode)
        assert held(nft) == {each for each in in_force.elements() if each.set in SETS}
        listed = nft.run(f"list map ip {A} be")
        assert "10.0.0.5 . tcp . 80 . 1" in listed
        assert "10.1.0.9" not in listed
        wanted = {WEB.place: MORE, SIX.place: None}
        nft.change(A, in_force.transaction(wanted), {})
        in_force.follow(wanted)
        assert held(nft) == {each for each in in_force.elements() if each.set in SETS}
        assert "10.1.0.9 . 8080" in nft.run(f"list map ip {A} be")
        assert "10.0.0.5 . tcp . 80 : goto n3" in nft.run(f"list map ip {A} services")
        assert "10.9.0.0/16" in nft.run(f"list set ip {A} allowed")

    alone(steps)


def test_many_elements_are_filled_in(alone: Alone) -> None:
    backends = tuple(Backend(f"10.1.0.{number}", 8080) for number in range(1, 65))
    many = [Forward(f"10.0.{number % 4}.{number // 4}", "TCP", 80, "shop/many", backends) for number in range(4, 404)]

    def steps(nft: Nftables) -> None:
        in_force = loaded(nft, *many)
        assert len(held(nft)) > AT_ONCE
        assert held(nft) == set(in_force.elements())

    alone(steps)


def test_one_table_takes_the_place_of_another(alone: Alone) -> None:
    def steps(nft: Nftables) -> None:
        loaded(nft, WEB, table=A)
        assert nft.tables() == {("ip", A): False, ("ip6", A): False}
        nft.switch(A, B)
        loaded(nft, SIX, table=B)
        assert nft.tables() == {("ip", A): True, ("ip6", A): True, ("ip", B): False, ("ip6", B): False}
        nft.switch(B, A)
        assert nft.tables() == {("ip", B): True, ("ip6", B): True}
        assert "goto" not in nft.run(f"list map ip {B} services")
        assert "fd00::5 . udp . 53 : goto sticky" in nft.run(f"list map ip6 {B} services")

    alone(steps)


@pytest.mark.parametrize("wrong", ["removed", "added", "table"])
def test_what_is_wrong_anywhere_changes_nothing(alone: Alone, wrong: str) -> None:
    there = next(elements.slots(WEB, WEB.backends))
    other = Element("ip", "be", there.key, next(elements.slots(WEB, WEB.backends[1:])).value)
    missing = Element("ip", "vips", b"\x0a\x00\x00\x09")

    def steps(nft: Nftables) -> None:
        in_force = loaded(nft, WEB, SIX)
        nft.switch(A, B)
        right = in_force.transaction({WEB.place: MORE})
        change, table = right, A
        match wrong:
            case "removed":
                change = Transaction((*right.removed, missing), right.added)
            case "added":
                change = Transaction(right.removed, (*right.added, other))
            case _:
                table = B
        before, generation = held(nft), nft.generation()
        with pytest.raises(NftError):
            nft.change(table, change, {})
        assert held(nft) == before
        assert nft.generation() == generation
        nft.change(A, right, {})
        assert held(nft) != before

    alone(steps)


def test_a_text_that_is_wrong_anywhere_changes_nothing(alone: Alone) -> None:
    def steps(nft: Nftables) -> None:
        loaded(nft, WEB)
        before = nft.run("list ruleset")
        with pytest.raises(NftError, match="Error"):
            nft.run(ruleset.table(A, Skeleton(1, 64)) + f"add element ip {A} services {{ nonsense }}\n")
        assert nft.run("list ruleset") == before

    alone(steps)


def test_tables_of_others_are_left_alone(alone: Alone) -> None:
    theirs = "table inet theirs {\n\tchain own {\n\t\ttype filter hook input priority filter; policy accept;\n\t}\n}\n"

    def steps(nft: Nftables) -> None:
        nft.run(theirs)
        in_force = loaded(nft, WEB, table=A)
        nft.switch(A, B)
        nft.change(A, in_force.transaction({WEB.place: MORE}), {})
        loaded(nft, SIX, table=B)
        nft.switch(B, A)
        assert nft.run("list table inet theirs") == theirs

    alone(steps)


def test_what_was_counted_and_remembered_is_taken_along(alone: Alone) -> None:
    key = elements.service_key(WEB)

    def steps(nft: Nftables) -> None:
        loaded(nft, table=A)
        nft.run(f"add element ip {A} counted {{ 10.0.0.5 . tcp . 80 counter packets 7 bytes 420 }}")
        nft.run(f"add element ip {A} counted {{ 10.0.0.6 . tcp . 80 counter packets 9 bytes 540 }}")
        nft.run(f"add element ip {A} affinity {{ 10.9.0.1 . 10.0.0.5 . tcp . 80 timeout 90s : 10.1.0.7 . 8080 }}")
        loaded(nft, table=B)
        copied = nft.copy("ip", A, B, "counted", lambda each: each.key == key)
        assert copied == [Element("ip", "counted", key)]
        assert list(nft.counted("ip", B, "counted")) == [(Element("ip", "counted", key), 7, 420)]
        (one,) = nft.copy("ip", A, B, "affinity", lambda _: True)
        assert one in set(nft.elements("ip", B, "affinity"))
        listed = nft.run(f"list map ip {B} affinity")
        assert "10.9.0.1 . 10.0.0.5 . tcp . 80 timeout 1m30s expires 1m" in listed
        assert nft.copy("ip", A, B, "affinity", lambda _: False) == []

    alone(steps)


def test_only_what_is_unwanted_is_forgotten(alone: Alone) -> None:
    def steps(nft: Nftables) -> None:
        loaded(nft)
        for client, backend in (("10.9.0.1", "10.1.0.7"), ("10.9.0.2", "10.1.0.8"), ("10.9.0.3", "10.1.0.7")):
            nft.run(f"add element ip {A} affinity {{ {client} . 10.0.0.5 . tcp . 80 timeout 90s : {backend} . 8080 }}")
        gone = next(elements.slots(WEB, WEB.backends)).value
        nft.forget("ip", A, "affinity", lambda each: each.value == gone)
        (left,) = nft.elements("ip", A, "affinity")
        assert left.key.startswith(b"\x0a\x09\x00\x02")

    alone(steps)


def test_changed_rules_have_another_fingerprint_and_changed_elements_have_not(alone: Alone) -> None:
    def steps(nft: Nftables) -> None:
        in_force = loaded(nft, WEB)
        nft.switch(A, B)
        first, generation = nft.fingerprint(A), nft.generation()
        nft.change(A, in_force.transaction({WEB.place: MORE}), {})
        nft.run("add table inet theirs")
        assert nft.fingerprint(A) == first
        assert nft.generation() == generation + 2
        for family in ("ip", "ip6"):
            nft.run(f"insert rule {family} {A} pre tcp dport 9 drop")
            changed = nft.fingerprint(A)
            assert changed != first
            nft.run(f"flush chain {family} {A} in")
            assert nft.fingerprint(A) not in (first, changed)
            first = nft.fingerprint(A)

    alone(steps)
