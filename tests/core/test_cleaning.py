"""What is done about something of ours: every row, and the order."""

import time

import msgspec
import pytest

from mooring.core import cleaning, mark
from mooring.core.cleaning import CleaningStep, Doom, Label, Pair, Remove, Rescue, Unpair
from mooring.model import names
from mooring.model.cloud import (
    AddressPair,
    FixedIp,
    FloatingIp,
    FloatingIpId,
    NetworkId,
    Port,
    PortId,
    ProjectId,
    SubnetId,
)


def port(name: str, *, tagged: bool = False) -> Port:
    tags = (names.TAG, names.DELETING_TAG) if tagged else (names.TAG,)
    return Port(id=PortId(name), network_id=NetworkId("n"), project_id=ProjectId("p"), revision_number=1, tags=tags)


def floating_ip(name: str, on: str | None, *, tagged: bool = False) -> FloatingIp:
    return FloatingIp(
        id=FloatingIpId(name),
        project_id=ProjectId("p"),
        revision_number=1,
        floating_network_id=NetworkId("n"),
        floating_ip_address="203.0.113.1",
        port_id=PortId(on) if on else None,
        tags=(names.TAG, names.DELETING_TAG) if tagged else (names.TAG,),
    )


@pytest.mark.parametrize(
    ("needed", "tagged", "seconds", "expected"),
    [
        (True, False, 0.0, ()),
        (True, True, 99.0, (Rescue,)),
        (False, False, 0.0, (Doom,)),
        (False, True, 59.9, ()),
        (False, True, 60.0, (Remove,)),
    ],
)
def test_each_row_of_the_table(
    needed: bool,  # noqa: FBT001 - a column of the table
    tagged: bool,  # noqa: FBT001
    seconds: float,
    expected: tuple[type[CleaningStep], ...],
) -> None:
    wanted = frozenset({PortId("a")}) if needed else frozenset()
    ports, floating_ips = [port("a", tagged=tagged)], [floating_ip("f", "a", tagged=tagged)]
    times = {"a": seconds, "f": seconds}
    steps = cleaning.steps(ports, floating_ips, wanted, tagged_for=times, wait=60.0)
    assert tuple(type(step) for step in steps) == expected * 2


def test_what_is_needed_and_lacks_our_tag_is_labelled() -> None:
    bare = msgspec.structs.replace(port("a"), tags=("somebody's",))
    assert cleaning.steps([bare], [], frozenset({PortId("a")}), tagged_for={}, wait=60.0) == (Label(bare),)


def test_a_floating_ip_without_port_is_needed_by_nobody() -> None:
    [step] = cleaning.steps([], [floating_ip("f", None)], frozenset({PortId("a")}), tagged_for={}, wait=60.0)
    assert isinstance(step, Doom)


def test_a_tag_that_was_just_seen_has_not_been_there_for_long() -> None:
    assert cleaning.steps([port("a", tagged=True)], [], frozenset(), tagged_for={}, wait=60.0) == ()


def test_rescues_come_first_and_a_floating_ip_goes_before_its_port() -> None:
    ports = [port("a", tagged=True), port("b", tagged=True)]
    floating_ips = [floating_ip("z", "b", tagged=True)]
    times = {"a": 60.0, "b": 60.0, "z": 60.0}
    steps = cleaning.steps(ports, floating_ips, frozenset({PortId("a")}), tagged_for=times, wait=60.0)
    assert steps == (Rescue(ports[0]), Remove(floating_ips[0]), Remove(ports[1]))


def at(which: Port, address: str) -> Port:
    return msgspec.structs.replace(which, fixed_ips=(FixedIp(SubnetId("s"), address),))


def gateway(name: str, *allowed: str) -> Port:
    return msgspec.structs.replace(port(name), allowed_address_pairs=tuple(AddressPair(each) for each in allowed))


def test_every_gateway_may_use_what_is_needed() -> None:
    gateways = [gateway("g2", "10.0.0.9"), gateway("g1", "10.0.0.5", "10.0.0.9")]
    steps = cleaning.steps(
        [at(port("a"), "10.0.0.5")], [], frozenset({PortId("a")}), gateways=gateways, tagged_for={}, wait=60.0
    )
    assert steps == (Pair(PortId("g2"), ("10.0.0.5",)),)


def test_no_gateway_may_use_what_goes_now_and_it_goes_after_that() -> None:
    """What only bears the tag may be needed again: it stays usable until the end."""
    going, waiting = at(port("a", tagged=True), "10.0.0.5"), at(port("b", tagged=True), "10.0.0.6")
    gateways = [gateway("g1", "10.0.0.5", "10.0.0.6", "192.0.2.1")]
    steps = cleaning.steps([going, waiting], [], frozenset(), gateways=gateways, tagged_for={"a": 60.0}, wait=60.0)
    assert steps == (Unpair(PortId("g1"), ("10.0.0.5",)), Remove(going))


