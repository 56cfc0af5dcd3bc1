"""The owner of a gateway's state, over a host in memory: what is refused, what a failure leaves, what a start does."""

import itertools
from collections.abc import Callable, Mapping

import msgspec
import pytest

from mooring.agent.gateway import MOST_TROUBLE, Choices, Gateway, NotApplied, Outcome
from mooring.agent.rules import LOOK_EVERY
from mooring.core import gateway_document
from mooring.core.freshness import ALIVE, ALIVE_HOLDING, GRACE, HOLDING
from mooring.core.gateway_checks import Reason
from mooring.core.told import Refused
from mooring.core.vrrp import GIVE_WAY
from mooring.core.vrrp import Vrrp as VrrpSettings
from mooring.host.connections import Way
from mooring.host.disk import DiskError
from mooring.host.errors import HostError
from mooring.host.journal import DAMAGED, NAME
from mooring.host.keepalived import KeepalivedError
from mooring.host.nftables import NftError
from mooring.model.gateway import Backend, Delta, Document, Forward, Heartbeat, Held, Refusal, State, Vrrp
from mooring.model.rules import Element
from tests.silent import SILENT
from tests.simulation.gateway import elements, in_journal
from tests.simulation.host import Kernel, Machine, Table

SETTINGS = VrrpSettings("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")
WEB = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080), Backend("10.1.0.8", 8080)))
FEWER = msgspec.structs.replace(WEB, backends=WEB.backends[:1])
DNS = Forward("10.0.0.6", "UDP", 53, "shop/dns", (Backend("10.1.0.9", 53), Backend("10.1.0.10", 53)))
SIX = Forward("fd00::5", "TCP", 443, "shop/six", (Backend("fd00:1::7", 8443),))

STICKY = msgspec.structs.replace(WEB, affinity=60)
PARTS = 7
"""Turns that a look takes, and one more to put right what it found."""

ERRORS: Mapping[str, tuple[type[HostError], Reason]] = {
    "rules": (NftError, Reason.RULES_REFUSED),
    "vrrp": (KeepalivedError, Reason.VRRP_REFUSED),
    "disk": (DiskError, Reason.DISK_REFUSED),
}


class Dead(Exception):
    """The agent was killed."""


class Bench:
    """A gateway with a host, a clock, and a plan of what goes wrong at which point."""

    def __init__(self) -> None:
        self.now = 100.0
        self.reached: list[str] = []
        self.wrong: Callable[[int, str], None] = lambda _number, _kind: None
        self.machine = Machine(self._point)
        self.gateway = self.agent()
        self.gateway.start()

    def agent(self) -> Gateway:
        return Gateway(self.machine.host, SETTINGS, Choices(version="1"), log=SILENT, clock=lambda: self.now)

    def restart(self) -> None:
        self.gateway = self.agent()
        self.gateway.start()

    def put(self, document: Document | Delta) -> Outcome:
        self.reached.clear()
        return self.gateway.put(document)

    def looked(self) -> None:
        """Let it look at everything."""
        self.now += LOOK_EVERY
        for _ in range(PARTS):
            self.gateway.tend()

    def holds(self, document: Document) -> bool:
        """Whether journal, rules, addresses and the gateway's own word are of a document."""
        machine = self.machine
        machine.check()
        return (
            machine.bare is None
            and self.gateway.state().held == document.held
            and in_journal(machine.disk) == document
            and machine.kernel.in_force == elements(document)
            and machine.daemon.addresses == {each.address for each in document.forwards}
        )

    def _point(self, kind: str) -> None:
        self.reached.append(kind)
        self.wrong(len(self.reached) - 1, kind)


def document(generation: int, *forwards: Forward, epoch: int = 1, seed: int = 7) -> Document:
    return gateway_document.document(forwards, epoch=epoch, generation=generation, seed=seed)


