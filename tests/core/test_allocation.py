"""The table of who has what: rows for its rules, and a comparison with the plainest way to do the same."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mooring.core.allocation import Allocations
from mooring.model.gateway import Key

WEB, TLS, DNS = Key("TCP", 80), Key("TCP", 443), Key("UDP", 53)


def offered(*ports: str) -> Allocations[str, str]:
    table: Allocations[str, str] = Allocations()
    for port in ports:
        table.offer(port)
    return table


def test_the_first_port_that_is_free_for_all_keys() -> None:
    table = offered("p1", "p2")
    table.claim("a", "p1", [WEB])
    assert table.first_fit([TLS], "z") == "p1"
    assert table.first_fit([WEB], "z") == "p2"
    assert table.first_fit([TLS, WEB], "z") == "p2"
    table.claim("b", "p2", [WEB])
    assert table.first_fit([WEB], "z") is None


def test_protocols_do_not_collide() -> None:
    table = offered("p1")
    table.claim("a", "p1", [Key("TCP", 53)])
    assert table.first_fit([Key("UDP", 53)], "z") == "p1"


def test_a_port_that_is_not_on_offer_is_given_to_nobody_new_and_kept_by_who_has_it() -> None:
    table = offered("p1")
    table.claim("a", "p1", [WEB])
    table.withdraw("p1")
    assert table.first_fit([TLS], "z") is None
    assert table.port_of("a") == "p1"
    assert table.used() == {"p1"}
    table.release("a")
    assert table.used() == frozenset()


def test_of_two_that_claim_the_same_the_first_fits() -> None:
    table = offered("p1")
    table.claim("a", "p1", [WEB, TLS])
    table.claim("b", "p1", [TLS])
    assert table.fits("p1", [WEB, TLS], "a")
    assert not table.fits("p1", [TLS], "b")
    table.claim("a", "p1", [WEB])
    assert table.fits("p1", [TLS], "b")


def test_who_claims_again_what_it_has_keeps_its_turn() -> None:
    table = offered("p1")
    table.claim("a", "p1", [TLS])
    table.claim("b", "p1", [TLS])
    table.claim("a", "p1", [TLS])
    assert table.fits("p1", [TLS], "a")


def test_who_changes_what_it_wants_keeps_its_turn_for_what_it_kept() -> None:
    """Somebody who claims what is another's does not get it because that one changed something else."""
    table: Allocations[str, str] = Allocations(lambda owner: owner[0])
    table.offer("p1")
    table.claim("a", "p1", [WEB, TLS])
    table.claim("a2", "p1", [TLS])
    table.claim("b", "p1", [DNS])
    table.claim("a", "p1", [TLS, Key("TCP", 8080)])
    assert table.fits("p1", [TLS, Key("TCP", 8080)], "a")
    assert not table.fits("p1", [TLS], "a2")
    assert not table.fits("p1", [DNS], "b")
    table.release("a2")
    table.claim("a", "p1", [DNS])
    assert table.fits("p1", [DNS], "a"), "what another group claims on its port does not count"
    assert table.rival("p1", [DNS], "b") == "a"


def test_no_keys_fit_anywhere() -> None:
    assert offered("p1").first_fit([], "z") == "p1"
    assert offered().first_fit([WEB], "z") is None


KEYS = st.lists(st.sampled_from((WEB, TLS, DNS, Key("TCP", 53))), min_size=1, max_size=3, unique=True)


@given(st.lists(KEYS, max_size=30))
def test_as_many_ports_as_the_plainest_first_fit(wanted: list[list[Key]]) -> None:
    table = offered(*(f"p{number:02}" for number in range(30)))
    plain: list[set[Key]] = [set() for _ in range(30)]
    for number, keys in enumerate(wanted):
        port = table.first_fit(keys, "z")
        expected = next(index for index, busy in enumerate(plain) if not busy & set(keys))
        assert port == f"p{expected:02}"
        table.claim(f"s{number}", port, keys)
        plain[expected] |= set(keys)


def test_groups_do_not_share_a_port() -> None:
    table: Allocations[str, str] = Allocations(lambda owner: owner[0])
    for port in ("p1", "p2"):
        table.offer(port)
    table.claim("a1", "p1", [WEB])
    assert table.first_fit([TLS], "a2") == "p1"
    assert table.first_fit([TLS], "b1") == "p2"
    table.claim("b1", "p1", [TLS])  # its owner wrote so
    assert table.rival("p1", [TLS], "b1") == "a1"
    assert table.fits("p1", [WEB], "a1")
    assert table.first_fit([DNS], "a2") == "p2", "a port that two groups have is given to neither"
    table.release("a1")
    assert table.fits("p1", [TLS], "b1")
    assert table.first_fit([DNS], "b2") == "p1"
    assert table.first_fit([DNS], "a2") == "p2"


class Life(RuleBasedStateMachine):
    """Any order of claims, releases, offers and withdrawals, beside a list of who has what; two groups of owners."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Allocations[str, str] = Allocations(lambda owner: owner in "ab")
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
        port = self.table.first_fit(keys, owner)
        busy = {(where, key) for where, held in self.claims.values() for key in held}
        strange = {where for other, (where, _) in self.claims.items() if (other in "ab") != (owner in "ab")}
        free = [each for each in self.offers - strange if not any((each, key) in busy for key in keys)]
        assert (port in free) if free else port is None
        if port is not None:
            self.table.claim(owner, port, keys)
            self.claims[owner] = (port, keys)

    @rule(owner=st.sampled_from("abcd"))
    def leave(self, owner: str) -> None:
        self.table.release(owner)
        self.claims.pop(owner, None)

    @invariant()
    def nothing_collides_and_nothing_is_lost(self) -> None:
        assert self.table.used() == {port for port, _ in self.claims.values()}
        for owner, (port, keys) in self.claims.items():
            assert self.table.port_of(owner) == port
            assert self.table.fits(port, keys, owner)


TestLife = Life.TestCase
