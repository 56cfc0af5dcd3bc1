"""A file that is configured and not there is a wrong configuration, whoever finds out."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from mooring.cli.main import main
from mooring.host import locking
from tests.looking import WHOLE


@pytest.mark.parametrize(
    "words",
    [("status",), ("why", "default/web"), ("plan",), ("orphans",), ("uninstall",), ("gateway", "undrain", "gw1")],
    ids=" ".join,
)
def test_a_kubeconfig_that_is_not_there(words: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "mooring.toml"
    file.write_text(f"{WHOLE}\n[kubernetes]\nkubeconfig = '{tmp_path}/none'\n")
    run = CliRunner().invoke(main, [*words, "--config", str(file)])
    assert run.exit_code == 2, run.output
    assert run.stderr.startswith("Error: The Kubernetes API cannot be used: ")
    assert f"{tmp_path}/none" in run.stderr


@pytest.mark.parametrize("daemon", ["controller", "agent"])
def test_certificates_that_are_not_there(daemon: str, tmp_path: Path) -> None:
    file = tmp_path / "mooring.toml"
    files = "".join(f"{each} = '{tmp_path}/{each}'\n" for each in ("ca", "certificate", "key"))
    file.write_text(f"{WHOLE}\n[tls]\n{files}\n[agent]\nstate = '{tmp_path}/state'\n")
    run = CliRunner().invoke(main, [daemon, "--config", str(file)])
    assert run.exit_code == 2, run.output
    assert "mooring pki issue" in run.stderr
    assert not (tmp_path / "state").exists()


def test_an_agent_that_runs_is_no_wrong_configuration(tmp_path: Path) -> None:
    file = tmp_path / "mooring.toml"
    file.write_text(f"[agent]\nstate = '{tmp_path}'\n")
    with locking.held(tmp_path):
        run = CliRunner().invoke(main, ["agent", "uninstall", "--yes", "--config", str(file)])
    assert (run.exit_code, "another agent works with" in run.stderr) == (1, True)