def between(old: Document, new: Document) -> Delta:
    before, after = (gateway_document.by_place(each.forwards) for each in (old, new))
    places = [place for place in {*before, *after} if before.get(place) != after.get(place)]
    return gateway_document.delta(old.held, new.held, places, after)


OLD = document(1, WEB, DNS)
WAYS = {
    "endpoint": document(2, FEWER, DNS),
    "address more": document(2, WEB, DNS, SIX),
    "address less": document(2, WEB),
    "other addresses": document(2, FEWER, SIX),
    "seed": document(2, WEB, DNS, seed=8),
    "nothing": document(2),
}


@pytest.mark.parametrize("new", WAYS.values(), ids=WAYS)
def test_a_document_is_in_force_when_it_is_taken(new: Document) -> None:
    bench = Bench()
    assert bench.put(OLD) is Outcome.APPLIED
    assert bench.holds(OLD)
    assert bench.put(new) is Outcome.APPLIED
    assert bench.holds(new)


def test_what_is_held_already_touches_nothing() -> None:
    bench = Bench()
    bench.put(OLD)
    assert bench.put(OLD) is Outcome.UNCHANGED
    assert bench.reached == []


def test_an_endpoint_touches_neither_addresses_nor_more_than_one_transaction() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.put(WAYS["endpoint"])
    assert [kind for kind in bench.reached if kind != "disk"] == ["rules"]


def test_what_differs_is_one_transaction_and_one_line_in_the_journal() -> None:
    bench = Bench()
    bench.put(OLD)
    before = bench.machine.disk.read(NAME) or b""
    assert bench.put(between(OLD, WAYS["endpoint"])) is Outcome.APPLIED
    assert bench.reached == ["rules", "disk", "disk"]
    after = bench.machine.disk.read(NAME) or b""
    assert after.startswith(before)
    assert after.count(b"\n") == 2
    assert bench.holds(WAYS["endpoint"])
    bench.restart()
    assert bench.holds(WAYS["endpoint"])


@pytest.mark.parametrize("base", [document(9, WEB, DNS).held, document(1, WEB).held, Held()])
def test_what_differs_from_something_else_is_not_taken(base: Held) -> None:
    bench = Bench()
    bench.put(OLD)
    assert bench.put(msgspec.structs.replace(between(OLD, WAYS["endpoint"]), base=base)) is Outcome.BASE
    assert bench.reached == []
    assert bench.holds(OLD)


def test_a_journal_that_has_grown_is_written_anew_when_there_is_time() -> None:
    bench = Bench()
    last = OLD
    bench.put(OLD)
    for generation in range(2, 3000):
        new = document(generation, WEB if generation % 2 else FEWER, DNS)
        bench.put(between(last, new))
        last = new
        bench.gateway.tend()
        if (bench.machine.disk.read(NAME) or b"").count(b"\n") == 1:
            break
    assert generation > 1000
    assert bench.holds(last)
    assert bench.gateway.ready() is None


def test_who_fails_to_name_its_first_document_begins_with_nothing() -> None:
    bench = Bench()

    def second_time(_at: int, kind: str) -> None:
        if kind == "disk" and bench.reached.count("disk") == 4:  # the names are not made sure
            raise DiskError("simulated")

    bench.wrong = second_time
    with pytest.raises(NotApplied):
        bench.put(OLD)
    bench.wrong = lambda _number, _kind: None
    bench.gateway.tend()
    bench.restart()
    assert bench.gateway.state().held.epoch == 0
    assert bench.machine.disk.read(DAMAGED) is None
    assert bench.put(OLD) is Outcome.APPLIED
    assert bench.holds(OLD)


def test_a_line_that_was_cut_off_was_never_told_and_is_written_over() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.disk.append(NAME, b'00000000 {"half')
    bench.restart()
    assert bench.holds(OLD)
    assert bench.put(between(OLD, WAYS["endpoint"])) is Outcome.APPLIED
    bench.restart()
    assert bench.holds(WAYS["endpoint"])


