"""What people are told of a cluster whose addresses are a list: every command works, and none asks OpenStack."""

from pathlib import Path

import msgspec
import pytest

from mooring.controller import doctor, permissions
from mooring.controller import survey as surveys
from mooring.core import doctoring, reporting
from mooring.core.surveyed import Survey
from mooring.model.reports import Finding
from tests.looking import mooring, seeing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import scene, sources, wall


async def _look(world: World) -> Survey:
    there = msgspec.structs.replace(sources(world, cloud=wall), around=True)
    return await surveys.survey(there)


async def _used_up(world: World) -> tuple[Survey, dict[str, Finding]]:
    world.list_addresses("192.0.2.9", "2001:db8::5-2001:db8::6")
    user = User(world)
    user.node("n1")
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    await user.wait(5.0)
    user.expose("late", "80/TCP")
    await user.wait(10.0)
    there = sources(world, cloud=wall)
    found = doctoring.findings(await doctor.facts(there, permissions.CONTROLLER))
    return await _look(world), {each.what: each for each in found}


@pytest.fixture(scope="module")
def looked() -> tuple[Survey, dict[str, Finding]]:
    return scene(_used_up)


@pytest.fixture(scope="module")
def survey(looked: tuple[Survey, dict[str, Finding]]) -> Survey:
    return looked[0]


def test_status_shows_what_is_in_use_and_how_much_is_free(survey: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(survey), tmp_path, "status")
    assert "192.0.2.9  192.0.2.9  192.0.2.9  shop/web 80/TCP" in run.output
    assert "2 addresses of addresses.static are free." in run.output
    assert "2001:db8::5" not in run.output
    report = reporting.status(survey)
    assert (report.free, report.missing, report.problems) == (2, (), ())


def test_why_tells_that_nothing_is_left(survey: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(survey), tmp_path, "why", "shop/late")
    assert run.exit_code == 3
    assert "NoMoreAddresses" in run.output
    assert "No address of IPv4 in addresses.static is free for it" in run.output
    assert "Its address is 192.0.2.9." in mooring(seeing(survey), tmp_path, "why", "shop/web").output


def test_who_knows_what_is_used_what_is_free_and_what_is_not_listed(survey: Survey, tmp_path: Path) -> None:
    used = mooring(seeing(survey), tmp_path, "who", "192.0.2.9:80")
    assert used.exit_code == 0, used.output
    assert ["g1", "yes", "yes", "yes", "0"] in [line.split() for line in used.output.splitlines()]
    free = mooring(seeing(survey), tmp_path, "who", "2001:db8::6")
    assert "No Service is at it: it is free, in the list of addresses.static." in free.output
    assert "not Mooring's" in mooring(seeing(survey), tmp_path, "who", "192.0.2.10").output


def test_nothing_is_planned_and_nothing_is_an_orphan(survey: Survey, tmp_path: Path) -> None:
    assert not reporting.plan(survey).has_steps
    run = mooring(seeing(survey), tmp_path, "orphans")
    assert run.exit_code == 0, run.output
    assert "192.0.2" not in run.output


def test_the_doctor_looks_at_the_list_and_not_at_openstack(looked: tuple[Survey, dict[str, Finding]]) -> None:
    found = looked[1]
    assert not {"OpenStack", "quota", "API extensions"} & found.keys()
    assert (found["addresses"].well, found["addresses"].seen) == (False, "free in the list: 0 of IPv4, 2 of IPv6")
    assert "list of addresses" not in found


def test_the_doctor_finds_a_node_in_the_list() -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        world.list_addresses("172.30.0.1-172.30.0.9")
        User(world).node("n1")
        await User(world).wait(5.0)
        found = doctoring.findings(await doctor.facts(sources(world, cloud=wall), permissions.CONTROLLER))
        return {each.what: each for each in found}

    found = scene(deeds)["list of addresses"]
    assert (found.well, found.seen) == (False, "node n1 has 172.30.0.1")


def test_who_keeps_what_is_listed_no_more_is_told_so(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        world.list_addresses("192.0.2.9")
        user = User(world)
        user.expose("web", "80/TCP")
        user.pods("web", "10.244.1.5")
        await user.wait(15.0)
        world.list_addresses("192.0.2.10")
        await user.wait(15.0)
        return await _look(world)

    survey = scene(deeds)
    [told] = reporting.status(survey).services
    assert (told.address, told.state, told.reason) == ("192.0.2.9", "served", "AddressRetired")
    assert "no longer in addresses.static" in mooring(seeing(survey), tmp_path, "why", "shop/web").output
    assert mooring(seeing(survey), tmp_path, "who", "192.0.2.9").exit_code == 0
