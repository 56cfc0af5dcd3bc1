"""`mooring status` on worlds of all kinds."""

import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from mooring.cli import output, status_command
from mooring.core import reporting
from mooring.core.surveyed import Asked, Leader, Owned, Sights, Survey
from mooring.model import names
from mooring.model.gateway import Held, State, Vrrp
from mooring.model.kubernetes import Meta, Service, ServicePort, ServiceSpec, ServiceStatus
from mooring.model.reports import ControllerReport, ServiceReport, StatusReport
from tests.looking import blind, mooring, seeing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import look, new_world, scene, sources, wall

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LEADER = Leader("c1", NOW, NOW, 15.0, 3)


async def _two(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP", "443/TCP")
    user.pods("web", "10.244.1.5")
    user.expose("theirs", "80/TCP", ours=False)
    await user.wait(15.0)
    return await look(world)


@pytest.fixture(scope="module")
def healthy() -> Survey:
    return scene(_two)


def test_a_healthy_world_fits_on_a_screen(healthy: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(healthy), tmp_path, "status")
    assert run.exit_code == 0, run.output
    [address] = reporting.status(healthy).addresses
    lines = run.output.splitlines()
    assert lines[0].startswith("Controller: c1.1 leads since 2026-01-01T00:00:00Z, epoch 1, renewed ")
    assert lines[2:5] == [
        "GATEWAY  ANSWERS  VRRP    EPOCH  GENERATION  UP TO DATE  VERSION",
        f"g1       yes      master  1      {_generation(healthy)}           yes",
        f"g2       yes      backup  1      {_generation(healthy)}           yes",
    ]
    assert f"{address.public}  {address.inner}  {address.port}  shop/web 80/TCP, 443/TCP" in lines
    assert f"shop/web  {address.public}  served  Programmed" in lines
    assert lines[-1] == "1 Service: 1 served. Of type LoadBalancer and not Mooring's: 1."


def test_who_observes_is_no_problem_and_its_steps_are_counted(healthy: Survey, tmp_path: Path) -> None:
    bare = tuple(
        msgspec.structs.replace(
            each, metadata=msgspec.structs.replace(each.metadata, annotations={}), status=ServiceStatus()
        )
        for each in healthy.sights.services
    )
    found = Survey(msgspec.structs.replace(healthy.sights, acts=False, leader=Leader(), services=bare))
    lines = mooring(seeing(found), tmp_path, "status").output.splitlines()
    steps = reporting.plan(found).steps
    assert steps > 0
    told = 'It is configured to observe (controller.reconcile = "observe") and writes nothing.'
    assert lines[0] == "Controller: nobody leads."
    assert lines[1] == f"{told} It would take {steps} steps: `mooring plan` shows them."
    assert not [each for each in lines if each.startswith("Nobody leads")]


def test_json_is_the_documented_struct(healthy: Survey, tmp_path: Path) -> None:
    run = mooring(seeing(healthy), tmp_path, "status", "-o", "json")
    assert run.exit_code == 0
    assert msgspec.json.decode(run.stdout, type=StatusReport) == reporting.status(healthy)


def test_something_is_not_well(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(15.0)
        return await look(world)

    run = mooring(seeing(scene(deeds)), tmp_path, "status")
    assert run.exit_code == 3
    assert "refusing  NoEndpoints" in run.output
    assert run.output.endswith("`mooring why shop/web` says why.\n")


def test_what_is_missing_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    async def deeds(world: World) -> Survey:
        from mooring.controller import survey  # noqa: PLC0415 - it is heavy, and this test alone needs it

        await User(world).wait(15.0)
        return await survey.survey(sources(world, cloud=wall))

    run = mooring(seeing(scene(deeds)), tmp_path, "status")
    assert run.exit_code == 3
    assert "Missing: OpenStack: list ports" in run.output
    assert "no route to host" in run.output
    assert "g1       yes" in run.output


def test_nobody_leads(tmp_path: Path) -> None:
    world = new_world()
    scene(_two, world)
    found = msgspec.structs.replace(world.loop.run(look(world)).sights, now=NOW.replace(hour=1))
    run = mooring(seeing(Survey(found)), tmp_path, "status")
    assert run.exit_code == 3
    assert run.output.startswith("Controller: nobody leads; c1.1 led last, epoch 1, renewed ")


def test_without_kubernetes(tmp_path: Path) -> None:
    run = mooring(blind, tmp_path, "status")
    assert run.exit_code == 1
    assert run.stderr == "Error: Kubernetes cannot be looked at: no route to host. See that it runs.\n"


@pytest.mark.parametrize("command", [["status"], ["plan"], ["why", "web"]])
@pytest.mark.parametrize(("config", "told"), [("", "addresses.network is not set"), ("[agnet]", "unknown section")])
def test_a_configuration_that_is_not_enough(command: list[str], config: str, told: str, tmp_path: Path) -> None:
    run = mooring(blind, tmp_path, *command, config=config)
    assert run.exit_code == 2
    assert told in run.stderr


def _report(*services: ServiceReport) -> StatusReport:
    return StatusReport(
        well=False, controller=ControllerReport(), gateways=(), addresses=(), services=services, others=0
    )


def _service(number: int, state: str) -> ServiceReport:
    return msgspec.convert(
        {"namespace": "s", "name": f"w{number:05}", "address": "", "state": state, "reason": "R", "message": ""},
        ServiceReport,
    )


@pytest.mark.parametrize(
    ("well", "ill", "shown", "left_out"),
    [
        (3, 2, 5, 0),
        (20, 0, 20, 0),
        (21, 0, 0, 0),
        (500, 3, 3, 0),
        (0, 20, 20, 0),
        (0, 21, 20, 1),
        (9000, 1000, 20, 980),
    ],
)
def test_many_services_do_not_flood(well: int, ill: int, shown: int, left_out: int) -> None:
    services = [_service(each, "served") for each in range(well)]
    services += [_service(well + each, "stuck") for each in range(ill)]
    report = _report(*services)
    text = output.plain(status_command.page(report))
    assert text.count("s/w") - text.count("`") // 2 == shown
    assert (f"and {left_out:,} more that are not well" in text) == bool(left_out)
    everything = output.plain(status_command.page(report, everything=True))
    assert everything.count("s/w") - everything.count("`") // 2 == well + ill


def test_ten_times_as_many_services_take_ten_times_as_long() -> None:
    spec = ServiceSpec(type="LoadBalancer", load_balancer_class=names.GATEWAY_CLASS, ports=(ServicePort(80),))
    place = new_world().place

    def took(count: int) -> float:
        services = tuple(Service(Meta(name=f"w{each:05}", namespace="s"), spec) for each in range(count))
        begin = time.process_time()
        report = reporting.status(Survey(Sights(NOW, LEADER, services, (), (), Owned(place))))
        assert len(output.plain(status_command.page(report)).splitlines()) < 40
        return time.process_time() - begin

    took(100)
    assert took(10_000) < 40 * took(1_000)


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ((Vrrp.MASTER, Vrrp.BACKUP), ""),
        ((Vrrp.MASTER, Vrrp.UNKNOWN), ""),
        ((Vrrp.UNKNOWN, Vrrp.BACKUP), ""),
        ((Vrrp.MASTER, Vrrp.FAULT), "keepalived of gateway g2 is in the state fault."),
        ((Vrrp.MASTER, Vrrp.STOPPED), "keepalived of gateway g2 is in the state stopped."),
        ((Vrrp.MASTER, Vrrp.MASTER), "Gateways g1, g2 all hold the addresses: they do not hear each other's adverts."),
        ((Vrrp.BACKUP, Vrrp.BACKUP), "No gateway that answers holds the addresses."),
    ],
)
def test_who_holds_the_addresses(states: tuple[Vrrp, ...], told: str) -> None:
    agents = tuple(Asked(f"g{number}", State(Held(3, 1, "d"), each)) for number, each in enumerate(states, start=1))
    report = reporting.status(Survey(Sights(NOW, LEADER, (), (), agents, None)))
    assert "\n".join(report.problems) == told


def _generation(survey: Survey) -> int:
    return reporting.status(survey).gateways[0].generation