def test_what_cannot_be_served_is_left_out_and_told() -> None:
    bench = Bench()
    bad = msgspec.structs.replace(WEB, protocol="ICMP")
    bench.put(document(1, bad, DNS))
    state = bench.gateway.state()
    assert [(each.service, each.reason) for each in state.left_out] == [("shop/web", "BadProtocol")]
    assert state.told == document(1, bad, DNS).digest
    assert state.held.digest == document(1, DNS).digest
    assert bench.machine.daemon.addresses == {"10.0.0.6"}
    bench.restart()
    assert bench.gateway.state().left_out == state.left_out
    assert bench.put(document(1, bad, DNS)) is Outcome.UNCHANGED


def test_the_journal_is_ready_first_and_counts_last() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.put(WAYS["other addresses"])
    assert bench.reached == ["disk", "disk", "rules", "vrrp", "vrrp", "rules", "disk", "disk"]


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("other", "outcome"),
    [
        (document(4, DNS, epoch=2), Outcome.OLDER),
        (document(99, DNS, epoch=1), Outcome.OLDER),
        (document(5, DNS, epoch=2), Outcome.OTHER),
        (document(5, WEB, epoch=2, seed=8), Outcome.OTHER),
        (document(6, DNS, epoch=2), Outcome.APPLIED),
        (document(1, DNS, epoch=3), Outcome.APPLIED),
    ],
)
def test_what_is_not_newer_is_refused(other: Document, outcome: Outcome, restarted: bool) -> None:  # noqa: FBT001 - a table
    bench = Bench()
    held = document(5, WEB, epoch=2)
    bench.put(held)
    if restarted:
        bench.restart()
    assert bench.put(other) is outcome
    assert bench.holds(other if outcome is Outcome.APPLIED else held)


def test_nonsense_touches_nothing() -> None:
    bench = Bench()
    bench.put(OLD)
    with pytest.raises(Refused) as refused:
        bench.put(document(2, WEB, WEB))
    assert refused.value.refusal.reason == Reason.TWICE.value
    assert bench.reached == []
    assert bench.holds(OLD)
    assert "only one can have it" in bench.gateway.state().trouble
    assert bench.gateway.ready() is None, "the host does what it can"
    assert bench.put(document(1, DNS)) is Outcome.OTHER
    assert bench.gateway.state().trouble
    assert bench.put(OLD) is Outcome.UNCHANGED
    assert bench.gateway.state().trouble == ""


def test_a_trouble_that_is_told_with_every_answer_is_short() -> None:
    bench = Bench()
    bench.gateway.refuses(Refusal(Reason.RULES_REFUSED.value, "x" * 10_000))
    assert len(bench.gateway.state().trouble) == MOST_TROUBLE
    assert len(bench.gateway.ready() or "") < MOST_TROUBLE + 100


def points(new: Document) -> list[str]:
    bench = Bench()
    bench.put(OLD)
    bench.put(new)
    return list(bench.reached)


CASES = [(name, number) for name, new in WAYS.items() for number in range(len(points(new)))]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_failure_at_any_effect_leaves_everything_as_before(name: str, number: int) -> None:
    bench = Bench()
    bench.put(OLD)

    def once(at: int, kind: str) -> None:
        if at == number:
            raise ERRORS[kind][0]("simulated")

    bench.wrong = once
    with pytest.raises(NotApplied) as failed:
        bench.put(WAYS[name])
    assert failed.value.refusal.reason == ERRORS[bench.reached[number]][1].value
    assert "simulated" in failed.value.refusal.message
    assert bench.holds(OLD)
    assert bench.gateway.ready() == "the last document could not be applied: simulated"
    assert bench.gateway.state().trouble == "simulated"
    bench.wrong = lambda _number, _kind: None
    assert bench.put(WAYS[name]) is Outcome.APPLIED
    assert bench.holds(WAYS[name])
    assert bench.gateway.ready() is None
    assert bench.gateway.state().trouble == ""


