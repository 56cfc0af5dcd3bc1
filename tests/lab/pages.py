"""Commands of the documentation, carried out in a lab as a reader would."""

import os
import subprocess
from pathlib import Path

from mooring.lab import product, report
from mooring.lab.lab import Lab
from tests.docs import blocks
from tests.lab import units


def execute(lab: Lab, folder: Path, command: blocks.Command) -> None:
    """Where people work, or on a gateway's host. Who is asked whether it is meant says yes."""
    environment = os.environ | report.environment(lab)
    words = ["bash", "-c", command.text]
    if command.host:
        units.install(folder / "bin", lab.spec.name, command.host)
        environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
        environment["MOORING_CONFIG"] = str(product.agent_configuration(lab.place, command.host))
        words = [*lab.hosts.enter(command.host), *words]
    done = subprocess.run(words, env=environment, cwd=folder, input="y\n", capture_output=True, text=True, check=False)
    where = f"{command.file}:{command.line}: {command.text}"
    assert done.returncode == command.exit_code, f"{where}\n{done.stdout}\n{done.stderr}"
    assert blocks.fits(done.stdout, command.output), f"{where} printed\n{done.stdout}"
