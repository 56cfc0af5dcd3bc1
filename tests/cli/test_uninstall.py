"""`mooring uninstall` as a person uses it: what it shows, asks, refuses, and says in the end."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from mooring.cli.looking import Ways
from mooring.cli.main import main
from mooring.controller.removing import CannotRemove
from mooring.model.config import Config
from mooring.model.reports import FailedReport, Missing, StepReport, UninstallReport
from tests.looking import WHOLE

CLEAR = StepReport("Clear", "shop/web", "take its address back", {})
PORT = StepReport("Remove", "port p1", "delete it", {"address": "10.0.0.9"})
SOME = UninstallReport((CLEAR, PORT), clean=False)
NOTHING = UninstallReport((), clean=True)
GONE = UninstallReport((CLEAR, PORT), clean=True, done=(CLEAR, PORT))


class Removing:
    """Shows and does what it is told to, and remembers how it was asked."""

    def __init__(self, first: UninstallReport, then: UninstallReport | Exception = GONE) -> None:
        self._first = first
        self._then = then
        self.removed: list[bool] = []

    @asynccontextmanager
    async def __call__(
        self, config: Config, *, keep: bool, progress: Callable[[StepReport], None] = lambda _: None
    ) -> AsyncIterator["Removing"]:
        assert config.gateways
        self._keep, self._progress = keep, progress
        yield self

    async def look(self, *, patient: bool = False) -> UninstallReport:  # noqa: ARG002 - as of the real one
        return self._first

    async def run(self) -> UninstallReport:
        self.removed.append(self._keep)
        if isinstance(self._then, Exception):
            raise self._then
        for each in self._then.done:
            self._progress(each)
        return self._then


def uninstall(removing: Removing, folder: Path, *words: str, answer: str = "") -> Result:
    file = folder / "mooring.toml"
    file.write_text(WHOLE)
    return CliRunner().invoke(
        main, ["uninstall", *words, "--config", str(file)], obj=Ways(remove=removing), input=answer
    )


def test_without_delete_it_only_shows(tmp_path: Path) -> None:
    removing = Removing(SOME)
    run = uninstall(removing, tmp_path)
    assert (run.exit_code, removing.removed) == (3, [])
    assert "shop/web  take its address back\n" in run.output
    assert "2 steps. `--delete` takes them.\n" in run.output


@pytest.mark.parametrize("words", [[], ["--delete"], ["--delete", "--yes"]])
def test_nothing_to_do(words: list[str], tmp_path: Path) -> None:
    removing = Removing(NOTHING)
    run = uninstall(removing, tmp_path, *words)
    assert (run.exit_code, removing.removed) == (0, [])
    assert run.output.startswith("There is nothing of Mooring's.\n")
    assert "mooring agent uninstall" in run.output


@pytest.mark.parametrize("keep", [False, True])
def test_who_says_yes_is_rid_of_it(keep: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a column
    removing = Removing(SOME)
    run = uninstall(removing, tmp_path, "--delete", *(["--keep-floating-ips"] if keep else []), answer="y\n")
    assert (run.exit_code, removing.removed) == (0, [keep]), run.output
    assert "Remove all of it?" in run.stderr
    assert "shop/web: take its address back\n" in run.stderr
    assert "addresses taken off Services    1\n" in run.stdout
    assert "Nothing of Mooring's is left.\n" in run.stdout


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_who_does_not_say_yes_changes_nothing(answer: str, tmp_path: Path) -> None:
    removing = Removing(SOME)
    assert uninstall(removing, tmp_path, "--delete", answer=answer).exit_code == 1
    assert removing.removed == []


def test_a_controller_that_leads_is_in_the_way(tmp_path: Path) -> None:
    removing = Removing(msgspec.structs.replace(SOME, in_the_way="A controller leads: gw1_1. End it first"))
    run = uninstall(removing, tmp_path, "--delete", "--yes")
    assert (run.exit_code, removing.removed) == (1, [])
    assert "Error: A controller leads: gw1_1. End it first.\n" in run.stderr


def test_what_could_not_be_removed_is_told(tmp_path: Path) -> None:
    left = msgspec.structs.replace(
        GONE,
        clean=False,
        done=(CLEAR,),
        failed=(FailedReport(PORT, "403 no."),),
        missing=(Missing("gateway g1", "no answer"),),
    )
    run = uninstall(Removing(SOME, left), tmp_path, "--delete", "--yes")
    assert run.exit_code == 3
    assert "port p1 is as it was: 403 no.\n" in run.stdout
    assert "Missing: gateway g1: no answer.\n" in run.stdout
    assert "Nothing of Mooring's is left" not in run.stdout


def test_a_refusal_is_one_line(tmp_path: Path) -> None:
    run = uninstall(Removing(SOME, CannotRemove("The Lease cannot be had")), tmp_path, "--delete", "--yes")
    assert (run.exit_code, run.stderr) == (1, "Error: The Lease cannot be had.\n")


def test_json_is_the_documented_struct(tmp_path: Path) -> None:
    run = uninstall(Removing(SOME), tmp_path, "-o", "json")
    assert msgspec.json.decode(run.stdout, type=UninstallReport) == SOME
    run = uninstall(Removing(SOME), tmp_path, "--delete", "--yes", "-o", "json")
    assert (run.exit_code, msgspec.json.decode(run.stdout, type=UninstallReport)) == (0, GONE)


@pytest.mark.parametrize("words", [["--yes"], ["--delete", "-o", "json"]])
def test_wrong_usage(words: list[str], tmp_path: Path) -> None:
    assert uninstall(Removing(SOME), tmp_path, *words).exit_code == 2
