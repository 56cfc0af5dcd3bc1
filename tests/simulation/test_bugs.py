"""The simulation is worth something if it finds what was wrong elsewhere: historic bugs, and some for each rule."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_copy
from tests.simulation.bugs import BUGS, MUTANTS, Bug

EVERY = BUGS + MUTANTS

MOST_RUNS = 2000


def looked_for(source: Path, *, where: str = "any", runs: int) -> subprocess.CompletedProcess[str]:
    """Run the simulation of this checkout on the package of another folder."""
    command = [sys.executable, "-m", "tests.simulation", "chance", where, "--stop", "--runs", str(runs)]
    path = os.pathsep.join((str(source / "src"), str(source_copy.ROOT)))
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, env=environment, cwd=source, capture_output=True, text=True, check=False)


def test_all_bugs_can_still_be_put_back(tmp_path: Path) -> None:
    """Told at once: that they are found takes longer."""
    source_copy.copy_python_to(tmp_path)
    source = tmp_path / "src" / "mooring"
    for bug in EVERY:
        before = {file: (source / file).read_text() for file, _, _ in bug.changes}
        bug.put_into(source)
        for file, text in before.items():
            (source / file).write_text(text)


@pytest.mark.parametrize("bug", [pytest.param(each, marks=pytest.mark.long, id=each.name) for each in EVERY])
def test_a_bug_is_found_and_told_with_its_replay(bug: Bug, tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    bug.put_into(tmp_path / "src" / "mooring")
    found = looked_for(tmp_path, where=bug.where, runs=MOST_RUNS)
    assert found.returncode == 1, f"{bug.name} ({bug.story}) was not found:\n{found.stdout}{found.stderr}"
    ran = int(re.search(r"ran ([\d,]+) of", found.stdout)[1].replace(",", ""))  # type: ignore[index]
    *_, wrong, replay = found.stdout.strip().splitlines()
    print(f"{bug.name} {bug.story}: found in run {ran}: {wrong}\n{replay}")  # noqa: T201 - seen with -s, and on failure
    assert ran < MOST_RUNS
    assert replay.startswith("replay: ")


@pytest.mark.long
def test_the_replay_of_a_bug_fails_again(tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    BUGS[0].put_into(tmp_path / "src" / "mooring")
    replay = looked_for(tmp_path, runs=MOST_RUNS).stdout.strip().splitlines()[-1]
    command = [sys.executable, *replay.removeprefix("replay: ").split()[1:]]
    path = os.pathsep.join((str(tmp_path / "src"), str(source_copy.ROOT)))
    again = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    assert again.stdout.strip().splitlines()[-1] == replay
