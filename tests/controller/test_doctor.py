"""What a doctor finds in worlds as they are, and in worlds that lack something."""

import asyncio
import datetime as dt
from collections.abc import Callable
from email.utils import format_datetime
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from mooring.controller import doctor, permissions
from mooring.controller.survey import Sources
from mooring.core import doctoring
from mooring.core.addresses import Place
from mooring.kube.api import Api
from mooring.model.config import Config, Kubernetes
from mooring.model.errors import StartRefused
from mooring.model.reports import Finding
from mooring.wire.http import Request, Response
from tests.simulation.user import User
from tests.simulation.world import MEMBER, World
from tests.surveying import Door, limit, operate, scene, sources, wall

BEGIN = dt.datetime(2026, 1, 1, 12, 0, 0, tzinfo=dt.UTC)


async def examined(there: Sources) -> dict[str, Finding]:
    found = doctoring.findings(await doctor.facts(there, permissions.CONTROLLER))
    assert len({each.what for each in found}) == len(found)
    return {each.what: each for each in found}


def looked(change: Callable[[World], None] = lambda _: None) -> dict[str, Finding]:
    async def deeds(world: World) -> dict[str, Finding]:
        user = User(world)
        user.expose("web", "80/TCP")
        user.pods("web", "10.244.1.5")
        await user.wait(15.0)
        change(world)
        return await examined(sources(world))

    return scene(deeds)


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    return looked()


def test_a_world_as_it_is(found: dict[str, Finding]) -> None:
    """The gateways' ports have the project's default group, which lets in only its own members, and is stateful."""
    ill = [each.what for each in found.values() if not each.well]
    assert ill == ["security group of g1", "ports at g1", "security group of g2", "ports at g2"]
    assert found["Kubernetes"].seen == "answers, version v1.36.0"
    assert found["rights in Kubernetes"].seen.startswith("may do all ")
    assert found["who leads"].seen.startswith("c1.1, epoch 1")
    assert found["quota"].seen.startswith("ports ")
    assert "any number of more addresses fit" in found["quota"].seen
    assert found["address pairs of g1"].seen == "2 entries, of 10, if Neutron's default is in force"
    assert found["VRRP (protocol 112)"].seen == "all gateways hear each other"
    assert found["ports at g1"].seen == "closed: 80/TCP (IPv4)"
    assert all(each.fix for each in found.values() if not each.well)


AS_DOCUMENTED = [
    ("IPv4", "112", (None, None)),
    ("IPv4", "tcp", (80, 80)),
    ("IPv4", "icmp", (None, None)),
    ("IPv6", "ipv6-icmp", (None, None)),
    *((family, protocol, (1024, 65535)) for family in ("IPv4", "IPv6") for protocol in ("tcp", "udp")),
]


def test_a_group_as_it_should_be() -> None:
    def change(world: World) -> None:
        project = {"project_id": MEMBER.project}
        operate(world, "POST", "security-groups", {"security_group": project | {"name": "gw", "stateful": False}})
        listed = world.neutron.handle(Request("list", "GET", "/v2.0/security-groups"), MEMBER)
        groups = msgspec.json.decode(listed.body)["security_groups"]
        [group] = [each["id"] for each in groups if each["name"] == "gw"]
        for family, protocol, ports in AS_DOCUMENTED:
            rule = {"security_group_id": group, "direction": "ingress", "protocol": protocol} | project
            rule |= {"ethertype": family, "port_range_min": ports[0], "port_range_max": ports[1]}
            operate(world, "POST", "security-group-rules", {"security_group_rule": rule})
        for port in world.place.gateways:
            operate(world, "PUT", f"ports/{port}", {"port": {"security_groups": [group]}})

    found = looked(change)
    assert [each for each in found.values() if not each.well] == []
    assert found["security group of g1"].seen == "stateless"
    assert found["ports at g1"].seen == "all 1 of Services are open"


def test_a_quota_that_is_spent() -> None:
    def change(world: World) -> None:
        limit(world, floatingip=4)

    found = looked(change)
    assert not found["quota"].well
    assert "floating IPs 4 of 4: no more addresses fit" in found["quota"].seen


def test_a_router_that_leads_nowhere() -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        def lost(request: Request) -> Response:
            if request.path == "/v2.0/routers":
                return Response(200, body=b'{"routers": []}')
            return world.neutron.handle(request, MEMBER)

        return await examined(sources(world, cloud=lost))

    found = scene(deeds)
    assert not found["router"].well
    assert "lead elsewhere or cannot be seen" in found["router"].seen


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/v2.0/networks", "MTU"),
        ("/v2.0/routers", "router"),
        ("/v2.0/security-groups", "security groups of the gateways"),
        ("/v2.0/quotas", "quota"),
    ],
)
def test_what_may_not_be_read_keeps_nothing_else_from_being_told(path: str, what: str) -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        def refusing(request: Request) -> Response:
            return Response(403) if request.path.startswith(path) else world.neutron.handle(request, MEMBER)

        return await examined(sources(world, cloud=refusing))

    found = scene(deeds)
    assert not found[what].well
    assert "could not be looked at: " in found[what].seen
    assert "403" in found[what].seen
    assert found["API extensions"].well


