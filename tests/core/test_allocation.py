"""The table of who has what: rows for its rules, and a comparison with the plainest way to do the same."""

from collections.abc import Hashable, Iterable

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mooring.core.allocation import Allocations, Wanted
from mooring.model.gateway import Key

WEB, TLS, DNS = Key("TCP", 80), Key("TCP", 443), Key("UDP", 53)


def offered(*ports: str) -> Allocations[str, str]:
    table: Allocations[str, str] = Allocations()
    for port in ports:
        table.offer(port)
    return table


def wants(keys: Iterable[Key], group: Hashable = None) -> Wanted:
    return Wanted(tuple(keys), group)


def grouped(keys: Iterable[Key], owner: str) -> Wanted:
    return wants(keys, owner[0])


def halved(keys: Iterable[Key], owner: str) -> Wanted:
    return wants(keys, owner in "ab")


def test_the_first_port_that_is_free_for_all_keys() -> None:
    table = offered("p1", "p2")
    table.claim("a", ["p1"], wants([WEB]))
    assert table.first_fit(wants([TLS])) == "p1"
    assert table.first_fit(wants([WEB])) == "p2"
    assert table.first_fit(wants([TLS, WEB])) == "p2"
    table.claim("b", ["p2"], wants([WEB]))
    assert table.first_fit(wants([WEB])) is None


def test_protocols_do_not_collide() -> None:
    table = offered("p1")
    table.claim("a", ["p1"], wants([Key("TCP", 53)]))
    assert table.first_fit(wants([Key("UDP", 53)])) == "p1"


def test_a_port_that_is_not_on_offer_is_given_to_nobody_new_and_kept_by_who_has_it() -> None:
    table = offered("p1")
    table.claim("a", ["p1"], wants([WEB]))
    table.withdraw("p1")
    assert table.first_fit(wants([TLS])) is None
    assert table.ports_of("a") == ("p1",)
    assert table.used() == {"p1"}
    table.release("a")
    assert table.used() == frozenset()


def test_what_is_reserved_is_shared_and_never_given_out_because_it_is_free() -> None:
    table = offered("p1")
    table.offer("p1", reserved=True)
    assert table.first_fit(wants([WEB])) is None
    table.claim("a", ["p1"], wants([WEB]))
    assert table.first_fit(wants([TLS])) == "p1"
    table.release("a")
    assert table.first_fit(wants([TLS])) is None
    table.offer("p1")
    assert table.first_fit(wants([TLS])) == "p1"
    table.offer("p1", reserved=True)
    table.withdraw("p1")
    table.offer("p2")
    assert table.first_fit(wants([TLS])) == "p2", "it has the place of the one before it, and nothing else of it"


def test_who_moves_has_what_it_had_elsewhere() -> None:
    table = offered("p1", "p2")
    table.claim("a", ["p1"], wants([WEB]))
    table.move("a", ["p2"])
    assert table.ports_of("a") == ("p2",)
    assert table.used() == {"p2"}
    assert table.first_fit(wants([WEB])) == "p1"
    table.move("nobody", ["p1"])
    assert table.used() == {"p2"}


def test_of_two_that_claim_the_same_the_first_fits() -> None:
    table = offered("p1")
    table.claim("a", ["p1"], wants([WEB, TLS]))
    table.claim("b", ["p1"], wants([TLS]))
    assert table.fits("p1", wants([WEB, TLS]), "a")
    assert not table.fits("p1", wants([TLS]), "b")
    table.claim("a", ["p1"], wants([WEB]))
    assert table.fits("p1", wants([TLS]), "b")


def test_who_claims_again_what_it_has_keeps_its_turn() -> None:
    table = offered("p1")
    table.claim("a", ["p1"], wants([TLS]))
    table.claim("b", ["p1"], wants([TLS]))
    table.claim("a", ["p1"], wants([TLS]))
    assert table.fits("p1", wants([TLS]), "a")


def test_who_changes_what_it_wants_keeps_its_turn_for_what_it_kept() -> None:
    """Somebody who claims what is another's does not get it because that one changed something else."""
    table: Allocations[str, str] = Allocations()
    table.offer("p1")
    table.claim("a", ["p1"], grouped([WEB, TLS], "a"))
    table.claim("a2", ["p1"], grouped([TLS], "a2"))
    table.claim("b", ["p1"], grouped([DNS], "b"))
    table.claim("a", ["p1"], grouped([TLS, Key("TCP", 8080)], "a"))
    assert table.fits("p1", grouped([TLS, Key("TCP", 8080)], "a"), "a")
    assert not table.fits("p1", grouped([TLS], "a2"), "a2")
    assert not table.fits("p1", grouped([DNS], "b"), "b")
    table.release("a2")
    table.claim("a", ["p1"], grouped([DNS], "a"))
    assert table.fits("p1", grouped([DNS], "a"), "a"), "what another group claims on its port does not count"
    assert table.rival("p1", grouped([DNS], "b"), "b") == "a"


def test_no_keys_fit_anywhere() -> None:
    assert offered("p1").first_fit(wants([])) == "p1"
    assert offered().first_fit(wants([WEB])) is None


