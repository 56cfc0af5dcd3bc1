"""`mooring doctor` as a person sees it."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from mooring.cli.looking import Ways
from mooring.cli.main import main
from mooring.model.config import Config
from mooring.model.reports import DoctorReport, Finding
from tests.looking import WHOLE

GOOD = Finding("Kubernetes", well=True, seen="answers", fix="never shown")
BAD = Finding("quota", well=False, seen="ports 10 of 10.", fix="ask for more")


def doctor(folder: Path, *findings: Finding, arguments: tuple[str, ...] = (), config: str = WHOLE) -> Result:
    async def examine(_: Config) -> DoctorReport:
        return DoctorReport(all(each.well for each in findings), findings)

    file = folder / "mooring.toml"
    file.write_text(config)
    words = ["doctor", *arguments, "--config", str(file)]
    return CliRunner().invoke(main, words, obj=Ways(examine=examine))


def test_all_is_well(tmp_path: Path) -> None:
    run = doctor(tmp_path, GOOD)
    assert run.exit_code == 0, run.output
    assert run.output.splitlines()[:4] == [
        "    WHAT        SEEN, AND WHAT TO DO",
        "ok  Kubernetes  answers.",
        "",
        "All is well.",
    ]


def test_something_is_not_well(tmp_path: Path) -> None:
    run = doctor(tmp_path, GOOD, BAD)
    assert run.exit_code == 3
    assert "no  quota       ports 10 of 10.\n                -> Ask for more.\n" in run.output
    assert "1 of 2 things are not well." in run.output
    assert "never shown" not in run.output


@pytest.mark.parametrize(("findings", "code"), [((GOOD,), 0), ((GOOD, BAD), 3)])
def test_json_is_the_documented_struct(findings: tuple[Finding, ...], code: int, tmp_path: Path) -> None:
    run = doctor(tmp_path, *findings, arguments=("-o", "json"))
    assert run.exit_code == code
    assert msgspec.json.decode(run.stdout, type=DoctorReport).findings == findings


def test_a_configuration_that_is_not_enough(tmp_path: Path) -> None:
    assert doctor(tmp_path, GOOD, config="").exit_code == 2