@pytest.mark.parametrize(("name", "number"), CASES)
def test_where_even_the_way_back_fails_it_is_found_later(name: str, number: int) -> None:
    bench = Bench()
    bench.put(OLD)

    def from_then_on(at: int, kind: str) -> None:
        if at >= number:
            raise ERRORS[kind][0]("simulated")

    bench.wrong = from_then_on
    with pytest.raises(NotApplied):
        bench.put(WAYS[name])
    assert bench.gateway.state().held == OLD.held
    bench.wrong = lambda _number, _kind: None
    bench.gateway.tend()
    assert bench.holds(OLD)
    assert bench.put(OLD) is Outcome.UNCHANGED
    assert bench.gateway.ready() is None
    assert bench.gateway.state().trouble == ""
    bench.restart()
    assert bench.holds(OLD)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_killed_at_any_effect_and_at_any_of_the_start_it_is_whole(name: str, number: int) -> None:
    for again in itertools.count():
        bench = Bench()
        bench.put(OLD)
        bench.wrong = _dies(number)
        with pytest.raises(Dead):
            bench.put(WAYS[name])
        bench.reached.clear()
        bench.wrong = _dies(again)
        try:
            bench.restart()
        except Dead:
            bench.wrong = lambda _number, _kind: None
            bench.restart()
        else:
            break
        assert bench.holds(OLD) or bench.holds(WAYS[name])
    assert again > 0


@pytest.mark.parametrize("number", range(4))
def test_what_a_failed_start_did_not_release_is_not_forgotten(number: int) -> None:
    """A death leaves an address too many, VRRP does not follow at the start, and the next try is another death."""
    bench = Bench()
    bench.put(OLD)
    bench.wrong = _dies(points(WAYS["address more"]).index("disk", 2))
    with pytest.raises(Dead):
        bench.put(WAYS["address more"])
    assert "fd00::5" in bench.machine.daemon.addresses

    def second_time(_at: int, kind: str) -> None:
        if kind == "vrrp" and bench.reached.count("vrrp") == 3:  # the first one is the priority
            raise KeepalivedError("simulated")

    bench.reached.clear()
    bench.wrong = second_time
    bench.restart()
    assert bench.gateway.ready() is not None
    bench.reached.clear()
    bench.wrong = _dies(number)
    try:
        bench.gateway.tend()
    except Dead:
        bench.wrong = lambda _number, _kind: None
        bench.restart()
    assert bench.holds(OLD)


def _dies(number: int) -> Callable[[int, str], None]:
    def at(reached: int, _kind: str) -> None:
        if reached == number:
            raise Dead

    return at


def test_a_start_brings_back_rules_before_addresses() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.kernel.spoil({})
    bench.machine.daemon.alive = False
    bench.machine.daemon.addresses = frozenset()
    bench.reached.clear()
    bench.restart()
    assert bench.holds(OLD)
    priority = bench.reached.index("vrrp")
    assert bench.reached.index("rules") < bench.reached.index("vrrp", priority + 1)


def test_a_start_without_vrrp_goes_on_and_says_so() -> None:
    bench = Bench()
    bench.put(OLD)

    def no_vrrp(_at: int, kind: str) -> None:
        if kind == "vrrp":
            raise KeepalivedError("simulated")

    bench.wrong = no_vrrp
    bench.restart()
    assert bench.gateway.ready() == "keepalived does not follow the last document"
    assert bench.gateway.state().trouble == "simulated"
    bench.wrong = lambda _number, _kind: None
    bench.gateway.tend()
    assert bench.gateway.ready() is None
    assert bench.holds(OLD)


