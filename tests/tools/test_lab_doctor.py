"""What a machine lacks: looked at on this one, and on one where nothing works."""

import io
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from mooring.lab import doctor
from mooring.lab.commands import lab as command
from mooring.lab.doctor import Finding
from tests.tools import apart


def shown(*findings: Finding) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(doctor.table(list(findings)))
    return out.getvalue()


def cells(finding: Finding) -> str:
    return " ".join(shown(finding).splitlines()[1].split())


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (Finding("veth", ok=True, seen="works", remedy="buy a kernel"), "ok veth works"),
        (Finding("veth", ok=False, seen="not permitted", remedy="run as root"), "no veth not permitted run as root"),
        (
            Finding("nft", ok=False, seen="absent", remedy="wait", will_be_installed=True),
            "later nft absent wait",
        ),
    ],
)
def test_the_table_says_what_to_do_where_something_is_wrong(finding: Finding, expected: str) -> None:
    assert cells(finding) == expected


def test_what_was_seen_is_shown_as_it_was_seen() -> None:
    seen = "[/proc] and [bold] are names"
    assert seen in shown(Finding("odd", ok=False, seen=seen, remedy="nothing"))


def test_the_command_shows_all_findings_and_its_exit_code_says_whether_they_are_good() -> None:
    run = CliRunner(env={"COLUMNS": "250"}).invoke(command, ["doctor"])
    assert "Python 3.11 or newer" in run.stdout
    assert "network namespaces" in run.stdout
    wrong = [line for line in run.stdout.splitlines() if line.split()[:1] == ["no"]]
    assert run.exit_code == (1 if wrong else 0)


POOR = """
import os, sys
import msgspec
from mooring.lab import doctor
if os.geteuid() == 0:
    os.setuid(65534)
os.environ["PATH"] = "/nowhere"
sys.stdout.buffer.write(msgspec.json.encode(doctor.examine()))
"""


def test_a_poor_machine_is_told_what_to_do_about_everything(tmp_path: Path) -> None:
    """One without programs, for a user without rights."""
    findings = msgspec.json.decode(apart.run(POOR, tmp_path, MOORING_CACHE="/nowhere/cache"), type=list[Finding])
    wrong = {each.what: each for each in findings if not each.ok}
    assert {"root", "veth", "bridges", "overlay file system", "Debian's packages"} <= set(wrong)
    assert [each.what for each in wrong.values() if not each.remedy] == []
    assert [each.what for each in findings if not each.seen or "\n" in each.seen] == []
    assert len({each.what for each in findings}) == len(findings)
