"""The command as a person starts it: a process, its exit code and what it prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_copy

HERE = source_copy.ROOT


def mooring(*arguments: str, root: Path = HERE, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from mooring.cli.main import main; main(prog_name='mooring')", *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root / "src"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_names_every_command_and_the_exit_codes() -> None:
    run = mooring("--help")
    assert run.returncode == 0
    assert "config  " in run.stdout
    assert "lab  " in run.stdout
    assert "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration;" in run.stdout


def test_version() -> None:
    run = mooring("--version")
    assert (run.returncode, run.stdout.split()[0]) == (0, "mooring")


@pytest.mark.parametrize("arguments", [["nonsense"], ["config", "check", "--nonsense"], ["config", "nonsense"]])
def test_wrong_usage_is_told_without_a_traceback(arguments: list[str]) -> None:
    run = mooring(*arguments)
    assert run.returncode == 2
    assert "nonsense" in run.stderr
    assert "Traceback" not in run.stderr


def test_the_lab_is_imported_only_when_it_is_used(tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    source_copy.write_module(tmp_path, "lab/commands.py", "raise SystemExit(77)")
    assert mooring("--help", root=tmp_path).returncode == 0
    assert mooring("config", "show", root=tmp_path).returncode == 0
    assert mooring("lab", "status", root=tmp_path).returncode == 77


def test_without_the_extra_the_lab_says_what_to_install(tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    source_copy.write_module(tmp_path, "lab/commands.py", "import a_package_that_nobody_has.inner")
    run = mooring("lab", "up", root=tmp_path)
    assert run.returncode == 2
    assert run.stderr == "Error: a_package_that_nobody_has is missing. The lab needs: pip install 'mooring[lab]'\n"


def test_a_mistake_of_our_own_is_not_taken_for_a_missing_package(tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    source_copy.write_module(tmp_path, "lab/commands.py", "import mooring.nowhere")
    run = mooring("lab", "up", root=tmp_path)
    assert run.returncode == 1
    assert "No module named 'mooring.nowhere'" in run.stderr


def test_completion_knows_the_commands() -> None:
    run = mooring(_MOORING_COMPLETE="bash_complete", COMP_WORDS="mooring config ", COMP_CWORD="2")
    assert run.stdout.split() == ["plain,check", "plain,show"]
