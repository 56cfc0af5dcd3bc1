"""What holds for the kernel's packet filter: what transactions do and refuse, how a table takes another's place."""

import ipaddress
import struct

import pytest

from mooring.agent.host import Filter
from mooring.core import ruleset
from mooring.core.ruleset import TABLES, Skeleton
from mooring.host.nftables import NftError, NftGone
from mooring.model.rules import Element, Recalled, Transaction

A, B = TABLES
FAMILIES = ("ip", "ip6")
MEMORY = {60: ruleset.memory(60)}


def text(table: str = A) -> str:
    return ruleset.table(table, Skeleton(seed=7, chains=4))


def packed(family: str, number: int) -> bytes:
    return ipaddress.ip_address(f"10.0.0.{number}" if family == "ip" else f"fd00::{number}").packed


def key(family: str, number: int = 5, port: int = 80) -> bytes:
    return packed(family, number) + struct.pack(">B3xH2x", 6, port)


def vip(family: str, number: int = 5) -> Element:
    return Element(family, "vips", packed(family, number))


def service(family: str, chain: str = "n1", port: int = 80) -> Element:
    return Element(family, "services", key(family, port=port), chain)


def backend(family: str, slot: int, number: int) -> Element:
    value = packed(family, number) + struct.pack(">H2x", 8080)
    return Element(family, "be", key(family) + struct.pack("=I", slot), value)


def allowed(family: str, first: int, last: int) -> Element:
    return Element(family, "allowed", key(family) + packed(family, first), b"", key(family) + packed(family, last))


def held(told: Filter, name: str, table: str = A) -> set[Element]:
    return {each for family in FAMILIES for each in told.elements(family, table, name)}


def add(told: Filter, *elements: Element) -> None:
    told.change(A, Transaction(added=elements), {})


def remove(told: Filter, *elements: Element) -> None:
    told.change(A, Transaction(removed=elements), {})


@pytest.fixture
def told(packet_filter: Filter) -> Filter:
    """One with an empty table of ours."""
    packet_filter.run(text())
    return packet_filter


class Tables:
    def test_without_any_there_are_none(self, packet_filter: Filter) -> None:
        assert packet_filter.tables() == {}

    def test_one_is_made_in_the_dark(self, told: Filter) -> None:
        assert told.tables() == {("ip", A): False, ("ip6", A): False}

    def test_one_that_is_made_again_is_empty(self, told: Filter) -> None:
        add(told, vip("ip"))
        told.run(text())
        assert held(told, "vips") == set()

    @pytest.mark.parametrize("awake", [False, True])
    def test_one_takes_the_place_of_another(self, told: Filter, awake: bool) -> None:  # noqa: FBT001 - a table
        if awake:
            told.switch(A, B)
        told.run(text(B))
        told.switch(B, A)
        assert told.tables() == {("ip", B): True, ("ip6", B): True}

    def test_one_is_woken_without_another(self, told: Filter) -> None:
        told.switch(A, B)
        assert told.tables() == {("ip", A): True, ("ip6", A): True}

    def test_one_that_is_not_there_takes_no_place(self, told: Filter) -> None:
        told.switch(A, B)
        with pytest.raises(NftGone):
            told.switch(B, A)
        assert told.tables() == {("ip", A): True, ("ip6", A): True}

    def test_a_switch_keeps_elements(self, told: Filter) -> None:
        add(told, vip("ip"))
        told.switch(A, B)
        assert held(told, "vips") == {vip("ip")}

    def test_a_text_that_is_wrong_changes_nothing(self, told: Filter) -> None:
        add(told, vip("ip"))
        before = told.generation()
        with pytest.raises(NftError):
            told.run(f"{text()}nonsense\n")
        assert held(told, "vips") == {vip("ip")}
        assert told.generation() == before