@pytest.mark.parametrize("whole", [True, False])
def test_a_damaged_journal_is_set_aside_and_the_gateway_gives_way(whole: bool) -> None:  # noqa: FBT001 - a table
    bench = Bench()
    bench.put(OLD)
    bench.gateway.heartbeat(Heartbeat(1, 1))
    bench.machine.disk.write(NAME, b'{"epoch": 1')

    def no_disk(_at: int, kind: str) -> None:
        if kind == "disk" and not whole:
            raise DiskError("simulated")

    bench.wrong = no_disk
    bench.restart()
    bench.wrong = lambda _number, _kind: None
    assert bench.machine.disk.read(DAMAGED) == (b'{"epoch": 1' if whole else None)
    assert bench.gateway.state().held == Held()
    assert bench.gateway.state().stale
    assert bench.machine.daemon.lowered_by == GIVE_WAY
    assert bench.machine.daemon.addresses == frozenset()
    assert bench.put(OLD) is Outcome.APPLIED
    bench.restart()
    assert bench.holds(OLD)


def test_a_vrrp_daemon_that_ended_is_started_again() -> None:
    bench = Bench()
    bench.put(OLD)
    assert not bench.gateway.tend()
    bench.machine.daemon.alive = False
    assert bench.gateway.tend()
    assert bench.machine.daemon.alive
    assert bench.holds(OLD)


@pytest.mark.parametrize("left", [(), ("ip",), ("ip6",)])
def test_rules_that_somebody_else_removed_are_loaded_again(left: tuple[str, ...]) -> None:
    bench = Bench()
    bench.put(OLD)
    kernel = bench.machine.kernel
    kernel.spoil({where: table for where, table in kernel.all.items() if where[0] in left})
    bench.gateway.tend()
    bench.machine.bare = None  # that it was so was the doing of others
    assert bench.holds(OLD)
    assert bench.gateway.ready() is None


def test_a_document_that_does_not_fit_what_somebody_else_did_succeeds_the_next_time() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.kernel.spoil(without(bench.machine.kernel, "services"))
    with pytest.raises(NotApplied):
        bench.put(WAYS["endpoint"])
    assert bench.holds(OLD)
    assert bench.put(WAYS["endpoint"]) is Outcome.APPLIED
    assert bench.holds(WAYS["endpoint"])


def without(kernel: Kernel, name: str) -> dict[tuple[str, str], Table]:
    """Its tables, without the elements of a map."""
    tables = {where: table.copy() for where, table in kernel.all.items()}
    for table in tables.values():
        table.maps[name] = {}
    return tables


@pytest.mark.parametrize("name", ["services", "be", "backends", "vips", "counted"])
def test_elements_that_somebody_else_removed_are_noticed_after_a_while(name: str) -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.kernel.spoil(without(bench.machine.kernel, name))
    bench.looked()
    bench.machine.bare = None  # that it was so was the doing of others
    assert bench.holds(OLD)
    assert bench.gateway.rules.repaired == 1


def test_damage_is_found_beside_a_busy_neighbour() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.kernel.spoil(without(bench.machine.kernel, "be"))
    bench.now += LOOK_EVERY
    for _ in range(PARTS):
        bench.machine.kernel.spoil(dict(bench.machine.kernel.all))
        bench.gateway.tend()
    assert bench.gateway.rules.repaired == 1
    assert bench.holds(OLD)


def test_damage_is_found_although_we_change_something_ourselves() -> None:
    """A new time to remember adds a chain of ours, and a backend that goes takes memories with it."""
    for change in (
        msgspec.structs.replace(STICKY, affinity=90),
        msgspec.structs.replace(STICKY, backends=WEB.backends[:1]),
    ):
        bench = Bench()
        bench.put(document(1, STICKY, DNS))
        tables = {where: table.copy() for where, table in bench.machine.kernel.all.items()}
        for table in tables.values():
            table.chains |= {"foreign"}
        bench.machine.kernel.spoil(tables)
        new = document(2, change, DNS)
        bench.put(new)
        bench.looked()
        assert bench.gateway.rules.repaired == 1
        assert bench.holds(new)


