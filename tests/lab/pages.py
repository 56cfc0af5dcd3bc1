"""Commands of the documentation, carried out in a lab as a reader would."""

import contextlib
import os
import subprocess
from pathlib import Path

from mooring.lab import product, report, waiting
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab
from tests.docs import blocks
from tests.lab import units

PATIENCE = 30.0
"""Seconds in which what a page shows has to come about: a busy machine is slower than a reader."""


def execute(lab: Lab, folder: Path, command: blocks.Command) -> None:
    """Where people work, or on a gateway's host. What only looks may look again."""
    done = _once(lab, folder, command)

    def as_the_page_says() -> bool:
        nonlocal done
        if not _fits(done, command):
            done = _once(lab, folder, command)
        return _fits(done, command)

    if command.looks:
        with contextlib.suppress(LabError):
            waiting.until(as_the_page_says, seconds=PATIENCE, what=command.text, interval=0.5)
    where = f"{command.file}:{command.line}: {command.text}"
    assert _fits(done, command), f"{where} ended with {done.returncode} and printed\n{done.stdout}\n{done.stderr}"


def _fits(done: subprocess.CompletedProcess[str], command: blocks.Command) -> bool:
    return done.returncode == command.exit_code and blocks.fits(done.stdout, command.output)


def _once(lab: Lab, folder: Path, command: blocks.Command) -> subprocess.CompletedProcess[str]:
    """Who is asked whether it is meant says yes."""
    environment = os.environ | report.environment(lab)
    words = ["bash", "-c", command.text]
    if command.host:
        units.install(folder / "bin", lab.spec.name, command.host)
        environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
        environment["MOORING_CONFIG"] = str(product.agent_configuration(lab.place, command.host))
        words = [*lab.hosts.enter(command.host), *words]
    return subprocess.run(words, env=environment, cwd=folder, input="y\n", capture_output=True, text=True, check=False)
