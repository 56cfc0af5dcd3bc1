"""`mooring why` about Services of all kinds."""

from pathlib import Path

import click
import msgspec
import pytest

from mooring.cli import why_command
from mooring.core import reporting
from mooring.core.surveyed import Survey
from mooring.model.kubernetes import Name
from mooring.model.reports import WhyReport
from tests.looking import blind, mooring, seeing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import limit, look, scene


async def _three(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5 10.244.2.5!")
    user.expose("bare", "53/UDP")
    user.expose("theirs", "80/TCP", ours=False)
    await user.wait(15.0)
    limit(world, floatingip=4)
    user.expose("poor", "80/TCP")
    await user.wait(10.0)
    found = await look(world)
    limit(world, floatingip=-1)
    return found


@pytest.fixture(scope="module")
def three() -> Survey:
    return scene(_three)


def test_a_service_that_is_well(three: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(three), tmp_path, "why", "service/web", "-n", "shop")
    assert run.exit_code == 0, run.output
    lines = run.output.splitlines()
    assert lines[0] == "Service shop/web: served"
    assert lines[2] == "MARK  REASON      FACT, AND WHAT TO DO"
    assert lines[3] == "ok    Accepted    It is for the gateways to serve."
    assert lines[4].startswith("ok    Allocated   Its address is 203.0.113.")
    assert lines[5] == "ok    Programmed  All live gateways serve it."
    assert lines[7] == "GATEWAY  UP TO DATE  HOLDS"
    assert lines[8].startswith("g1       yes         epoch 1, generation ")
    assert lines[-1] == "Endpoints: 1 of 2 ready, in 1 EndpointSlice."


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("bare", ["warn  NoEndpoints", "-> See that its selector matches pods", "Port 53/UDP has none."]),
        ("theirs", ["not   OtherClass  It has no class", "-> A class cannot be changed"]),
        ("poor", ["not   QuotaExceeded", "-> Ask for a larger quota"]),
    ],
)
def test_a_service_that_is_not_well(three: Survey, name: str, told: list[str], tmp_path: Path) -> None:
    run = mooring(seeing(three), tmp_path, "why", f"shop/{name}")
    assert run.exit_code == 3, run.output
    assert [each for each in told if each not in run.output] == []


def test_json_is_the_documented_struct(three: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(three), tmp_path, "why", "shop/poor", "-o", "json")
    assert run.exit_code == 3
    report = msgspec.json.decode(run.stdout, type=WhyReport)
    assert report == reporting.why(three, three.services[Name("shop", "poor")])
    assert [each.reason for each in report.verdicts] == ["Accepted", "QuotaExceeded", "WaitingForAddress"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["web"], "There is no Service default/web. Did you mean shop/web?"),
        (["svc/wep", "-n", "shop"], "There is no Service shop/wep. Did you mean shop/web?"),
        (["shpo/web"], "There is no Service shpo/web. Did you mean shop/web?"),
        (["shop/nothing-like-it"], "There is no Service shop/nothing-like-it."),
        (["shop/\x1b[31m"], "There is no Service shop/\\x1b[31m."),
    ],
)
def test_a_service_that_is_not_there(three: Survey, arguments: list[str], told: str, tmp_path: Path) -> None:
    run = mooring(seeing(three), tmp_path, "why", *arguments)
    assert (run.exit_code, run.stderr) == (1, f"Error: {told}\n")


@pytest.mark.parametrize(
    ("text", "namespace", "name"),
    [
        ("web", None, "default/web"),
        ("web", "shop", "shop/web"),
        ("service/web", None, "default/web"),
        ("services/web", "shop", "shop/web"),
        ("svc/web", "shop", "shop/web"),
        ("shop/web", None, "shop/web"),
        ("shop/web", "shop", "shop/web"),
        ("svc/shop/web", None, "shop/web"),
    ],
)
def test_ways_to_name_a_service(text: str, namespace: str | None, name: str) -> None:
    assert str(why_command.wanted(text, namespace)) == name


@pytest.mark.parametrize(
    ("text", "namespace"),
    [("", None), ("service/", None), ("/web", None), ("pod/shop/web", None), ("a/b/c", None), ("shop/web", "east")],
)
def test_ways_not_to_name_one(text: str, namespace: str | None, tmp_path: Path) -> None:
    with pytest.raises(click.UsageError):
        why_command.wanted(text, namespace)
    given = [] if namespace is None else ["-n", namespace]
    assert mooring(blind, tmp_path, "why", text, *given).exit_code == 2
