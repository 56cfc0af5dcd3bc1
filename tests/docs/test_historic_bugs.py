"""Each bug of the predecessor is named once, and what shows that it cannot happen here is there."""

import re
from pathlib import Path

import pytest

from tests import source_copy
from tests.simulation.bugs import BUGS, MUTANTS

PAGE = source_copy.ROOT / "docs" / "concepts" / "how-we-know.md"
ROW = re.compile(r"^\| (B\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SHOWN = re.compile(r"`([^`]+)`")
PUT_BACK = {each.name: each for each in BUGS + MUTANTS}


def rows() -> dict[str, str]:
    return {name: shown for name, _, shown in ROW.findall(PAGE.read_text())}


def test_all_of_them_are_there_in_order() -> None:
    found = [name for name, _, _ in ROW.findall(PAGE.read_text())]
    assert found == [f"B{number}" for number in range(1, 27)]


@pytest.mark.parametrize("name", rows())
def test_what_shows_it_exists(name: str) -> None:
    shown = SHOWN.findall(rows()[name])
    assert shown, f"nothing shows that {name} cannot happen"
    for each in shown:
        assert _exists(each), f"{name}: there is no {each}"


def test_bugs_that_are_put_back_stand_in_the_row_of_what_they_stand_for() -> None:
    for bug in PUT_BACK.values():
        historic = bug.historic or (bug.name if re.fullmatch(r"B\d+", bug.name) else "")
        if historic:
            assert f"bug {bug.name}" in SHOWN.findall(rows()[historic])


def _exists(shown: str) -> bool:
    if shown.startswith("bug "):
        return shown.removeprefix("bug ") in PUT_BACK
    file, _, test = shown.partition("::")
    path: Path = source_copy.ROOT / "tests" / f"{file}.py"
    return path.is_file() and f"def {test}(" in path.read_text()