@pytest.mark.parametrize("family", FAMILIES)
class Changes:
    def test_what_is_added_is_there(self, told: Filter, family: str) -> None:
        all_ = {vip(family), service(family), backend(family, 0, 7), allowed(family, 1, 9)}
        add(told, *all_)
        assert all_ == {one for each in ("vips", "services", "be", "allowed") for one in held(told, each)}

    def test_what_is_removed_is_gone(self, told: Filter, family: str) -> None:
        add(told, vip(family), vip(family, 6), allowed(family, 1, 9))
        remove(told, vip(family), allowed(family, 1, 9))
        assert held(told, "vips") | held(told, "allowed") == {vip(family, 6)}

    def test_what_is_not_there_cannot_be_removed(self, told: Filter, family: str) -> None:
        add(told, vip(family))
        with pytest.raises(NftGone):
            remove(told, vip(family), vip(family, 6))
        assert held(told, "vips") == {vip(family)}

    def test_what_is_there_can_be_added_again(self, told: Filter, family: str) -> None:
        add(told, service(family), backend(family, 0, 7), vip(family))
        add(told, service(family), backend(family, 0, 7), vip(family))
        assert held(told, "be") == {backend(family, 0, 7)}

    def test_what_is_there_with_another_value_cannot(self, told: Filter, family: str) -> None:
        add(told, backend(family, 0, 7))
        with pytest.raises(NftError):
            add(told, vip(family), backend(family, 0, 8))
        assert (held(told, "be"), held(told, "vips")) == ({backend(family, 0, 7)}, set())

    def test_a_value_is_replaced_in_one_step(self, told: Filter, family: str) -> None:
        add(told, backend(family, 0, 7), service(family, "n1"))
        change = Transaction(
            (backend(family, 0, 7), service(family, "n1")), (backend(family, 0, 8), service(family, "n2"))
        )
        told.change(A, change, {})
        assert (held(told, "be"), held(told, "services")) == ({backend(family, 0, 8)}, {service(family, "n2")})

    def test_nothing_goes_to_a_chain_that_is_not_there(self, told: Filter, family: str) -> None:
        with pytest.raises(NftGone):
            add(told, vip(family), service(family, "n99"))
        assert held(told, "vips") | held(told, "services") == set()

    def test_a_chain_is_made_with_what_goes_to_it(self, told: Filter, family: str) -> None:
        learning = Element(family, "learning", key(family), MEMORY[60])
        told.change(A, Transaction(added=(learning,), times=frozenset(MEMORY)), MEMORY)
        assert held(told, "learning") == {learning}

    def test_ranges_that_overlap_are_refused(self, told: Filter, family: str) -> None:
        add(told, allowed(family, 1, 9))
        with pytest.raises(NftError):
            add(told, allowed(family, 5, 20))
        assert held(told, "allowed") == {allowed(family, 1, 9)}

    def test_a_range_takes_the_place_of_one_that_it_overlaps(self, told: Filter, family: str) -> None:
        add(told, allowed(family, 1, 9))
        told.change(A, Transaction((allowed(family, 1, 9),), (allowed(family, 5, 20),)), {})
        assert held(told, "allowed") == {allowed(family, 5, 20)}

    def test_a_set_or_table_that_is_not_there_is_told(self, told: Filter, family: str) -> None:
        with pytest.raises(NftGone):
            add(told, Element(family, "nowhere", b"1234"))
        with pytest.raises(NftGone):
            told.change(B, Transaction(added=(vip(family),)), {})
        with pytest.raises(NftGone):
            list(told.elements(family, B, "vips"))
        with pytest.raises(NftGone):
            list(told.elements(family, A, "nowhere"))


@pytest.mark.parametrize("family", FAMILIES)
class Loads:
    def test_a_table_is_filled_in_the_dark(self, told: Filter, family: str) -> None:
        many = {vip(family, number) for number in range(1, 200)}
        told.fill(A, iter(sorted(many)))
        assert held(told, "vips") == many
        assert not told.tables()[family, A]

    def test_what_cannot_be_filled_leaves_the_table_that_is_in_force(self, told: Filter, family: str) -> None:
        add(told, vip(family))
        told.switch(A, B)
        told.run(text(B))
        with pytest.raises(NftError):
            told.fill(B, [vip(family), service(family, "n99")])
        assert held(told, "vips") == {vip(family)}
        assert told.tables()[family, A]

    def test_what_is_wanted_is_copied_and_told(self, told: Filter, family: str) -> None:
        wanted, other = Element(family, "counted", key(family)), Element(family, "counted", key(family, 6))
        add(told, wanted, other)
        told.run(text(B))
        assert told.copy(family, A, B, "counted", lambda each: each == wanted) == [wanted]
        assert held(told, "counted", B) == {wanted}
        assert held(told, "counted") == {wanted, other}
        assert list(told.counted(family, B, "counted")) == [(wanted, 0, 0)]

    def test_of_nothing_nothing_is_copied(self, told: Filter, family: str) -> None:
        told.run(text(B))
        assert told.copy(family, A, B, "counted", lambda _: True) == []

    @pytest.mark.parametrize(("old", "name"), [(B, "counted"), (A, "nowhere")])
    def test_from_what_is_not_there_nothing_is_copied(self, told: Filter, family: str, old: str, name: str) -> None:
        with pytest.raises(NftGone):
            told.copy(family, old, A, name, lambda _: True)

    def test_what_is_unwanted_is_forgotten(self, told: Filter, family: str) -> None:
        add(told, vip(family), vip(family, 6))
        told.forget(family, A, "vips", lambda each: each == vip(family))
        assert held(told, "vips") == {vip(family, 6)}


