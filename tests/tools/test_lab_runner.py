"""Starting parts: each after what it needs, side by side where nothing forbids it, and nothing more after a failure."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.lab import runner
from mooring.lab.errors import LabError, PartError
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.runner import Took

PATIENCE = 10  # seconds after which something that should happen has not; nobody waits that long when all is well


class Recorder:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.seconds: dict[str, float] = {}

    def planned(self, parts: Sequence[Part]) -> None:
        self.told.append(("planned", " ".join(part.name for part in parts)))

    def began(self, part: str) -> None:
        self.told.append(("began", part))

    def finished(self, part: str, seconds: float) -> None:
        self.told.append(("finished", part))
        self.seconds[part] = seconds

    def failed(self, part: str) -> None:
        self.told.append(("failed", part))

    def when(self, what: str, part: str) -> int:
        return self.told.index((what, part))


def nothing(_: Lab) -> None:
    pass


def failing(error: BaseException) -> Callable[[Lab], None]:
    def start(_: Lab) -> None:
        raise error

    return start


@st.composite
def worlds(draw: st.DrawFn) -> list[Part]:
    made: list[Part] = []
    for number in range(draw(st.integers(1, 6))):
        earlier = st.lists(st.sampled_from([each.name for each in made] or [""]), unique=True, max_size=len(made))
        needs = tuple(name for name in draw(earlier) if name)
        made.append(Part(f"p{number}", nothing, needs=needs, after=tuple(name for name in draw(earlier) if name)))
    return draw(st.permutations(made))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the lab is only handed on
@given(world=worlds())
def test_every_part_begins_after_all_that_it_waits_for_has_finished(lab: Lab, world: list[Part]) -> None:
    watcher = Recorder()
    took = runner.run(world, lab, watcher)
    assert watcher.told[0] == ("planned", " ".join(part.name for part in world))
    assert sorted(each.part for each in took) == sorted(part.name for part in world)
    assert len(watcher.told) == 1 + 2 * len(world)
    for part in world:
        waited_for = (*part.needs, *part.after)
        assert all(watcher.when("finished", name) < watcher.when("began", part.name) for name in waited_for)
        [own] = [each for each in took if each.part == part.name]
        last = max(waited_for, key=lambda name: watcher.when("finished", name), default="")
        assert (own.after, own.seconds) == (last, watcher.seconds[part.name])


def test_parts_that_do_not_need_each_other_start_side_by_side(lab: Lab) -> None:
    meeting = threading.Barrier(3)  # nobody leaves before all three have come

    def meet(_: Lab) -> None:
        meeting.wait(PATIENCE)

    world = [Part("base", nothing), *(Part(name, meet, needs=("base",)) for name in ("x", "y", "z"))]
    assert len(runner.run(world, lab, Recorder())) == 4


def test_a_part_does_not_wait_for_those_that_it_does_not_need(lab: Lab) -> None:
    late_may_end = threading.Event()

    def late(_: Lab) -> None:
        late_may_end.wait(PATIENCE)

    world = [
        Part("late", late),
        Part("early", nothing),
        Part("second", lambda _: late_may_end.set(), needs=("early",)),
    ]
    watcher = Recorder()
    runner.run(world, lab, watcher)
    assert watcher.when("finished", "second") < watcher.when("finished", "late")
    assert watcher.seconds["late"] < PATIENCE


def test_parts_are_handed_the_lab(lab: Lab) -> None:
    seen: list[Lab] = []
    runner.run([Part("one", seen.append)], lab, Recorder())
    assert seen == [lab]


def test_needs_outside_of_the_list_are_taken_for_granted(lab: Lab) -> None:
    assert [each.part for each in runner.run([Part("one", nothing, needs=("running",))], lab, Recorder())] == ["one"]


def test_nothing_to_start(lab: Lab) -> None:
    assert runner.run([], lab, Recorder()) == []


def test_after_a_failure_nothing_more_is_started(lab: Lab) -> None:
    slow_may_end, slow_began = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    started: list[str] = []

    def slow(_: Lab) -> None:
        threads.append(threading.current_thread())
        slow_began.set()
        slow_may_end.wait(PATIENCE)

    def broken(_: Lab) -> None:
        slow_began.wait(PATIENCE)
        raise LabError("the disk is full", hint="make room")

    world = [
        Part("slow", slow),
        Part("broken", broken),
        Part("on-broken", lambda _: started.append("on-broken"), needs=("broken",)),
        Part("on-slow", lambda _: started.append("on-slow"), needs=("slow",)),
    ]
    watcher = Recorder()
    with pytest.raises(PartError) as failure:
        runner.run(world, lab, watcher)
    assert (failure.value.part, failure.value.what) == ("broken", "broken: the disk is full")
    assert failure.value.hint == "make room"
    assert watcher.told[-1] == ("failed", "broken")
    slow_may_end.set()
    threads[0].join(PATIENCE)
    assert started == []


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (LabError("no room"), "x: no room"),
        (PartError("other", "is not running", log=Path("east/log/other.log")), "other: is not running"),
        (KeyError("NAME"), "x: KeyError: 'NAME'"),
        (SystemExit(3), "x: SystemExit: 3"),
    ],
)
def test_each_kind_of_failure_is_explained(error: BaseException, what: str, lab: Lab) -> None:
    lab.place.log_of("x").write_text("first\nlast words\n")
    with pytest.raises(PartError) as failure:
        runner.run([Part("x", failing(error))], lab, Recorder())
    assert failure.value.what == what
    assert failure.value.hint
    if failure.value.part == "x":
        assert failure.value.__cause__ is error
        assert failure.value.log_tail() == ["first", "last words"]


def took(part: str, began: float, seconds: float, after: str = "") -> Took:
    return Took(part=part, began=began, seconds=seconds, after=after)


@pytest.mark.parametrize(
    ("all_of_them", "chain"),
    [
        ([took("a", 0, 1)], ["a"]),
        ([took("a", 0, 1), took("b", 1, 1, "a"), took("c", 0, 1.5)], ["a", "b"]),
        ([took("a", 0, 1), took("b", 1, 1, "a"), took("c", 0, 3)], ["c"]),
        ([took("a", 0, 1), took("b", 0, 2), took("c", 2, 1, "b"), took("d", 3, 1, "c")], ["b", "c", "d"]),
    ],
)
def test_the_path_is_the_chain_that_decided_the_time(all_of_them: list[Took], chain: list[str]) -> None:
    assert [each.part for each in runner.path(all_of_them)] == chain
    assert [each.part for each in runner.path(all_of_them[::-1])] == chain
