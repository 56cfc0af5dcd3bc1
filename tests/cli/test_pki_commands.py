"""`mooring pki` over real folders: what is written, what is printed, and what is refused."""

import datetime as dt
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography import x509

from mooring.cli.main import main


def mooring(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["pki", *(str(argument) for argument in arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pki"
    assert mooring("init", "--folder", made).exit_code == 0
    return made


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def days_left(file: Path) -> int:
    end = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    return round((end - dt.datetime.now(dt.UTC)) / dt.timedelta(days=1))


def test_an_authority_is_made(tmp_path: Path) -> None:
    run = mooring("init", "--folder", tmp_path / "a" / "b", "--days", "30")
    assert run.exit_code == 0
    end = dt.datetime.now(dt.UTC) + dt.timedelta(days=30)
    assert run.output.splitlines() == [
        f"Made the authority {tmp_path}/a/b/ca.crt, valid until {end:%Y-%m-%d}.",
        f"Keep {tmp_path}/a/b/ca.key secret, and off the gateways.",
    ]
    assert names(tmp_path / "a" / "b") == ["ca.crt", "ca.key"]
    assert days_left(tmp_path / "a" / "b" / "ca.crt") == 30


def test_a_second_authority_is_refused(folder: Path) -> None:
    run = mooring("init", "--folder", folder)
    assert run.exit_code == 1
    assert run.stderr == (
        f"Error: {folder}/ca.crt is there already and is not overwritten; "
        "use this authority, or name another folder with --folder\n"
    )


def test_a_controller_and_an_agent(folder: Path, tmp_path: Path) -> None:
    run = mooring("issue", "controller", "c1", "--folder", folder)
    assert run.exit_code == 0
    assert run.output.startswith(f"Made {folder}/c1/tls.crt for controller c1, valid until 20")
    out = tmp_path / "out"
    arguments: list[str | Path] = [
        "--address",
        "10.0.0.11",
        "--address",
        "gw1.example.org",
        "--days",
        "10",
        "--out",
        out,
    ]
    run = mooring("issue", "agent", "gw1", "--folder", folder, *arguments)
    assert run.exit_code == 0
    assert f"Copy tls.crt, tls.key and ca.crt from {out} to /etc/mooring/tls where the agent runs.\n" in run.output
    assert names(out) == names(folder / "c1") == ["ca.crt", "tls.crt", "tls.key"]
    assert (days_left(out / "tls.crt"), days_left(folder / "c1" / "tls.crt")) == (10, 365)


def test_the_second_time_is_refused(folder: Path) -> None:
    assert mooring("issue", "controller", "c1", "--folder", folder).exit_code == 0
    before = (folder / "c1" / "tls.key").read_bytes()
    run = mooring("issue", "controller", "c1", "--folder", folder)
    assert run.exit_code == 1
    assert run.stderr == (
        f"Error: {folder}/c1/tls.crt is there already and is not overwritten; "
        "move it away, or name another folder with --out\n"
    )
    assert (folder / "c1" / "tls.key").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["controller", "One"], '"One" cannot be the name of a certificate; allowed: lower-case letters', 2),
        (["agent", "gw1", "--address", "10.0.0.1:9443"], '"10.0.0.1:9443" cannot stand in a certificate', 2),
        (["controller", "c1", "--out", "/dev/null"], "/dev/null cannot be written: File exists; name a folder", 1),
        (
            ["controller", "c1", "--folder", "/nowhere"],
            "/nowhere/ca.crt cannot be read: No such file or directory; make",
            1,
        ),
    ],
)
def test_what_cannot_be_made_says_why(arguments: list[str], told: str, code: int, folder: Path) -> None:
    run = mooring("issue", "--folder", folder, *arguments)
    assert run.exit_code == code
    assert run.stderr.startswith(f"Error: {told}")
    assert names(folder) == ["ca.crt", "ca.key"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["issue", "agent", "gw1"], "An agent needs --address"),
        (["issue", "node", "n1"], "'node' is not one of 'controller', 'agent'"),
        (["issue", "controller"], "Missing argument 'NAME'"),
        (["issue", "controller", "c1", "--days", "0"], "0 is not in the range"),
        (["init", "--days", "forever"], "'forever' is not a valid integer range"),
    ],
)
def test_wrong_usage(arguments: list[str], told: str, folder: Path) -> None:
    run = mooring(*arguments, "--folder", folder)
    assert run.exit_code == 2
    assert told in run.stderr