def test_no_gateway_may_use_what_was_ours_and_is_gone() -> None:
    gateways = [gateway("g1", "10.0.0.5", "192.0.2.1"), gateway("g2")]
    former = frozenset({"10.0.0.5"})
    steps = cleaning.steps([], [], frozenset(), gateways=gateways, former=former, tagged_for={}, wait=60.0)
    assert steps == (Unpair(PortId("g1"), ("10.0.0.5",)),)


def test_a_second_look_finds_nothing_to_pair() -> None:
    ready = gateway("g1", "10.0.0.5")
    ours = [at(port("a"), "10.0.0.5")]
    assert cleaning.steps(ours, [], frozenset({PortId("a")}), gateways=[ready], tagged_for={}, wait=60.0) == ()


def test_our_mark_is_read_as_it_was_written() -> None:
    assert mark.load(mark.dump("5eed")) == "5eed"


@pytest.mark.parametrize("text", ["", "somebody's port", "mooring", "Mooring cluster x"])
def test_what_is_not_our_mark(text: str) -> None:
    assert mark.load(text) is None


@pytest.mark.parametrize(
    ("orphans", "needed", "let_go", "stopped"),
    [
        (5, 0, 0, False),
        (6, 0, 0, True),
        (6, 24, 0, False),
        (7, 24, 0, True),
        (30, 0, 25, False),
        (30, 0, 23, True),
        (0, 9, 0, False),
    ],
)
def test_much_at_once_is_held_back(orphans: int, needed: int, let_go: int, stopped: bool) -> None:  # noqa: FBT001 - a column
    ports = [port(f"p{number:02}") for number in range(orphans + needed)]
    wanted = frozenset(each.id for each in ports[orphans:])
    steps = cleaning.steps(ports, (), wanted, tagged_for={}, wait=60.0)
    meant = frozenset(each.id for each in ports[:let_go])
    held_back = cleaning.held_back(steps, len(ports), let_go=meant)
    assert len(held_back) == (orphans - let_go if stopped else 0)


def test_a_floating_ip_is_meant_with_its_port() -> None:
    ports = [port(f"p{number}") for number in range(4)]
    floating_ips = [floating_ip(f"f{number}", f"p{number}") for number in range(4)]
    steps = cleaning.steps(ports, floating_ips, frozenset(), tagged_for={}, wait=60.0)
    assert len(cleaning.held_back(steps, 8)) == 8
    assert cleaning.held_back(steps, 8, let_go=frozenset(each.id for each in ports)) == ()


A_PAIR, NO_PAIR = Pair(PortId("g1"), ("10.0.0.9",)), Unpair(PortId("g1"), ("10.0.0.5",))
OTHER, GOES, FLOATS = (
    Unpair(PortId("g2"), ("10.0.0.6",)),
    Remove(at(port("a"), "10.0.0.5")),
    Remove(floating_ip("f", "a")),
)


@pytest.mark.parametrize(
    ("step", "failed", "possible"),
    [
        (GOES, (), True),
        (GOES, (NO_PAIR,), False),
        (GOES, (A_PAIR, OTHER, FLOATS), True),
        (FLOATS, (NO_PAIR,), True),
        (Doom(port("a")), (NO_PAIR,), True),
        (OTHER, (NO_PAIR, GOES), True),
    ],
)
def test_a_port_stays_while_a_gateway_may_use_its_address(
    step: CleaningStep,
    failed: tuple[CleaningStep, ...],
    possible: bool,  # noqa: FBT001 - a column
) -> None:
    assert cleaning.possible(step, failed) is possible


@pytest.mark.parametrize(
    ("unanswered", "expected"),
    [
        ("", (A_PAIR, NO_PAIR, OTHER, FLOATS, GOES)),
        ("f", (A_PAIR, NO_PAIR, OTHER, GOES, FLOATS)),
        ("g1", (OTHER, FLOATS, A_PAIR, NO_PAIR, GOES)),
        ("g2", (A_PAIR, NO_PAIR, FLOATS, GOES, OTHER)),
        ("gone", (A_PAIR, NO_PAIR, OTHER, FLOATS, GOES)),
    ],
)
def test_what_was_not_answered_comes_last_and_what_waits_for_it(
    unanswered: str, expected: tuple[CleaningStep, ...]
) -> None:
    planned = (A_PAIR, NO_PAIR, OTHER, FLOATS, GOES)
    assert cleaning.in_turn(planned, frozenset({unanswered})) == expected


def test_ten_times_as_many_cost_ten_times_as_much() -> None:
    def took(count: int) -> float:
        ports = [at(port(f"p{each}"), f"10.{each >> 8}.{each & 255}.1") for each in range(count)]
        floating_ips = [floating_ip(f"f{each}", f"p{each}") for each in range(count)]
        needed = frozenset(each.id for each in ports[::2])
        begin = time.process_time()
        planned = cleaning.steps(ports, floating_ips, needed, tagged_for={}, wait=90.0)
        assert len(cleaning.held_back(planned, 2 * count)) == count
        assert len(cleaning.in_turn(planned, frozenset({"p0"}))) == len(planned)
        return time.process_time() - begin

    took(100)
    assert took(10_000) < 40 * took(1_000)
