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
def lab(tmp_path: Path) -> Lab:
    place = Place(tmp_path / "lab")
    place.make()
    return Lab(Spec(name=f"unit-{os.getpid()}"), place)


@pytest.fixture
def caged(lab: Lab) -> Iterator[Lab]:
    """For tests that start processes: whatever they started ends with them."""
    if os.geteuid() != 0:
        pytest.skip("only root makes control groups")
    try:
        cage.hierarchy()
    except LabError as error:
        pytest.skip(error.what)
    yield lab
    lab.cage.kill()
