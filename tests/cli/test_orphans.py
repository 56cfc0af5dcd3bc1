"""`mooring orphans` as a person uses it: the lists, the question, and what is refused."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from mooring.cli import orphans_command, output
from mooring.cli.looking import Ways
from mooring.cli.main import main
from mooring.controller import survey as surveying
from mooring.core import orphans
from mooring.core.surveyed import Survey
from mooring.model.config import Config
from mooring.model.reports import OrphanReport, OrphansReport, TaggedReport
from tests.looking import WHOLE, blind, mooring, seeing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import leave_port, look_around, scene, sources, wall


async def _left(world: World) -> Survey:
    await User(world).wait(5.0)
    leave_port(world)
    return await look_around(world)


async def _clean(world: World) -> Survey:
    await User(world).wait(5.0)
    return await look_around(world)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return scene(_left)


class LetGo:
    """Says that it tagged what it was given, or why not, and remembers it."""

    def __init__(self, why: str = "") -> None:
        self.agreed: list[frozenset[str]] = []
        self._why = why

    async def __call__(self, _: Config, agreed: frozenset[str]) -> tuple[TaggedReport, ...]:
        self.agreed.append(agreed)
        return tuple(TaggedReport("port", each, "10.0.0.9", not self._why, self._why) for each in sorted(agreed))


def delete(survey: Survey, let_go: LetGo, folder: Path, *arguments: str, answer: str = "") -> Result:
    file = folder / "mooring.toml"
    file.write_text(WHOLE)
    words = ["orphans", "--delete", *arguments, "--config", str(file)]
    return CliRunner().invoke(main, words, obj=Ways(seeing(survey), let_go), input=answer)


def test_the_lists(survey: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(survey), tmp_path, "orphans")
    assert run.exit_code == 3
    [orphan] = orphans.orphans(survey).orphans
    assert run.output.startswith("ORPHAN  ADDRESS")
    assert f"port    {orphan.address}" in run.output
    assert "OF OTHER CLUSTERS" in run.output
    assert "  another\n" in run.output
    assert "1 of this cluster that nobody needs, of which 1 do not go yet.\n" in run.output


def test_nothing_is_left(tmp_path: Path) -> None:
    found = scene(_clean)
    run = mooring(seeing(found), tmp_path, "orphans")
    assert run.exit_code == 0, run.output
    assert "0 of this cluster that nobody needs" in run.output
    let_go = LetGo()
    run = delete(found, let_go, tmp_path)
    assert (run.exit_code, let_go.agreed) == (0, [])


@pytest.mark.parametrize(("going", "code"), [(True, 0), (False, 3)])
def test_what_goes_by_itself_needs_nobody(going: bool, code: int) -> None:  # noqa: FBT001 - a column
    report = OrphansReport((OrphanReport("port", "p", "10.0.0.9", "c", going=going),), (), (), leads=True)
    assert orphans_command.code(report, delete=False) == code


def test_what_is_held_back_waits_for_a_person() -> None:
    held = OrphanReport("port", "p", "10.0.0.9", "c", held_back=True)
    text = output.plain(orphans_command.page(OrphansReport((held,), (), (), leads=True)))
    assert "held back" in text.splitlines()[1]
    assert "until a person says go, with `--delete`" in text


def test_json_is_the_documented_struct(survey: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(survey), tmp_path, "orphans", "-o", "json")
    assert msgspec.json.decode(run.stdout, type=OrphansReport) == orphans.orphans(survey)


def test_who_says_yes_lets_them_go(survey: Survey, tmp_path: Path) -> None:
    let_go = LetGo()
    run = delete(survey, let_go, tmp_path, answer="y\n")
    assert run.exit_code == 0, run.output
    assert let_go.agreed == [frozenset(each.id for each in orphans.to_tag(survey))]
    assert "Let 1 object go?" in run.stderr
    assert "Tagged: 1." in run.stdout


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_who_does_not_say_yes_changes_nothing(survey: Survey, answer: str, tmp_path: Path) -> None:
    let_go = LetGo()
    run = delete(survey, let_go, tmp_path, answer=answer)
    assert (run.exit_code, let_go.agreed) == (1, [])


def test_without_a_question(survey: Survey, tmp_path: Path) -> None:
    let_go = LetGo()
    run = delete(survey, let_go, tmp_path, "--yes", "-o", "json")
    assert run.exit_code == 0
    assert [each.tagged for each in msgspec.json.decode(run.stdout, type=OrphansReport).tagged] == [True]


def test_what_could_not_be_tagged(survey: Survey, tmp_path: Path) -> None:
    run = delete(survey, LetGo("policy says no."), tmp_path, "--yes")
    assert run.exit_code == 3
    assert "was not tagged: policy says no.\n" in run.output


def test_nothing_is_tagged_without_openstack(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        return await surveying.survey(sources(world, cloud=wall))

    let_go = LetGo()
    run = delete(scene(deeds), let_go, tmp_path, "--yes")
    assert (run.exit_code, let_go.agreed) == (1, [])
    assert "Missing: OpenStack: " in run.output


@pytest.mark.parametrize("words", [["--yes"], ["--delete", "-o", "json"]])
def test_wrong_usage(survey: Survey, words: list[str], tmp_path: Path) -> None:
    assert mooring(seeing(survey), tmp_path, "orphans", *words).exit_code == 2


def test_without_kubernetes(tmp_path: Path) -> None:
    assert mooring(blind, tmp_path, "orphans").exit_code == 1


def test_many_do_not_flood_and_what_a_service_shows_is_told() -> None:
    many = tuple(OrphanReport("port", f"p{each}", "10.0.0.9", "c", shown_by=("a/b",)) for each in range(1000))
    report = OrphansReport(many, (), (), leads=False)
    text = output.plain(orphans_command.page(report))
    assert (text.count("a/b"), "and 980 more" in text) == (20, True)
    assert "1,000 of them a Service shows to the world" in text
    assert "Nobody leads" in text
    assert output.plain(orphans_command.page(report, everything=True)).count("a/b") == 1000
