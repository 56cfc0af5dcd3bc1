"""The commands in the documentation, executed in the order of their page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import blocks
from tests.docs.blocks import Command

BIN = Path(sys.executable).parent


def environment(home: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MOORING_")}
    return ours | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), "COLUMNS": "80"}


def execute(command: Command, directory: Path) -> None:
    run = subprocess.run(
        ["bash", "-euc", command.text],
        cwd=directory,
        env=environment(directory),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    where = f"{command.file}:{command.line}: {command.text}"
    assert run.returncode == command.exit_code, f"{where}\n{run.stdout}"
    assert blocks.fits(run.stdout, command.output), f"{where} printed\n{run.stdout}"


@pytest.mark.parametrize("page", blocks.pages(), ids=lambda page: page.relative_to(blocks.ROOT).as_posix())
def test_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    for block in blocks.blocks(page.read_text(), page.relative_to(blocks.ROOT).as_posix()):
        if block.kind == "file":
            (tmp_path / block.note).write_text("\n".join(block.lines) + "\n")
        if block.kind == "run":
            for command in block.commands:
                execute(command, tmp_path)


def test_commands_are_found() -> None:
    assert "mooring config check --config mooring.toml" in [command.text for command in blocks.commands("run")]
    assert "make demo" in [command.text for command in blocks.commands("shown")]