def test_ranges_are_there_before_they_keep_anybody_out() -> None:
    """The kernel has ranges a moment later than the rest of a transaction."""
    bench = Bench()
    bench.put(OLD)
    seen: list[tuple[bool, bool]] = []

    def watched(_at: int, kind: str) -> None:
        if kind in {"rules", "disk"}:
            there = {each.set for each in bench.machine.kernel.in_force}
            seen.append(("limited" in there, "allowed" in there))

    bench.wrong = watched
    bench.put(document(2, msgspec.structs.replace(WEB, sources=("10.9.0.0/16",)), DNS))
    assert (False, True) in seen
    assert (True, False) not in seen


def test_a_client_does_not_come_back_to_a_backend_that_is_gone() -> None:
    bench = Bench()
    bench.put(document(1, STICKY, DNS))
    kernel = bench.machine.kernel
    table = next(name for (_, name), awake in kernel.tables().items() if awake)
    service = bytes((10, 0, 0, 5)) + b"\x06\0\0\0" + b"\0\x50\0\0"
    remembered = [
        Element("ip", "affinity", bytes((10, 9, 0, number)) + service, bytes((10, 1, 0, number)) + b"\x1f\x90\0\0")
        for number in (7, 8)
    ]
    kernel.fill(table, remembered)
    bench.put(document(2, msgspec.structs.replace(STICKY, backends=WEB.backends[:1]), DNS))
    assert set(kernel.elements("ip", table, "affinity")) == set(remembered[:1])
    bench.restart()
    table = next(name for (_, name), awake in kernel.tables().items() if awake)
    assert set(kernel.elements("ip", table, "affinity")) == set(remembered[:1]), "a load keeps what is remembered"


def test_changes_of_ours_are_no_damage() -> None:
    bench = Bench()
    bench.put(document(1, STICKY, DNS))
    for generation, affinity in enumerate((90, 120, 90), 2):
        bench.put(document(generation, msgspec.structs.replace(STICKY, affinity=affinity), DNS))
        bench.looked()
    assert bench.gateway.rules.repaired == 0


def test_a_rule_that_somebody_else_added_is_noticed() -> None:
    bench = Bench()
    bench.put(OLD)
    tables = {where: table.copy() for where, table in bench.machine.kernel.all.items()}
    for table in tables.values():
        table.chains |= {"foreign"}
    bench.machine.kernel.spoil(tables)
    bench.looked()
    assert bench.gateway.rules.repaired == 1
    assert not any("foreign" in table.chains for table in bench.machine.kernel.all.values())


def test_changes_that_are_not_about_us_are_no_reason_to_do_anything() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.kernel.spoil(dict(bench.machine.kernel.all))
    bench.reached.clear()
    bench.looked()
    assert "rules" not in bench.reached
    assert bench.gateway.rules.repaired == 0


def test_nothing_to_tend_touches_nothing() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.put(document(2, msgspec.structs.replace(WEB, service="shop/renamed"), DNS))
    bench.reached.clear()
    bench.gateway.tend()
    assert bench.reached == []


@pytest.mark.parametrize("between", [(), (Vrrp.STOPPED,), (Vrrp.UNKNOWN, Vrrp.STOPPED)])
def test_who_loses_the_addresses_forgets_their_connections(between: tuple[Vrrp, ...]) -> None:
    bench = Bench()
    bench.put(OLD)
    for state in (Vrrp.MASTER, *between):
        bench.machine.daemon.vrrp = state
        bench.gateway.tend()
    assert bench.machine.connections.addresses == []
    bench.machine.daemon.vrrp = Vrrp.BACKUP
    bench.gateway.tend()
    bench.gateway.tend()
    assert bench.machine.connections.addresses == [frozenset({"10.0.0.5", "10.0.0.6"})]
    assert bench.gateway.state().vrrp is Vrrp.BACKUP


