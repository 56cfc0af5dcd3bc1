"""`mooring who` as a person sees it."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from mooring.controller import survey as surveying
from mooring.core import reporting, whose
from mooring.core.surveyed import Survey
from mooring.core.whose import Asked
from mooring.model.gateway import Counted
from mooring.model.reports import WhoReport
from tests.looking import blind, mooring, seeing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import leave_port, look_closely, scene, sources, wall


async def _served(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(15.0)
    for number, gateway in enumerate(world.gateways.values(), start=1):
        gateway.machine.kernel.passed = 20 * number
    return await look_closely(world)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return scene(_served)


def test_an_address_of_ours(survey: Survey, tmp_path: Path) -> None:
    [address] = reporting.status(survey).addresses
    run = mooring(seeing(survey), tmp_path, "who", address.public)
    assert run.exit_code == 0, run.output
    lines = run.output.splitlines()
    assert lines[0] == f"{address.public}: Mooring's."
    assert lines[1].startswith(f"Address {address.public}, floating IP ")
    assert lines[2] == f"Gateways serve {address.inner}, port {address.port}."
    assert "shop/web  80/TCP  served  Programmed  60" in lines
    assert [line.split() for line in lines if line.startswith("g")] == [
        ["g1", "yes", "yes", "yes", "0"],
        ["g2", "no", "yes", "yes", "0"],
    ]


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ((), ["shop/web", "80/TCP", "served", "Programmed", "unknown"]),
        ((7,), ["shop/web", "80/TCP", "served", "Programmed", "7"]),
        ((7, 100, 2000), ["shop/web", "80/TCP", "served", "Programmed", "7", "100", "2000"]),
    ],
)
def test_what_gateways_count(survey: Survey, numbers: tuple[int, ...], shown: list[str], tmp_path: Path) -> None:
    """Of what other Services, ports and addresses were asked for, nothing is told; nor of who does not say."""
    [address] = reporting.status(survey).addresses
    elsewhere = (
        Counted("shop/web", address.inner, "TCP", 81, 5),
        Counted("shop/web", address.inner, "UDP", 80, 5),
        Counted("shop/web", "10.0.0.99", "TCP", 80, 5),
        Counted("shop/other", address.inner, "TCP", 80, 5),
    )
    here = (Counted("shop/web", address.inner, "TCP", 80, *numbers),) if numbers else ()
    first, second = survey.sights.agents
    agents = (replace(first, counted=(*elsewhere, *here)), replace(second, counted=None))
    found = Survey(replace(survey.sights, agents=agents))
    run = mooring(seeing(found), tmp_path, "who", f"{address.public}:80")
    assert run.exit_code == 0
    [row] = [line.split() for line in run.output.splitlines() if line.startswith("shop/")]
    assert row == shown


def test_a_port_that_nobody_has(survey: Survey, tmp_path: Path) -> None:
    [address] = reporting.status(survey).addresses
    run = mooring(seeing(survey), tmp_path, "who", f"{address.inner}:22")
    assert run.exit_code == 3
    assert "No Service has that port. The address carries shop/web 80/TCP." in run.output


def test_an_address_at_which_nobody_is(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        leave_port(world)
        return await look_closely(world)

    found = scene(deeds)
    assert found.sights.owned is not None
    [left] = found.sights.owned.ports
    run = mooring(seeing(found), tmp_path, "who", left.id)
    assert run.exit_code == 3
    assert "No Service is at it. `mooring orphans` lists" in run.output


def test_json_is_the_documented_struct(survey: Survey, tmp_path: Path) -> None:
    [address] = reporting.status(survey).addresses
    run = mooring(seeing(survey), tmp_path, "who", f"{address.public}:80", "-o", "json")
    expected = whose.who(survey, Asked(address.public, 80))
    assert msgspec.json.decode(run.stdout, type=WhoReport) == expected


@pytest.mark.parametrize("form", [[], ["-o", "json"]])
def test_nobodys(survey: Survey, form: list[str], tmp_path: Path) -> None:
    run = mooring(seeing(survey), tmp_path, "who", "198.51.100.200", *form)
    assert run.exit_code == 1
    assert ("Nobody that could be asked knows it." in run.output) is not bool(form)


def test_without_openstack_it_is_not_said_to_be_nobodys(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        return await surveying.survey(sources(world, cloud=wall))

    run = mooring(seeing(scene(deeds)), tmp_path, "who", "198.51.100.200")
    assert run.exit_code == 3
    assert "Missing: OpenStack: " in run.output


@pytest.mark.parametrize("text", ["web", "203.0.113.7:http", "203.0.113"])
def test_what_is_no_address(survey: Survey, text: str, tmp_path: Path) -> None:
    run = mooring(seeing(survey), tmp_path, "who", text)
    assert run.exit_code == 2
    assert f"{text!r} is not an address" in run.output


def test_without_kubernetes(tmp_path: Path) -> None:
    assert mooring(blind, tmp_path, "who", "203.0.113.7").exit_code == 1
