"""What is long goes on where it was ended, and only with what was run of the very same source."""

from pathlib import Path

from tests import kept
from tests.kept import Kept
from tests.simulation import explore
from tests.simulation.explore import Report
from tests.simulation.faults import Fault
from tests.simulation.scenarios import SCENARIOS


def counted(part: int) -> Report:
    return Report(points=part, ran=part, kinds={Fault.LATE: part})


def wrong(part: int) -> Report:
    return Report(points=1, ran=1, failed=[explore.replay(SCENARIOS["map"], part, {})])


def refuse(part: int) -> Report:
    raise AssertionError(part)


def test_what_was_searched_is_not_searched_again(tmp_path: Path) -> None:
    parts = Kept(tmp_path / "test.jsonl")
    first = explore.in_parallel(counted, 3, kept=parts)
    assert (first.ran, first.kinds) == (3, {Fault.LATE: 3})
    assert explore.in_parallel(refuse, 3, kept=parts) == first
    assert explore.in_parallel(counted, 4, kept=parts).ran == 6, "one part more, and that alone is searched"


def test_what_failed_is_searched_again(tmp_path: Path) -> None:
    parts = Kept(tmp_path / "test.jsonl")
    assert len(explore.in_parallel(wrong, 2, kept=parts).failed) == 2
    assert parts.found(Report) == {}


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    parts = Kept(file)
    parts.add(0, counted(7))
    parts.add(1, counted(8))
    file.write_bytes(file.read_bytes()[:-9])
    assert parts.found(Report) == {0: counted(7)}
    parts.add(1, counted(8))
    assert parts.found(Report) == {0: counted(7), 1: counted(8)}


def test_a_change_of_the_source_begins_anew(tmp_path: Path) -> None:
    roots = [tmp_path / each for each in ("one", "same", "other")]
    for root, text in zip(roots, ("a = 1\n", "a = 1\n", "a = 2\n"), strict=True):
        (root / "src").mkdir(parents=True)
        (root / "src" / "a.py").write_text(text)
    one, same, other = (kept.folder(each).name for each in roots)
    assert one == same != other


def test_tests_that_passed_are_known(tmp_path: Path) -> None:
    assert kept.passed(tmp_path) == frozenset()
    kept.add_passed(tmp_path, "tests/a.py::b[c d]")
    assert kept.passed(tmp_path) == {"tests/a.py::b[c d]"}
