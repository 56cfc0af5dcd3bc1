"""The real agent is killed before, within and after each of its effects, and is wholly of one document afterwards.

That goes for its journal, the kernel's rules, keepalived's configuration and the addresses of the host; and whoever
asks meanwhile at what both documents serve is answered by a backend of the one or of the other, each time.
"""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from mooring.lab import waiting
from mooring.model.gateway import Document
from tests.lab.doomed import STATES, Doomed, State, judged

pytestmark = [
    pytest.mark.usefixtures("lab"),  # which has installed nftables and keepalived
    pytest.mark.long,
]

SLICE = 2
"""Of the points of each state, so many are run in `make test`, and as many of a start after a death."""
SWEEPS = 2
"""Deaths of each state after which every point of the start is another one."""
LEAST_POINTS = 40
LEAST_RATE = 200
MOST_LOST = 0.001
"""Of the datagrams: those that were on their way when the backend that they are for went."""
HALVES = ("disk write", "disk append")
REASONS = {"disk": "DiskRefused", "nft": "RulesRefused", "vrrp": "VrrpRefused"}
UNNOTICED = ("nft forget", "connections forget")
"""Their failure is told in the log, and nothing depends on them."""
NEVER = (("after", "vrrp place"), ("after", "vrrp configure"))
"""What is done there last is seen to have been done."""
REFUSED = (
    "endpoints go, patch",
    "addresses come and go, patch",
    "addresses come and go, put",
    "sticky endpoints go",
    "more than 64 backends",
    "another seed and other addresses",
    "to nothing",
)


class Point(Struct, frozen=True):
    """The so-and-so-many-th effect, and what it is."""

    at: int
    when: str
    name: str


class Tally:
    """What was run, over all states."""

    def __init__(self) -> None:
        self.ran = self.wanted = self.asked = self.answered = self.lost = 0
        self.seconds = 0.0
        self.points: set[str] = set()
        self.states: set[str] = set()


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally()


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doomed]:
    doomed = Doomed(tmp_path_factory.mktemp("doomed"))
    try:
        doomed.create()
        yield doomed
    finally:
        doomed.end()