def test_flows_to_a_backend_that_is_gone_are_forgotten() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.put(document(2, WEB, msgspec.structs.replace(DNS, backends=DNS.backends[1:])))
    assert bench.machine.connections.ways == [Way("10.0.0.6", "UDP", 53, "10.1.0.9", 53)]


def test_what_came_before_its_address_or_before_a_death_is_forgotten_once() -> None:
    bench = Bench()
    bench.gateway.tend()
    bench.put(OLD)
    assert bench.machine.connections.strays == []
    bench.gateway.tend()
    bench.gateway.tend()
    [(addresses, protocols, ways)] = bench.machine.connections.strays
    assert addresses == {"10.0.0.5", "10.0.0.6"}
    assert protocols == {"TCP", "UDP", "SCTP"}
    assert Way("10.0.0.6", "UDP", 53, "10.1.0.9", 53) in ways
    bench.restart()
    bench.gateway.tend()
    assert bench.machine.connections.strays[1][:2] == (addresses, frozenset({"UDP"})), "connections may drain"
    bench.put(document(2, WEB, DNS, SIX))
    bench.gateway.tend()
    assert bench.machine.connections.strays[2][:2] == (frozenset({"fd00::5"}), protocols)


def test_what_a_refused_document_left_behind_goes_with_the_next() -> None:
    bench = Bench()
    bench.put(OLD)

    def no_vrrp(_at: int, kind: str) -> None:
        if kind == "vrrp":
            raise KeepalivedError("simulated")

    bench.wrong = no_vrrp
    with pytest.raises(NotApplied):
        bench.put(document(2, WEB, DNS, SIX))
    bench.wrong = lambda _number, _kind: None
    other = document(3, FEWER, DNS)
    assert bench.put(other) is Outcome.APPLIED
    assert bench.holds(other)
    assert bench.gateway.state().trouble == ""


def test_a_gateway_that_was_never_told_anything_gives_way() -> None:
    bench = Bench()
    assert bench.gateway.state() == State(Held(), vrrp=Vrrp.MASTER, stale=True, version="1", schemas=(1, 2), snat="vip")
    assert bench.machine.daemon.lowered_by == GIVE_WAY


def test_without_heartbeats_it_gives_way_until_one_comes() -> None:
    bench = Bench()
    bench.put(OLD)
    assert bench.gateway.heartbeat(Heartbeat(1, 1))
    assert not bench.gateway.state().stale
    assert bench.machine.daemon.lowered_by == 0
    bench.now += GRACE + HOLDING + 0.1
    bench.gateway.tick()
    assert bench.gateway.state().stale
    assert bench.machine.daemon.lowered_by == GIVE_WAY
    assert bench.gateway.heartbeat(Heartbeat(1, 1))
    assert not bench.gateway.state().stale
    assert bench.machine.daemon.lowered_by == 0


def test_who_is_drained_gives_way_however_well_it_is_until_it_is_told_otherwise() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.gateway.heartbeat(Heartbeat(1, 1, drained=True))
    state = bench.gateway.state()
    assert (state.stale, state.drained, bench.machine.daemon.lowered_by) == (False, True, GIVE_WAY)
    bench.now += GRACE + HOLDING + 0.1
    bench.gateway.tick()
    assert bench.gateway.state().stale
    bench.gateway.heartbeat(Heartbeat(1, 1))
    state = bench.gateway.state()
    assert (state.stale, state.drained, bench.machine.daemon.lowered_by) == (False, False, 0)


def test_who_stays_behind_the_newest_document_gives_way_until_it_has_it() -> None:
    bench = Bench()
    bench.put(OLD)
    for _ in range(6):
        bench.gateway.heartbeat(Heartbeat(1, 2))
        bench.now += 1.0
    bench.gateway.tick()
    assert bench.gateway.state().stale
    bench.put(WAYS["endpoint"])
    bench.gateway.tick()
    assert not bench.gateway.state().stale


