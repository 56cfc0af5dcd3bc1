"""A lab that ends, however it ends, leaves nothing; and two labs do not meet."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.lab import lifecycle, report, servers, waiting
from mooring.lab.lab import Lab, open_lab
from mooring.lab.parts import ASSETS
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec
from tests.lab import machine

NAME = "left"
SLICE = ("host-n1", "cables", "mariadb", "kubelet-n2", "neutron", "dns")
MOORING = str(Path(sys.executable).parent / "mooring")


@pytest.fixture(scope="module")
def before(lab: Lab) -> Iterator[machine.Machine]:
    """The machine while another lab runs and this one never did."""
    assert lab.spec.name != NAME
    lifecycle.down(NAME)
    yield machine.look(NAME)
    lifecycle.down(NAME)


def missing(lab: Lab) -> list[str]:
    """Parts that do not run."""
    return [f"{part.part}: {part.state}" for part in report.observe(lab).parts if part.state != "running"]


def up() -> Lab:
    lifecycle.up(Spec(name=NAME), PlainProgress())
    return open_lab(NAME)


def kill_up_after(part: str) -> None:
    """Begin to bring the lab up, and kill the command with SIGKILL as soon as it says that a part is up."""
    with subprocess.Popen([MOORING, "lab", "up", "--name", NAME], stdout=subprocess.PIPE, text=True) as command:
        for line in command.stdout or ():
            if f"  {part} (" in line:
                command.send_signal(signal.SIGKILL)
                break
    assert command.returncode == -signal.SIGKILL


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Kill points: the whole list with --whole, a fixed slice of it otherwise."""
    if "part" in metafunc.fixturenames:
        every = [part.name for part in lifecycle.wanted_parts(Spec(name=NAME)) if part.group != ASSETS]
        metafunc.parametrize("part", every if metafunc.config.getoption("--whole") else SLICE)


def test_a_command_killed_half_way_leaves_nothing_after_down(before: machine.Machine, part: str) -> None:
    kill_up_after(part)
    assert lifecycle.down(NAME)
    assert machine.look(NAME).left_since(before) == {}


def test_two_labs_run_side_by_side_and_one_leaves_nothing_when_it_ends(lab: Lab, before: machine.Machine) -> None:
    kill_up_after("kube-apiserver")
    other = up()  # makes anew what was left half-made
    assert missing(other) == []
    assert missing(lab) == []
    assert other.control != lab.control
    for each in (lab, other):
        assert servers.answers(f"https://{each.control}:6443/readyz", ca=each.authority.certificate)
        assert each.kubectl("get", "nodes", "--output=name").split() == ["node/n1", "node/n2"]
    assert lifecycle.up(other.spec, PlainProgress()) == []  # all there: nothing to do
    lifecycle.down(NAME)
    assert machine.look(NAME).left_since(before) == {}
    assert missing(lab) == []


def test_a_lab_whose_every_process_was_killed_comes_up_again(before: machine.Machine) -> None:
    first = up()
    for pid in first.cage.pids():
        os.kill(pid, signal.SIGKILL)
    again = up()
    assert missing(again) == []
    lifecycle.down(NAME)
    assert machine.look(NAME).left_since(before) == {}


def test_a_command_left_running_in_a_host_ends_with_the_lab(before: machine.Machine) -> None:
    up()
    with subprocess.Popen([MOORING, "lab", "exec", "--name", NAME, "n1", "--", "sleep", "infinity"]) as command:
        waiting.until(lambda: command.pid in open_lab(NAME).cage.pids("exec"), seconds=10, what="it to run in the host")
        lifecycle.down(NAME)
        assert command.wait(timeout=10) == -signal.SIGKILL
    assert machine.look(NAME).left_since(before) == {}


def test_ending_what_is_not_there_is_no_error() -> None:
    done = subprocess.run([MOORING, "lab", "down", "--name", "nobody"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "There is no lab nobody.\n")


def test_a_lab_that_is_up_with_other_options_is_left_alone(lab: Lab) -> None:
    done = subprocess.run(
        [MOORING, "lab", "up", "--name", lab.spec.name, "--nodes", "3"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "is up with other options" in done.stderr
    assert missing(lab) == []