class Watching:
    def test_the_generation_grows_by_one_with_each_change(self, told: Filter) -> None:
        before = told.generation()
        add(told, vip("ip"), vip("ip6"))
        assert told.generation() == before + 1
        remove(told, vip("ip"))
        assert told.generation() == before + 2
        told.switch(A, B)
        assert told.generation() == before + 3

    def test_neither_a_look_nor_what_is_refused_nor_nothing_changes_it(self, told: Filter) -> None:
        before = told.generation()
        assert (held(told, "vips"), len(told.tables())) == (set(), 2)
        told.fingerprint(A)
        told.change(A, Transaction(), {})
        told.fill(A, [])
        with pytest.raises(NftGone):
            remove(told, vip("ip"))
        assert told.generation() == before

    def test_the_fingerprint_is_of_rules_and_not_of_elements(self, told: Filter) -> None:
        before = told.fingerprint(A)
        add(told, vip("ip"), service("ip6"))
        assert told.fingerprint(A) == before
        told.switch(A, B)
        assert told.fingerprint(A) == before
        told.change(A, Transaction(), MEMORY)
        assert told.fingerprint(A) != before


@pytest.mark.parametrize("family", FAMILIES)
class Memories:
    """What packets put into a map, and others put there for them."""

    def client(self, family: str, number: int, to: int = 7) -> Element:
        value = packed(family, to) + struct.pack(">H2x", 8080)
        return Element(family, "affinity", packed(family, number) + key(family), value)

    def known(self, told: Filter, family: str) -> dict[Element, float]:
        return dict(told.remembered(family, A, "affinity"))

    def test_a_client_is_remembered_for_its_time(self, told: Filter, family: str) -> None:
        told.remember(A, [Recalled(self.client(family, 1), 60), Recalled(self.client(family, 2), 600)])
        found = self.known(told, family)
        assert 50 < found[self.client(family, 1)] <= 60
        assert 590 < found[self.client(family, 2)] <= 600
        assert len(found) == 2

    def test_one_that_is_there_is_replaced_by_what_is_said_of_it(self, told: Filter, family: str) -> None:
        told.remember(A, [Recalled(self.client(family, 1), 60), Recalled(self.client(family, 2), 60)])
        told.remember(A, [Recalled(self.client(family, 1, 8), 300, there=True)])
        found = self.known(told, family)
        assert set(found) == {self.client(family, 1, 8), self.client(family, 2)}
        assert found[self.client(family, 1, 8)] > 60

    def test_what_packets_were_quicker_to_say_stays_and_all_others_are_taken(self, told: Filter, family: str) -> None:
        told.remember(A, [Recalled(self.client(family, 1), 60)])
        others = [Recalled(self.client(family, number), 60) for number in range(2, 20)]
        gone = Recalled(self.client(family, 30), 60, there=True)
        told.remember(A, [*others[:9], Recalled(self.client(family, 1, 8), 60), *others[9:], gone])
        assert set(self.known(told, family)) == {self.client(family, 1), *(each.element for each in others)}

    def test_it_is_told_how_often_the_generation_grew(self, told: Filter, family: str) -> None:
        before = told.generation()
        many = [Recalled(self.client(family, number), 60) for number in range(1, 100)]
        grown = told.remember(A, many)
        assert (told.generation(), told.remember(A, [])) == (before + grown, 0)

    def test_where_nothing_is_nothing_is_remembered(self, told: Filter, family: str) -> None:
        assert told.remember(B, [Recalled(self.client(family, 1), 60)]) == 0
        with pytest.raises(NftGone):
            list(told.remembered(family, B, "affinity"))

    def test_a_copy_lasts_as_long(self, told: Filter, family: str) -> None:
        told.remember(A, [Recalled(self.client(family, 1), 300)])
        told.run(text(B))
        told.copy(family, A, B, "affinity", lambda _: True)
        ((found, left),) = told.remembered(family, B, "affinity")
        assert (found, 290 < left <= 300) == (self.client(family, 1), True)
