"""`make demo`, as a newcomer runs it: once, and once more on top of what it left."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from mooring.lab import demo, lifecycle


@pytest.fixture
def no_demo() -> Iterator[None]:
    lifecycle.down(demo.NAME)
    yield
    lifecycle.down(demo.NAME)


@pytest.mark.usefixtures("no_demo")
def test_the_demo_comes_to_its_end_the_first_and_the_second_time() -> None:
    for _ in range(2):
        told = subprocess.run([sys.executable, "-m", "mooring.lab.demo"], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr
        assert "answers from hello-" in told.stdout
        assert "NOBODY" not in told.stdout
        assert "established connections kept     20 of 20" in told.stdout
        assert "NoEndpoints" in told.stdout
        assert "mooring lab down --name demo" in told.stdout
