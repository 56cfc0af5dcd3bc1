"""`mooring agent doctor` as a person sees it, on a host that is no gateway."""

from pathlib import Path

import msgspec
from click.testing import CliRunner, Result

from mooring.cli.main import main
from mooring.model.reports import DoctorReport

LACKING = "[agent]\nstate = '{folder}/state'\n[vrrp]\ninterface = 'nowhere0'\n[tls]\nca = '{folder}/ca.crt'\n"


def doctor(folder: Path, *arguments: str) -> Result:
    file = folder / "mooring.toml"
    file.write_text(LACKING.format(folder=folder))
    return CliRunner().invoke(main, ["agent", "doctor", "--seconds", "0.1", "--config", str(file), *arguments])


def test_what_is_not_well_is_told_with_what_to_do(tmp_path: Path) -> None:
    run = doctor(tmp_path)
    assert run.exit_code == 3, run.output
    head, *lines = run.stdout.splitlines()
    assert head.split() == ["WHAT", "SEEN", "WHAT", "TO", "DO"]
    [certificate] = [line for line in lines if line.split()[1] == "certificate"]
    assert certificate.startswith("no  certificate")
    assert f"{tmp_path}/ca.crt: No such file or directory" in certificate


def test_json_is_the_documented_struct(tmp_path: Path) -> None:
    run = doctor(tmp_path, "-o", "json")
    report = msgspec.json.decode(run.stdout, type=DoctorReport)
    assert (run.exit_code, report.well) == (3, False)
    assert {each.what for each in report.findings} >= {"agent", "keepalived", "nftables", "certificate", "VRRP"}


def test_the_file_may_be_named_before_the_command(tmp_path: Path) -> None:
    file = tmp_path / "mooring.toml"
    file.write_text("[agnet]\n")
    assert CliRunner().invoke(main, ["agent", "--config", str(file), "doctor"]).exit_code == 2
