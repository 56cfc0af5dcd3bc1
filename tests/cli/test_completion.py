"""The completion scripts, as shells take them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mooring.cli.main import main


@pytest.mark.parametrize(
    ("shell", "sign"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef mooring"), ("fish", "complete --no-files --command mooring")],
)
def test_each_shell_gets_its_script(shell: str, sign: str) -> None:
    run = CliRunner().invoke(main, ["completion", shell])
    assert run.exit_code == 0
    assert sign in run.output
    assert f"_MOORING_COMPLETE={shell}_complete" in run.output


def test_another_shell_is_refused() -> None:
    run = CliRunner().invoke(main, ["completion", "tcsh"])
    assert run.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in run.stderr


def test_bash_completes_with_it() -> None:
    script = """
        eval "$(mooring completion bash)"
        COMP_WORDS=(mooring pki i) COMP_CWORD=2
        _mooring_completion mooring
        echo "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euc", script], env=os.environ | {"PATH": path}, check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == ["init", "issue"]