class Trial:
    """All deaths in one state, with a client that asks throughout."""

    def __init__(self, doomed: Doomed, state: State, tally: Tally) -> None:
        self._doomed = doomed
        self._state = state
        self._tally = tally
        self._old, self._new = doomed.documents(state)
        self._torn = False
        self.wrong: list[str] = []

    def begin(self) -> None:
        """The client is silent while the state before goes."""
        if not self._doomed.alive:
            self._doomed.start()
        self._doomed.ask(None)
        waiting.until(lambda: self._doomed.heard().waiting == 0, seconds=5, what="the last answers", interval=0.01)
        self._lead_to_old(self._doomed.documents(self._state))
        self._doomed.forget_connections()
        self._doomed.heard()
        self._doomed.ask(self._state)
        self._tally.states.add(self._state.name)

    def rehearsed(self) -> list[Point]:
        """The effects of the request, when nothing happens."""
        trace = self._doomed.plan()
        self._taken(self._new, base=self._old if self._state.patch else None)
        found = _points(trace)
        self._check("rehearsal", least=self._new)
        self._lead_to_old(self._doomed.documents(self._state))
        return found

    def dies(self, *points: Point) -> None:
        """Die at a point of the request, and then at each further one of another start."""
        self._again()
        first, *rest = points
        trace = self._doomed.plan(at=first.at, when=first.when)
        answer = self._doomed.put(self._new, base=self._old if self._state.patch else None)
        assert answer is None, f"{first} was not reached, and answered {answer}"
        self._doomed.dies()
        assert _names(trace)[first.at] == first.name
        for point in rest:
            trace = self._doomed.plan(at=point.at, when=point.when)
            self._doomed.start(planned=True)
            assert not self._doomed.alive, f"{point} was not reached"
            assert _names(trace)[point.at] == point.name
        self._doomed.start()
        self._check(" then ".join(f"{each.when} {each.at} {each.name}" for each in points), least=self._old)
        self._torn = first.when == "half"
        self._tally.ran += 1

    def dies_after_the_answer(self) -> None:
        self._again()
        self._taken(self._new, base=self._old if self._state.patch else None)
        self._doomed.kill()
        self._doomed.start()
        self._check("after the answer", least=self._new)
        self._tally.ran += 1

    def start_traced(self, death: Point) -> list[Point]:
        """The effects of a start after a death."""
        self._again()
        self._doomed.plan(at=death.at, when=death.when)
        self._doomed.put(self._new, base=self._old if self._state.patch else None)
        self._doomed.dies()
        trace = self._doomed.plan()
        self._doomed.start(planned=True)
        self._check(f"start after {death}", least=self._old)
        self._torn = death.when == "half"
        return _points(trace)

    def is_refused(self, point: Point) -> None:
        """One effect fails: the answer says why, all is as before, and the same is taken when nothing fails."""
        self._again()
        self._doomed.plan(at=point.at, when=point.when, how="refuse")
        where = f"{point.when} {point.at} {point.name}"
        self.refused(where, REASONS[point.name.split()[0]])
        self._doomed.unplan()
        differs = self._doomed.picture().differs(self._old, dark=True)
        if differs:
            self.wrong.append(f"{where}: {differs}")

    def is_well_again(self, where: str) -> None:
        """The fault is over: by itself all becomes as before."""
        waiting.until(lambda: not self._doomed.picture().differs(self._old, dark=True), seconds=15, what=where)

    def refused(self, where: str, reason: str) -> None:
        answer = self._doomed.put(self._new, base=self._old if self._state.patch else None)
        assert answer is not None, where
        status, told = answer
        if (status, getattr(told, "reason", "")) != (500, reason) or not getattr(told, "message", ""):
            self.wrong.append(f"{where}: answered {answer}")
        if self._doomed.picture().document != self._old:
            self.wrong.append(f"{where}: the journal is of another document")
        self._listen(where)

    def goes_unnoticed(self, point: Point) -> None:
        """An effect fails that nothing depends on."""
        self._again()
        self._doomed.plan(at=point.at, when=point.when, how="refuse")
        self.is_taken(f"{point.when} {point.at} {point.name}")
        self._doomed.unplan()

    def is_taken(self, where: str) -> None:
        self._taken(self._new, base=self._old if self._state.patch else None)
        self._check(where, least=self._new)
        self._tally.ran += 1

    def _again(self) -> None:
        """The old document is in force, whichever is, and the journal is whole: else the next effects are others."""
        if self._torn or self._doomed.state().held.age != self._old.held.age:
            self._lead_to_old(self._doomed.documents(self._state))

    def _lead_to_old(self, documents: tuple[Document, Document]) -> None:
        """And the agent has just started: what it does next depends on what its rules were made for."""
        self._old, self._new = documents
        self._taken(self._old)
        self._doomed.kill()
        self._doomed.start()

    def _taken(self, document: Document, *, base: Document | None = None) -> None:
        answer = self._doomed.put(document, base=base)
        assert answer is not None
        assert answer[0] == 200, answer

    def _check(self, where: str, *, least: Document) -> None:
        picture = self._doomed.picture()
        differs = {
            each.held.age: picture.differs(each) for each in (self._old, self._new) if each.held.age >= least.held.age
        }
        if all(differs.values()):
            self.wrong.append(f"{where}: {differs}, {sorted(picture.tables.items())}")
        trouble = self._doomed.state().trouble
        if trouble:
            self.wrong.append(f"{where}: {trouble}")
        self._listen(where)

    def _listen(self, where: str) -> None:
        heard = self._doomed.heard()
        verdict = judged(self._state, heard)
        self.wrong += [f"{where}: {each}" for each in verdict.wrong]
        self._tally.asked += heard.asked
        self._tally.answered += verdict.good
        self._tally.lost += verdict.lost
        self._tally.seconds += heard.seconds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All states with --whole, every other one otherwise."""
    if "state" in metafunc.fixturenames:
        chosen = STATES if metafunc.config.getoption("--whole", default=False) else STATES[::2]
        metafunc.parametrize("state", chosen, ids=lambda state: state.name)


def test_killed_anywhere_it_is_wholly_of_one_document(doomed: Doomed, tally: Tally, state: State, whole: bool) -> None:  # noqa: FBT001 - a fixture
    chance = random.Random(state.name)  # noqa: S311 - the same in every run
    trial = Trial(doomed, state, tally)
    trial.begin()
    in_request = trial.rehearsed()
    points = in_request if whole else chance.sample(in_request, min(SLICE, len(in_request)))
    tally.wanted += len(points) + 1
    for point in points:
        trial.dies(point)
    trial.dies_after_the_answer()
    tally.points |= {f"{each.when} {each.name}, request" for each in points}
    for death in chance.sample(in_request, SWEEPS if whole else 1):
        every = trial.start_traced(death)
        chosen = every if whole else chance.sample(every, SLICE)
        tally.wanted += len(chosen)
        for point in chosen:
            trial.dies(death, point)
        tally.points |= {f"{each.when} {each.name}, start" for each in chosen}
    doomed.ask(None)
    assert trial.wrong == []


def test_all_deaths_were_died(tally: Tally, whole: bool, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: FBT001 - a fixture
    rate = tally.asked / max(tally.seconds, 1e-9)
    with capfd.disabled():
        print(  # noqa: T201 - how much was run is to be seen
            f"\nran {tally.ran} of {tally.wanted} deaths at {len(tally.points)} points in {len(tally.states)} states; "
            f"{tally.answered} questions answered, {tally.lost} datagrams lost, {rate:.0f} asked a second"
        )
    assert tally.ran == tally.wanted
    assert rate >= LEAST_RATE
    assert tally.lost <= tally.asked * MOST_LOST
    if whole:
        assert len(tally.points) >= LEAST_POINTS
        assert tally.ran >= 1000
        assert len(tally.states) >= 25


def _names(trace: Path) -> list[str]:
    return trace.read_text().splitlines()


def _points(trace: Path) -> list[Point]:
    return [
        Point(at, when, name)
        for at, name in enumerate(_names(trace))
        for when in (("before", "half", "after") if name in HALVES else ("before", "after"))
    ]


def state_named(name: str) -> State:
    return next(each for each in STATES if each.name == name)


@pytest.fixture
def faults() -> Tally:
    """Of one test."""
    return Tally()


@pytest.mark.parametrize("name", REFUSED)
def test_what_fails_at_any_effect_is_refused_and_leaves_everything(
    doomed: Doomed,
    faults: Tally,
    name: str,
    whole: bool,  # noqa: FBT001 - a fixture
    capfd: pytest.CaptureFixture[str],
) -> None:
    chance = random.Random(name)  # noqa: S311 - the same in every run
    trial = Trial(doomed, state_named(name), faults)
    trial.begin()
    every = [each for each in trial.rehearsed() if (each.when, each.name) not in NEVER]
    points = every if whole else chance.sample(every, min(SLICE, len(every)))
    for point in points:
        if point.name in UNNOTICED:
            trial.goes_unnoticed(point)
        else:
            trial.is_refused(point)
            trial.is_taken(f"once {point.name} is well")
    doomed.ask(None)
    with capfd.disabled():
        print(f"\nran {faults.ran} of {len(points)} faults: {name}")  # noqa: T201 - how much was run is to be seen
    assert trial.wrong == []
    assert faults.ran == len(points)


def test_a_keepalived_that_hangs_is_told_of_and_follows_later(doomed: Doomed, faults: Tally) -> None:
    trial = Trial(doomed, state_named("addresses come and go, put"), faults)
    trial.begin()
    for pid in doomed.keepalived():
        os.kill(pid, signal.SIGSTOP)
    try:
        trial.refused("it hangs", "VrrpRefused")
    finally:
        for pid in doomed.keepalived():
            os.kill(pid, signal.SIGCONT)
    trial.is_well_again("what it held before")
    trial.is_taken("it goes on")
    assert trial.wrong == []


def test_what_keepalived_itself_refuses_changes_nothing(doomed: Doomed, faults: Tally) -> None:
    """It wants nothing to do with a script in a folder that anybody can write to."""
    trial = Trial(doomed, state_named("addresses come and go, put"), faults)
    trial.begin()
    doomed.files.chmod(0o777)
    try:
        trial.refused("its folder is open", "VrrpRefused")
    finally:
        doomed.files.chmod(0o700)
    trial.is_well_again("what it held before")
    trial.is_taken("its folder is its own")
    assert trial.wrong == []


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[Doomed]:
    """One whose disk is small."""
    cramped = Doomed(tmp_path, room="512k")
    try:
        cramped.create()
        yield cramped
    finally:
        cramped.end()


@pytest.mark.parametrize("patch", [True, False])
def test_a_full_disk_is_told_of_and_changes_nothing(cramped: Doomed, faults: Tally, patch: bool) -> None:  # noqa: FBT001 - a table
    state = msgspec.structs.replace(state_named("more than 64 backends"), patch=patch)
    trial = Trial(cramped, state, faults)
    trial.begin()
    filler = cramped.files / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    trial.refused("the disk is full", "DiskRefused")
    trial.is_well_again("all as before, on a full disk")
    filler.unlink()
    trial.is_taken("there is room again")
    assert trial.wrong == []