def test_a_leader_of_an_older_epoch_is_not_heard() -> None:
    bench = Bench()
    bench.put(document(1, WEB, epoch=2))
    bench.now += GRACE + HOLDING + 0.1
    assert not bench.gateway.heartbeat(Heartbeat(1, 9))
    bench.gateway.tick()
    assert bench.gateway.state().stale


def test_vrrp_is_told_once_a_second_that_the_agent_lives() -> None:
    bench = Bench()
    daemon = bench.machine.daemon
    assert daemon.marks == [ALIVE_HOLDING], "before it is started, so that it never takes us for dead"
    for _ in range(12):
        bench.now += 0.25
        bench.gateway.tick()
    assert daemon.marks == [ALIVE_HOLDING] * 4
    daemon.vrrp = Vrrp.BACKUP
    bench.gateway.tend()
    bench.gateway.tick()
    assert daemon.marks[4:] == [ALIVE], "at once: its word counted for longer than it should"


def test_the_rest_goes_on_where_vrrp_cannot_be_told() -> None:
    bench = Bench()

    def never(_at: int, kind: str) -> None:
        if kind == "alive":
            raise KeepalivedError("simulated")

    bench.wrong = never
    bench.put(OLD)
    bench.now += 1.0
    assert bench.gateway.heartbeat(Heartbeat(1, 1))
    assert bench.machine.daemon.lowered_by == 0
    assert len(bench.machine.daemon.marks) == 1


def test_who_had_given_way_does_so_after_a_restart_until_it_hears_a_leader() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.gateway.heartbeat(Heartbeat(1, 1))
    bench.now += GRACE + HOLDING + 0.1
    bench.gateway.tick()
    assert bench.machine.daemon.lowered_by == GIVE_WAY
    bench.restart()
    assert bench.gateway.state().stale
    assert bench.machine.daemon.lowered_by == GIVE_WAY
    bench.gateway.heartbeat(Heartbeat(1, 1))
    assert bench.machine.daemon.lowered_by == 0


def test_a_host_that_was_just_started_gives_way_until_it_hears_a_leader() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.gateway.heartbeat(Heartbeat(1, 1))
    bench.machine.daemon.alive = False
    bench.restart()
    assert bench.gateway.state().stale
    bench.gateway.heartbeat(Heartbeat(1, 1))
    assert not bench.gateway.state().stale


def test_a_vrrp_daemon_that_hangs_is_ended_and_started_again() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.machine.daemon.hanging = True
    assert bench.gateway.tend()
    assert bench.machine.daemon.alive
    assert not bench.machine.daemon.hanging
    assert bench.holds(OLD)


@pytest.mark.parametrize("restarted", [False, True])
def test_an_address_that_the_host_cannot_hold_hurts_nobody_else(restarted: bool) -> None:  # noqa: FBT001 - a table
    bench = Bench()
    bench.machine.daemon.own = frozenset({"10.0.0.5"})
    bench.machine.daemon.six = False
    bench.put(document(1, WEB, DNS, SIX))
    if restarted:
        bench.restart()
    state = bench.gateway.state()
    assert [(each.service, each.reason) for each in state.left_out] == [
        ("shop/web", "UnfitAddress"),
        ("shop/six", "UnfitAddress"),
    ]
    assert bench.machine.daemon.addresses == {"10.0.0.6"}
    assert state.held.digest == document(1, DNS).digest


def test_all_that_is_left_out_is_told_and_a_heartbeat_spares_it() -> None:
    bench = Bench()
    bad = [Forward("10.0.0.5", "ICMP", port, f"shop/s{port}") for port in range(1, 301)]
    bench.put(document(1, *bad, DNS))
    assert len(bench.gateway.state().left_out) == 300
    assert bench.gateway.state(whole=False).left_out == ()


def test_a_restart_is_no_reason_to_give_way() -> None:
    bench = Bench()
    bench.put(OLD)
    bench.gateway.heartbeat(Heartbeat(1, 1))
    bench.now += 100.0
    bench.restart()
    assert not bench.gateway.state().stale
