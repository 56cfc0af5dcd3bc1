"""What is done about something of ours: every row, and the order."""

import msgspec
import pytest

from mooring.core import cleaning, mark
from mooring.core.cleaning import CleaningStep, Doom, Label, Remove, Rescue
from mooring.model import names
from mooring.model.cloud import FloatingIp, FloatingIpId, NetworkId, Port, PortId, ProjectId


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
    assert [(type(step), step.what.id) for step in steps] == [(Rescue, "a"), (Remove, "z"), (Remove, "b")]


def test_our_mark_is_read_as_it_was_written() -> None:
    assert mark.load(mark.dump("5eed")) == "5eed"


@pytest.mark.parametrize("text", ["", "somebody's port", "mooring", "Mooring cluster x"])
def test_what_is_not_our_mark(text: str) -> None:
    assert mark.load(text) is None
