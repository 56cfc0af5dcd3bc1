"""`mooring plan` in worlds with and without something to do."""

from pathlib import Path

import msgspec
import pytest

from mooring.cli import output, plan_command
from mooring.controller import survey
from mooring.core import reporting
from mooring.core.surveyed import Leader, Survey
from mooring.model.reports import PlanReport, StepReport
from tests.looking import blind, mooring, seeing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import leave_port, look, scene, sources, wall


async def _quiet(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(15.0)
    return await look(world)


async def _busy(world: World) -> Survey:
    user = User(world)
    await user.wait(5.0)
    leave_port(world)
    user.expose("web", "80/TCP")
    return await look(world)


async def _going(world: World) -> Survey:
    leave_port(world)
    await User(world).wait(25.0)
    return await look(world)


@pytest.fixture(scope="module")
def quiet() -> Survey:
    return scene(_quiet)


@pytest.fixture(scope="module")
def busy() -> Survey:
    return scene(_busy)


@pytest.mark.parametrize("arguments", [[], ["--exit-code"]])
def test_nothing_to_do(quiet: Survey, arguments: list[str], tmp_path: Path) -> None:
    run = mooring(seeing(quiet), tmp_path, "plan", *arguments)
    assert (run.exit_code, run.output) == (0, "Nothing to do.\n")


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--exit-code"], 4)])
def test_steps(busy: Survey, arguments: list[str], code: int, tmp_path: Path) -> None:
    run = mooring(seeing(busy), tmp_path, "plan", *arguments)
    assert run.exit_code == code
    lines = run.output.splitlines()
    assert lines[1] == "shop/web  take it on: annotation and finalizers"
    assert "  tag it as going, because nobody needs it  port " in run.output
    assert lines[-1] == "2 steps."


def test_who_observes_takes_none_of_them(busy: Survey, tmp_path: Path) -> None:
    sights = msgspec.structs.replace(busy.sights, acts=False, leader=Leader())
    run = mooring(seeing(Survey(sights)), tmp_path, "plan")
    assert (
        'Nothing of this is done: the controller is configured to observe (controller.reconcile = "observe").\n'
        in run.output
    )
    assert "Nobody leads" not in run.output
    led = Survey(msgspec.structs.replace(busy.sights, acts=False))
    assert "configured to observe" not in mooring(seeing(led), tmp_path, "plan").output, "somebody acts all the same"


def test_what_waits_for_its_time(tmp_path: Path) -> None:
    run = mooring(seeing(scene(_going)), tmp_path, "plan", "--exit-code")
    assert run.exit_code == 0
    assert run.output.startswith("WAITING")
    assert "  delete it, when its tag has been seen for long enough  " in run.output
    assert run.output.endswith("Nothing to do now.\n")


@pytest.mark.parametrize("form", [[], ["--exit-code"]])
def test_json_is_the_documented_struct(busy: Survey, form: list[str], tmp_path: Path) -> None:
    run = mooring(seeing(busy), tmp_path, "plan", "-o", "json", *form)
    assert msgspec.json.decode(run.stdout, type=PlanReport) == reporting.plan(busy)


def test_without_openstack_nobody_can_tell(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        return await survey.survey(sources(world, cloud=wall))

    run = mooring(seeing(scene(deeds)), tmp_path, "plan")
    assert run.exit_code == 1
    assert run.output.startswith("Missing: OpenStack: ")
    assert "nobody can tell" in run.output


def test_without_kubernetes(tmp_path: Path) -> None:
    assert mooring(blind, tmp_path, "plan").exit_code == 1


def test_gateways_that_have_to_be_told() -> None:
    report = PlanReport((), ("gw1", "gw2"), (), (), leads=False)
    text = output.plain(plan_command.page(report))
    assert "gw1      tell it what is wanted\n" in text
    assert "Nobody leads" in text
    assert text.endswith("0 steps, and gw1, gw2 to be told.")


def test_many_steps_do_not_flood() -> None:
    steps = tuple(StepReport("Push", f"s/w{each}", "tell the gateways", {}) for each in range(10_000))
    report = PlanReport(steps, (), (), (), leads=True)
    text = output.plain(plan_command.page(report))
    assert (text.count("s/w"), "and 9,980 more" in text) == (20, True)
    assert output.plain(plan_command.page(report, everything=True)).count("s/w") == 10_000
