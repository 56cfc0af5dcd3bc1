"""A lab in a scratch folder. Its name is one that no real lab has, and nothing of it runs unless a test starts it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.lab import cage
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab
from mooring.lab.place import Place
from mooring.lab.spec import Spec


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    place = Place(tmp_path / "lab")
    place.make()
    made = Lab(Spec(name=f"unit-{os.getpid()}"), place)
    yield made
    if made.spec.name in cage.names():
        made.cage.kill()
        made.cage.sweep()


@pytest.fixture
def caged(lab: Lab) -> Lab:
    """For tests that start processes: whatever they started ends with the lab."""
    if os.geteuid() != 0:
        pytest.skip("only root makes control groups")
    try:
        cage.hierarchy()
    except LabError as error:
        pytest.skip(error.what)
    return lab
