"""What is told of a world, against what is so: real controllers on virtual time, then a survey beside them."""

import asyncio
import datetime as dt

import msgspec
import pytest

from mooring.controller import survey
from mooring.controller.survey import CannotLook
from mooring.core import reporting
from mooring.core.addresses import Place
from mooring.core.surveyed import Survey
from mooring.kube.api import Api
from mooring.model import names
from mooring.model.errors import StartRefused
from mooring.model.kubernetes import Endpoint, Lease, LeaseSpec, Meta, Name
from mooring.model.reports import ServiceReport, StatusReport
from mooring.wire.http import Request, Response
from tests.simulation.explore import ByChance, Scripted
from tests.simulation.loop import run_virtually
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import Door, backup, leave_port, limit, look, new_world, scene, sources, wall


def states(report: StatusReport) -> dict[str, tuple[str, str]]:
    return {each.name: (each.state, each.reason) for each in report.services}


REFUSED = "replaced-wish"
"""It ends with a wish that OpenStack alone can refuse: nobody else knows that trying again is in vain."""


def only(report: StatusReport) -> ServiceReport:
    [found] = report.services
    return found


async def healthy(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP", "443/TCP")
    user.pods("web", "10.244.1.5 10.244.2.5!")
    await user.wait(15.0)  # a gateway is stale until it hears of its document with the next heartbeat
    return await look(world)


def test_a_healthy_world() -> None:
    found = scene(healthy)
    report = reporting.status(found)
    assert report.well, report
    assert report.controller.leads
    assert [(each.name, each.answers, each.current, each.vrrp) for each in report.gateways] == [
        ("g1", True, True, "master"),
        ("g2", True, True, "backup"),
    ]
    [address] = report.addresses
    assert [(each.service, each.ports) for each in address.carries] == [("shop/web", ("80/TCP", "443/TCP"))]
    assert only(report).address == address.public
    plan = reporting.plan(found)
    assert not plan.has_steps
    assert plan.waiting == ()


@pytest.mark.parametrize("name", [name for name in SCENARIOS if not name.startswith("uninstall") and name != REFUSED])
def test_at_rest_nothing_is_planned(name: str) -> None:
    world = World(1, ByChance(1), controllers=SCENARIOS[name].controllers)
    SCENARIOS[name].run(world, 1)
    plan = reporting.plan(world.loop.run(look(world)))
    assert (plan.services, plan.gateways, plan.cleaning, plan.waiting) == ((), (), (), ())


def test_after_whatever_went_wrong_nothing_is_planned_at_rest() -> None:
    for seed in range(1, 31):
        world = World(seed, ByChance(seed), controllers=2)
        SCENARIOS["churn"].run(world, seed)
        for twin in world.gateways.values():
            twin.start()
        plan = reporting.plan(world.loop.run(look(world)))
        # who asks for an address that cannot be had asks again with each audit
        steps = [each for each in plan.services if not each.details.get("address")]
        assert [*steps, *plan.gateways, *plan.cleaning, *plan.waiting] == [], seed


def test_on_the_way_something_is_planned() -> None:
    async def deeds(world: World) -> Survey:
        User(world).expose("web", "80/TCP")
        return await look(world)

    found = scene(deeds)
    [step] = reporting.plan(found).services
    assert (step.about, step.step) == ("shop/web", "Manage")
    assert states(reporting.status(found)) == {"web": ("waiting", "NoAddressYet")}


MISTYPED = {"openstack.org/mooring-adresses": "192.0.2.1"}


def test_an_annotation_that_nobody_reads_is_told_and_is_in_nobodys_way() -> None:
    async def deeds(world: World) -> Survey:
        user = User(world)
        user.expose("web", "80/TCP", annotations=MISTYPED)
        user.expose("bare", "81/TCP", annotations=MISTYPED)
        user.expose("wrong", "82/TCP", annotations={**MISTYPED, names.LAYER: "nodes"})
        user.pods("web", "10.244.1.5")
        await user.wait(10.0)
        user.expose("new", "83/TCP", annotations=MISTYPED)
        return await look(world)

    found = scene(deeds)
    assert states(reporting.status(found)) == {
        "web": ("served", "BadAnnotation"),
        "bare": ("refusing", "NoEndpoints"),
        "wrong": ("stuck", "BadAnnotation"),
        "new": ("waiting", "NoAddressYet"),
    }
    why = reporting.why(found, found.services[Name("shop", "web")])
    assert why.well
    assert [each.mark for each in why.verdicts] == ["warn", "ok", "ok"]


def test_a_service_without_endpoints() -> None:
    async def deeds(world: World) -> Survey:
        user = User(world)
        user.expose("web", "80/TCP", "443/TCP")
        user.pods("web", "10.244.1.5!")
        await user.wait(10.0)
        return await look(world)

    found = scene(deeds)
    assert states(reporting.status(found)) == {"web": ("refusing", "NoEndpoints")}
    why = reporting.why(found, found.services[Name("shop", "web")])
    assert not why.well
    assert [each.mark for each in why.verdicts] == ["ok", "ok", "warn"]
    assert (why.endpoints.slices, why.endpoints.endpoints, why.endpoints.ready) == (1, 1, 0)
    assert [each.endpoints for each in why.endpoints.ports] == [0, 0]
    assert why.next is None


def test_names_of_hosts_are_no_endpoints_that_are_ready() -> None:
    """Kubernetes lets them stand in a slice; no gateway could send packets there."""
    found = scene(healthy)
    [there] = found.sights.slices
    named = msgspec.structs.replace(there, address_type="FQDN", endpoints=(Endpoint(("host.example.org",)),))
    with_names = Survey(msgspec.structs.replace(found.sights, slices=(there, named)))
    told = reporting.why(with_names, with_names.services[Name("shop", "web")]).endpoints
    assert (told.slices, told.endpoints, told.ready) == (2, 3, 1)


def test_a_service_of_another_class_is_counted_and_explained() -> None:
    async def deeds(world: World) -> Survey:
        User(world).expose("theirs", "80/TCP", ours=False)
        return await look(world)

    found = scene(deeds)
    report = reporting.status(found)
    assert (report.services, report.others) == ((), 1)
    why = reporting.why(found, found.services[Name("shop", "theirs")])
    assert (why.well, why.state, [each.reason for each in why.verdicts]) == (False, "other", ["OtherClass"])


def test_a_quota_that_is_spent() -> None:
    async def deeds(world: World) -> Survey:
        limit(world, floatingip=3)
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(10.0)
        found = await look(world)
        limit(world, floatingip=-1)
        return found

    found = scene(deeds)
    assert states(reporting.status(found)) == {"web": ("stuck", "QuotaExceeded")}
    why = reporting.why(found, found.services[Name("shop", "web")])
    assert [each.mark for each in why.verdicts] == ["ok", "not", "not"]
    assert "quota" in why.verdicts[1].fix
    assert why.next is None, "what would be refused is not asked for"
    assert reporting.plan(found).steps == 0


def test_no_live_gateway() -> None:
    async def deeds(world: World) -> Survey:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(10.0)
        for twin in world.gateways.values():
            twin.up = False
        await user.wait(30.0)
        found = await look(world)
        for twin in world.gateways.values():
            twin.start()
        return found

    report = reporting.status(scene(deeds))
    assert states(report) == {"web": ("stuck", "NoGateway")}
    assert [each.what for each in report.missing] == ["gateway g1", "gateway g2"]
    assert not report.well


def test_who_has_no_way_to_the_gateways_believes_the_leader() -> None:
    async def deeds(world: World) -> Survey:
        user = User(world)
        user.expose("web", "80/TCP")
        user.pods("web", "10.244.1.5")
        await user.wait(10.0)
        apart = msgspec.structs.replace(sources(world), agents={}, silent={"g1": "no certificate", "g2": "the same"})
        return await survey.survey(apart)

    report = reporting.status(scene(deeds))
    assert states(report) == {"web": ("served", "Programmed")}
    assert [each.why for each in report.missing] == ["no certificate", "the same"]
    assert not report.well


async def layered(world: World) -> User:
    """A Service for each layer and each thing that is told about them."""
    user = User(world)
    user.node("n1")
    user.expose("web", "80/TCP", annotations={names.LAYER: "node"})
    user.expose("lost", "81/TCP", annotations={names.LAYER: "node"}, externalTrafficPolicy="Local")
    user.expose("inner", "82/TCP", annotations={names.LAYER: "cluster"})
    user.expose("hidden", "83/TCP", externalTrafficPolicy="Local")
    user.expose("guarded", "84/TCP")
    user.expose("wrong", "85/TCP", annotations={names.LAYER: "nodes"})
    for name in ("web", "lost", "inner", "hidden", "guarded"):
        user.pods(name, "10.244.1.5@n9")
    user.guard("shop", "deny", "guarded")
    await user.wait(15.0)
    return user


LAYERED = {
    "web": ("served", "Programmed"),
    "lost": ("stuck", "NoNodes"),
    "inner": ("served", "Programmed"),
    "hidden": ("served", "ClientAddressNotKept"),
    "guarded": ("served", "NetworkPolicyApplies"),
    "wrong": ("stuck", "BadAnnotation"),
}


def test_where_packets_go_and_what_is_in_the_way() -> None:
    async def deeds(world: World) -> Survey:
        await layered(world)
        return await look(world)

    found = scene(deeds)
    assert states(reporting.status(found)) == LAYERED
    assert not reporting.plan(found).has_steps
    told = {name: reporting.why(found, found.services[Name("shop", name)]) for name in LAYERED}
    assert [each.reason for each in told["wrong"].verdicts] == ["Accepted", "BadAnnotation", "WaitingForAddress"]
    assert {name: each.endpoints.layer for name, each in told.items() if name != "wrong"} == {
        "web": "node",
        "lost": "node",
        "inner": "cluster",
        "hidden": "pod",
        "guarded": "pod",
    }
    assert [each.endpoints for each in told["lost"].endpoints.ports] == [0]
    assert [each.endpoints for each in told["web"].endpoints.ports] == [1]


def test_the_same_is_told_by_who_has_no_way_to_the_gateways() -> None:
    async def deeds(world: World) -> Survey:
        await layered(world)
        apart = msgspec.structs.replace(sources(world), agents={}, silent={"g1": "no certificate", "g2": "the same"})
        return await survey.survey(apart)

    found = scene(deeds)
    assert states(reporting.status(found)) == LAYERED
    assert reporting.plan(found).services == ()


async def behind(world: World) -> Survey:
    """A gateway comes back and was not told yet what came meanwhile."""
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(10.0)
    world.gateways["g2"].up = False
    await user.wait(10.0)
    user.expose("late", "443/TCP")
    await user.wait(3.0)  # before the next heartbeat, which would find it
    world.gateways["g2"].start()
    return await look(world)


def test_one_gateway_is_behind() -> None:
    found = scene(behind)
    report = reporting.status(found)
    assert [each.current for each in report.gateways] == [True, False]
    assert states(report) == dict.fromkeys(("late", "web"), ("refusing", "NoEndpoints")), "by what their leader found"
    assert "Gateway g2 lacks the wanted document" in " ".join(report.problems)
    plan = reporting.plan(found)
    assert plan.gateways == ("g2",)
    assert plan.services == ()


def test_a_gateway_that_is_just_being_told_is_asked_again() -> None:
    async def deeds(world: World) -> tuple[Survey, float]:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(10.0)
        user.pods("web", "10.244.1.5")
        begin = world.loop.time()
        return await look(world), world.loop.time() - begin

    found, seconds = scene(deeds)
    assert found.lacking == ()
    assert seconds == survey.PAUSE


def test_a_port_that_nobody_needs_goes_and_then_waits() -> None:
    async def deeds(world: World) -> tuple[Survey, Survey]:
        await asyncio.sleep(10.0)
        leave_port(world)
        first = await look(world)
        await asyncio.sleep(25.0)
        return first, await look(world)

    first, second = scene(deeds)
    [doomed] = reporting.plan(first).cleaning
    assert (doomed.step, doomed.to_do) == ("Doom", "tag it as going, because nobody needs it")
    plan = reporting.plan(second)
    assert plan.cleaning == ()
    assert [each.about for each in plan.waiting] == [doomed.about]
    assert [each.going for each in reporting.status(second).addresses] == [True]


def test_while_no_controller_runs() -> None:
    world = new_world()
    scene(healthy, world)
    world.loop.run(asyncio.sleep(60.0))
    User(world).expose("late", "80/TCP")
    backup(world)
    found = world.loop.run(look(world))
    report = reporting.status(found)
    assert not report.controller.leads
    assert report.controller.identity.startswith("c1")
    assert report.problems[0].startswith("Nobody leads: c1")
    assert states(report) == {"late": ("waiting", "NoAddressYet"), "web": ("served", "Programmed")}
    assert [each.step for each in reporting.plan(found).services] == ["Manage"]
    assert reporting.why(found, found.services[Name("shop", "late")]).leads is False


def test_of_two_that_have_the_same_the_one_that_the_world_knows_keeps_it() -> None:
    world = new_world()
    scene(healthy, world)
    world.loop.run(asyncio.sleep(60.0))
    User(world).copy("web", "aaa")
    found = world.loop.run(look(world))
    assert states(reporting.status(found)) == {"aaa": ("waiting", "PortTaken"), "web": ("served", "Programmed")}


def test_an_address_that_is_not_shown_is_waited_for() -> None:
    world = new_world()
    scene(healthy, world)
    world.loop.run(asyncio.sleep(60.0))
    User(world).set_status("web", "198.51.100.9")
    found = world.loop.run(look(world))
    assert states(reporting.status(found)) == {"web": ("waiting", "Programmed")}
    assert [each.step for each in reporting.plan(found).services] == ["Publish"]


def test_two_that_want_the_same_are_not_planned_onto_one_port() -> None:
    """Nobody leads; both are taken on and have no port, and there is one that is free for the first of them."""
    world = new_world()
    scene(healthy, world)
    world.loop.run(asyncio.sleep(60.0))
    user = User(world)
    for name in ("aaa", "bbb"):
        user.expose(name, "8080/TCP", annotations={"openstack.org/mooring-managed": "true"})
        user._patch(name, {"metadata": {"finalizers": ["openstack.org/mooring"]}})  # noqa: SLF001 - what a leader did
    plan = reporting.plan(world.loop.run(look(world)))
    assert [(each.about, each.step) for each in plan.services] == [("shop/aaa", "Annotate"), ("shop/bbb", "MakePort")]


def test_without_openstack_services_are_as_they_were_told_to_be() -> None:
    async def deeds(world: World) -> Survey:
        user = User(world)
        user.expose("web", "80/TCP")
        user.pods("web", "10.244.1.5")
        user.expose("theirs", "80/TCP", ours=False)
        await user.wait(10.0)
        return await survey.survey(sources(world, cloud=wall))

    found = scene(deeds)
    report = reporting.status(found)
    assert [each.what for each in report.missing] == ["OpenStack"]
    assert "no route to host" in report.missing[0].why
    assert states(report) == {"web": ("unknown", "Programmed")}
    assert [each.current for each in report.gateways] == [None, None]
    why = reporting.why(found, found.services[Name("shop", "web")])
    assert why.as_told
    assert [each.reason for each in why.verdicts] == ["Accepted", "Allocated", "Programmed"]
    assert reporting.why(found, found.services[Name("shop", "theirs")]).verdicts[0].reason == "OtherClass"
    assert not reporting.plan(found).has_steps


def test_what_the_configuration_names_and_is_not_there_is_missing() -> None:
    async def deeds(world: World) -> Survey:
        async def nowhere() -> Place:
            raise StartRefused("addresses.network: there is no network 'lb'")

        return await survey.survey(msgspec.structs.replace(sources(world), find=nowhere))

    assert scene(deeds).sights.missing[0].why == "addresses.network: there is no network 'lb'"


def test_without_kubernetes_there_is_nothing_to_tell() -> None:
    async def deeds(world: World) -> str:
        try:
            await survey.survey(msgspec.structs.replace(sources(world), api=Api(Door(wall))))
        except CannotLook as error:
            return str(error)
        return ""

    told = scene(deeds)
    assert told.startswith("Kubernetes cannot be looked at: ")
    assert "no route to host" in told
    assert "kubeconfig" in told


def test_a_lease_in_which_somebody_scribbled_is_nobodys() -> None:
    scribbled = Lease(Meta(annotations={"openstack.org/mooring-epoch": "many"}), LeaseSpec("c1", 15, "now", "later"))
    found = survey.leader(scribbled)
    assert (found.since, found.renewed, found.epoch) == (None, None, 0)
    assert not found.leads(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


def test_nothing_at_all() -> None:
    async def deeds() -> Survey:
        return await look(World(1, ByChance(1), controllers=0))

    report = reporting.status(run_virtually(deeds()))
    assert report.problems[0].startswith("Nobody leads: no Lease is held.")
    assert report.services == ()


def test_an_agent_that_does_not_know_the_question_for_counters() -> None:
    async def deeds(world: World) -> Survey:
        def older(request: Request) -> Response:
            if request.path == "/v1/counters":
                return Response(404, {}, b"Not Found")
            return world.gateways["g2"].handle(request)

        there = sources(world)
        agents = {**there.agents, "g2": Door(older)}
        return await survey.survey(msgspec.structs.replace(there, agents=agents, counters=True))

    first, second = scene(deeds).sights.agents
    assert first.counted == ()
    assert second.counted is None
    assert second.state is not None


def test_gateways_that_share_the_addresses_may_all_hold_some() -> None:
    async def deeds(world: World) -> Survey:
        await User(world).wait(15.0)
        return await survey.survey(msgspec.structs.replace(sources(world), holders=2))

    found = scene(deeds, World(1, Scripted({})))
    assert "all hold the addresses" not in " ".join(reporting.status(found).problems)
    one = Survey(msgspec.structs.replace(found.sights, holders=1))
    assert "all hold the addresses" in " ".join(reporting.status(one).problems)