def test_what_everybody_let_go_is_given_out_again() -> None:
    """However often it was: a port on offer stays on offer."""
    table = offered("p1")
    for owner in "abc":
        assert table.first_fit(wants([WEB])) == "p1"
        table.claim(owner, ["p1"], wants([WEB]))
        assert table.first_fit(wants([WEB])) is None
        table.release(owner)
        assert table.used() == frozenset()


def test_kinds_are_told_apart_and_an_owner_has_one_of_each() -> None:
    table: Allocations[str, str] = Allocations()
    table.offer("p4", "IPv4")
    table.offer("p6", "IPv6")
    assert table.first_fit(wants([WEB]), "IPv4") == "p4"
    assert table.first_fit(wants([WEB]), "IPv6") == "p6"
    table.claim("a", ["p4", "p6"], wants([WEB]))
    assert table.first_fit(wants([WEB]), "IPv6") is None
    table.claim("a", ["p4"], wants([WEB]))
    assert table.first_fit(wants([WEB]), "IPv6") == "p6"
    table.offer("p6", "IPv4")
    assert table.first_fit(wants([WEB]), "IPv6") is None


def test_what_the_group_has_comes_before_what_nobody_has() -> None:
    """Who takes what is nobody's, where it could have shared, takes it from the next one."""
    table = offered("p1", "p2")
    table.claim("a", ["p2"], wants([WEB]))
    assert table.first_fit(wants([TLS])) == "p2"
    assert table.first_fit(wants([WEB])) == "p1"


def test_who_changes_its_group_begins_anew() -> None:
    table = offered("p1")
    table.claim("a", ["p1"], wants([WEB], "x"))
    table.claim("b", ["p1"], wants([TLS], "x"))
    table.claim("a", ["p1"], wants([WEB], "y"))
    assert table.rival("p1", wants([WEB], "y"), "a") == "b"
    assert table.fits("p1", wants([TLS], "x"), "b")


KEYS = st.lists(st.sampled_from((WEB, TLS, DNS, Key("TCP", 53))), min_size=1, max_size=3, unique=True)


@given(st.lists(KEYS, max_size=30))
def test_as_many_ports_as_the_plainest_first_fit(wanted: list[list[Key]]) -> None:
    table = offered(*(f"p{number:02}" for number in range(30)))
    plain: list[set[Key]] = [set() for _ in range(30)]
    for number, keys in enumerate(wanted):
        port = table.first_fit(wants(keys))
        expected = next(index for index, busy in enumerate(plain) if not busy & set(keys))
        assert port == f"p{expected:02}"
        table.claim(f"s{number}", [port], wants(keys))
        plain[expected] |= set(keys)


def test_groups_do_not_share_a_port() -> None:
    table: Allocations[str, str] = Allocations()
    for port in ("p1", "p2"):
        table.offer(port)
    table.claim("a1", ["p1"], grouped([WEB], "a1"))
    assert table.first_fit(grouped([TLS], "a2")) == "p1"
    assert table.first_fit(grouped([TLS], "b1")) == "p2"
    table.claim("b1", ["p1"], grouped([TLS], "b1"))  # its owner wrote so
    assert table.rival("p1", grouped([TLS], "b1"), "b1") == "a1"
    assert table.fits("p1", grouped([WEB], "a1"), "a1")
    assert table.first_fit(grouped([DNS], "a2")) == "p2", "a port that two groups have is given to neither"
    table.release("a1")
    assert table.fits("p1", grouped([TLS], "b1"), "b1")
    assert table.first_fit(grouped([DNS], "b2")) == "p1"
    assert table.first_fit(grouped([DNS], "a2")) == "p2"


class Life(RuleBasedStateMachine):
    """Any order of claims, releases, offers and withdrawals, beside a list of who has what; two groups of owners."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Allocations[str, str] = Allocations()
        self.offers: set[str] = set()
        self.claims: dict[str, tuple[str, list[Key]]] = {}

    @rule(port=st.sampled_from("pqrs"))
    def offer(self, port: str) -> None:
        self.table.offer(port)
        self.offers.add(port)

    @rule(port=st.sampled_from("pqrs"))
    def withdraw(self, port: str) -> None:
        self.table.withdraw(port)
        self.offers.discard(port)

    @rule(owner=st.sampled_from("abcd"), keys=KEYS)
    def take(self, owner: str, keys: list[Key]) -> None:
        port = self.table.first_fit(halved(keys, owner))
        busy = {(where, key) for where, held in self.claims.values() for key in held}
        strange = {where for other, (where, _) in self.claims.items() if (other in "ab") != (owner in "ab")}
        free = [each for each in self.offers - strange if not any((each, key) in busy for key in keys)]
        assert (port in free) if free else port is None
        if port is not None:
            self.table.claim(owner, [port], halved(keys, owner))
            self.claims[owner] = (port, keys)

    @rule(owner=st.sampled_from("abcd"))
    def leave(self, owner: str) -> None:
        self.table.release(owner)
        self.claims.pop(owner, None)

    @invariant()
    def nothing_collides_and_nothing_is_lost(self) -> None:
        assert self.table.used() == {port for port, _ in self.claims.values()}
        for owner, (port, keys) in self.claims.items():
            assert self.table.ports_of(owner) == (port,)
            assert self.table.fits(port, halved(keys, owner), owner)


TestLife = Life.TestCase
