"""The commands of the documentation that need a lab, carried out in one."""

import os
import subprocess
from pathlib import Path

import pytest

from mooring.lab import report
from mooring.lab.lab import Lab
from tests.docs import blocks

COMMANDS = blocks.commands("lab")


def test_there_are_commands_to_run() -> None:
    assert COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=[f"{each.file}:{each.line}" for each in COMMANDS])
def test_a_command_does_what_the_page_says(lab: Lab, tmp_path: Path, command: blocks.Command) -> None:
    environment = os.environ | report.environment(lab)
    done = subprocess.run(
        ["bash", "-c", command.text], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == command.exit_code, done.stderr
    assert blocks.fits(done.stdout, command.output), done.stdout


def test_the_lab_is_whole_after_all_of_them(lab: Lab) -> None:
    assert report.observe(lab).whole