@pytest.mark.parametrize("refused", [False, True])
def test_whether_the_gateways_ports_may_be_changed_is_told_and_nothing_changes(*, refused: bool) -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        def strict(request: Request) -> Response:
            return Response(403) if refused and request.method == "PUT" else world.neutron.handle(request, MEMBER)

        before = {name: world.truth.ports[port] for name, port in world.truth.gateway_ports.items()}
        found = await examined(sources(world, cloud=strict))
        assert {name: world.truth.ports[port] for name, port in world.truth.gateway_ports.items()} == before
        return found

    found = scene(deeds)
    for name in ("g1", "g2"):
        assert found[f"rights to port of {name}"].well is not refused


def test_without_openstack() -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        return await examined(sources(world, cloud=wall))

    found = scene(deeds)
    assert not found["OpenStack"].well
    assert "no route to host" in found["OpenStack"].seen
    assert "quota" not in found
    assert found["Kubernetes"].well


def test_what_the_configuration_names_and_is_not_there() -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        async def nowhere() -> Place:
            raise StartRefused("addresses.network: there is no network 'lb'")

        return await examined(msgspec.structs.replace(sources(world), find=nowhere))

    found = scene(deeds)
    assert found["OpenStack"].well
    assert found["what the configuration names"].seen == "addresses.network: there is no network 'lb'"


def test_without_kubernetes_the_cloud_is_looked_at_all_the_same() -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        return await examined(msgspec.structs.replace(sources(world), api=Api(Door(wall))))

    found = scene(deeds)
    assert (found["Kubernetes"].well, found["rights in Kubernetes"].well) == (False, False)
    assert found["OpenStack"].well
    assert found["API extensions"].well


def test_who_has_no_way_to_kubernetes_is_told_so(tmp_path: Path) -> None:
    config = Config(kubernetes=Kubernetes(kubeconfig=str(tmp_path / "none")))
    report = asyncio.run(doctor.examine(config))
    assert not report.well
    assert "The Kubernetes API cannot be used" in report.findings[0].seen
    assert [each.what for each in report.findings] == ["Kubernetes", "rights in Kubernetes", "OpenStack"]


@pytest.mark.parametrize(
    ("lacks", "seen"), [(("patch", "/services/status"), True), (("list", "/nodes"), False)], ids=["patch", "list"]
)
def test_rights_that_are_missing(lacks: tuple[str, str], seen: bool) -> None:  # noqa: FBT001 - a column
    """Also of one who may not even look at everything."""

    async def deeds(world: World) -> dict[str, Finding]:
        every = {(verb, f"{each.kind.group}/{each.resource}") for each in permissions.CONTROLLER for verb in each.verbs}
        world.kube.allow("somebody", frozenset(every - {lacks}))
        api = Api(Door(lambda request: world.kube.handle(request, "somebody")))
        return await examined(msgspec.structs.replace(sources(world), api=api))

    found = scene(deeds)
    assert found["Kubernetes"].well is seen
    rights = found["rights in Kubernetes"]
    assert (rights.well, rights.seen) == (False, f"may not {lacks[0]} {lacks[1][1:]}")


def test_every_right_of_the_table_is_asked_for() -> None:
    async def deeds(world: World) -> list[str]:
        seen = await doctor.facts(sources(world), permissions.CONTROLLER)
        return [each.what for each in seen.rights]

    asked = scene(deeds)
    expected = sum(len(each.verbs) for each in permissions.CONTROLLER)
    assert len(asked) == expected
    assert "patch leases in mooring-system" in asked


def test_an_agent_that_does_not_answer() -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        there = sources(world)
        agents = {**there.agents, "g2": Door(wall)}
        return await examined(msgspec.structs.replace(there, agents=agents))

    found = scene(deeds)
    assert not found["agent of g2"].well
    assert "no route to host" in found["agent of g2"].seen


@pytest.mark.parametrize(("seconds", "told"), [(0, ""), (30, "g1 30 s ahead"), (-30, "g1 29 s behind")])
def test_a_clock_that_is_wrong(seconds: int, told: str) -> None:
    async def deeds(world: World) -> dict[str, Finding]:
        there = sources(world)

        class Saying:
            async def send(self, request: Request) -> Response:
                answer = await there.agents["g1"].send(request)
                date = format_datetime(
                    world.clock().replace(microsecond=0) + dt.timedelta(seconds=seconds), usegmt=True
                )
                return Response(answer.status, {"date": date}, answer.body)

        return await examined(msgspec.structs.replace(there, agents={**there.agents, "g1": Saying()}))

    clocks = scene(deeds)["clocks"]
    assert clocks.well is not bool(told)
    assert told in clocks.seen


@pytest.mark.parametrize("date", ["", "soon", "Thu, 01 Jan 2026 12:00:00 -0000"])
def test_what_is_no_time(date: str) -> None:
    assert doctor.dated("g1", date, BEGIN, BEGIN) is None


def test_the_version_of_this_command_is_that_of_the_package() -> None:
    async def deeds(world: World) -> str:
        return (await doctor.facts(sources(world), ())).release

    assert scene(deeds) == metadata.version("mooring")
