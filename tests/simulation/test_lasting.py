"""What goes wrong for good, or costs a Service what it had: nobody else suffers, and it gets back what there is."""

import itertools
import math
from collections.abc import Callable

import msgspec
import pytest

from mooring.cloud.twin.state import Caller
from mooring.model import names
from mooring.model.kubernetes import Name
from mooring.wire.http import Request, Response
from tests.simulation.explore import Scripted
from tests.simulation.user import User
from tests.simulation.world import TIMES, World

Refuses = Callable[[Request, str], bool]
A_WHILE = 6 * TIMES.audit


def floating_ips(world: World) -> dict[str, str | None]:
    """By address the port that each floating IP is on."""
    return {each.floating_ip_address: each.port_id for each in world.truth.floating_ips.values()}


class Stubborn:
    """A Neutron that refuses something about one port for as long as that is named here."""

    def __init__(self, world: World, refuses: Refuses, status: int, kind: str) -> None:
        self._real = world.neutron.handle
        self._refuses = refuses
        error = {"NeutronError": {"type": kind, "message": "refused", "detail": ""}}
        self._answer = Response(status, {"content-type": "application/json"}, msgspec.json.encode(error))
        self.about = ""
        world.neutron.handle = self._handle  # type: ignore[method-assign]

    def _handle(self, request: Request, who: Caller) -> Response:
        if self.about and self._refuses(request, self.about):
            return self._answer
        return self._real(request, who)


@pytest.mark.parametrize(
    ("refuses", "status", "kind"),
    [
        (
            lambda request, port: request.method == "DELETE" and request.path.endswith(f"/ports/{port}"),
            409,
            "PortInUse",
        ),
        (lambda request, port: request.method == "DELETE" and request.path.endswith(f"/ports/{port}"), 500, "Defect"),
        (lambda request, port: request.method == "DELETE" and request.path.endswith(f"/ports/{port}"), 504, ""),
        (lambda request, _: request.path.endswith("/tags/mooring-deleting"), 403, "PolicyNotAuthorized"),
        (lambda request, _: request.path.endswith("/tags/mooring-deleting"), 504, ""),
    ],
    ids=["in use", "a defect of Neutron's", "no answer", "tags are forbidden", "no answer to any tag"],
)
def test_what_neutron_refuses_for_good_keeps_nothing_else_from_being_done(
    refuses: Refuses, status: int, kind: str
) -> None:
    """Somebody took a floating IP off its port: that is put right all the same, and so is all else."""
    world = World(1, Scripted({}))
    neutron = Stubborn(world, refuses, status, kind)

    async def deeds(world: World) -> None:
        world.share("none")
        user = User(world)
        for name in ("first", "second", "third"):
            user.expose(name, "80/TCP")
        await user.wait(3.0)
        address = user.shown("second")
        neutron.about = user.annotations("first")[names.PORT]
        user.delete("first")
        await user.wait(TIMES.before_deletion + A_WHILE)
        user.take_off("second")
        await user.wait(A_WHILE)
        assert user.shown("second") == address
        assert floating_ips(world)[address] == user.annotations("second")[names.PORT]
        neutron.about = ""

    world.run(deeds)


def test_what_fails_each_time_for_another_reason_is_tried_less_and_less_often() -> None:
    """What is told of it is another text each time: that we wrote it is no reason to try again."""
    world = World(1, Scripted({}))
    tried: list[float] = []
    real = world.neutron.handle

    def handle(request: Request, who: Caller) -> Response:
        if request.method != "POST" or not request.path.endswith("/floatingips") or world.loop.time() > A_WHILE:
            return real(request, who)
        tried.append(world.loop.time())
        error = {"type": "Defect", "message": f"refused the {len(tried)}th time", "detail": ""}
        return Response(500, {"content-type": "application/json"}, msgspec.json.encode({"NeutronError": error}))

    world.neutron.handle = handle  # type: ignore[method-assign]

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(2 * A_WHILE)
        assert user.shown("web")

    world.run(deeds)
    gaps = [later - sooner for sooner, later in itertools.pairwise(tried)]
    doublings = math.log2(TIMES.longest_retry / TIMES.first_retry)
    assert len(tried) <= doublings + A_WHILE / (0.8 * TIMES.longest_retry) + A_WHILE / TIMES.audit, gaps


@pytest.mark.parametrize("annotations", [{}, {names.KEEP: "true"}], ids=["plain", "kept"])
@pytest.mark.parametrize("beside", [(), ("81/TCP",), ("81/TCP", "82/TCP")], ids=["alone", "two", "three"])
def test_who_loses_a_port_gets_one_at_the_same_floating_ip(
    beside: tuple[str, ...], annotations: dict[str, str]
) -> None:
    """All that were there; not what comes meanwhile, and also where another address would do. It is no wish."""

    async def deeds(world: World) -> None:
        world.refuse_wishes()
        user = User(world)
        user.expose("web", "80/TCP", annotations=annotations)
        for port in beside:
            user.expose(f"with-{port[:2]}", port)
        await user.wait(3.0)
        user.expose("another", "80/TCP")
        await user.wait(3.0)
        every = ["web", *(f"with-{port[:2]}" for port in beside)]
        before = {each: user.shown(each) for each in every}
        assert len(set(before.values())) == 1
        user.lose("ports", "web")
        await user.wait(0.5)
        user.expose("late", "81/TCP", "82/TCP")
        await user.wait(A_WHILE)
        assert {each: user.shown(each) for each in every} == before

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("lost", ["port", "floating IP off"])
def test_nobody_of_another_namespace_gets_what_a_service_shows(lost: str) -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        user.expose("other/asks", "80/TCP", loadBalancerIP=address)
        await user.wait(3.0)
        if lost == "port":
            user.lose("ports", "web")
        else:
            user.take_off("web")
        await user.wait(A_WHILE)
        assert (user.shown("web"), user.shown("other/asks")) == (address, "")
        user.delete("web")
        await user.wait(A_WHILE)
        assert user.shown("other/asks") == address, "it was freed"

    World(1, Scripted({})).run(deeds)


def test_what_is_kept_for_a_namespace_can_be_given_up_by_nobody_else() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", annotations={names.KEEP: "true"})
        await user.wait(3.0)
        address, port = user.shown("web"), user.annotations("web")[names.PORT]
        user.delete("web")
        await user.wait(0.5)
        user.expose("other/new", "80/TCP", annotations={names.KEEP: "false"})
        user.expose("other/named", "8080/TCP", annotations={names.KEEP: "false", names.PORT: port})
        user.expose("new", "80/TCP")
        await user.wait(A_WHILE + TIMES.before_deletion)
        assert address not in {user.shown(each) for each in ("other/new", "other/named", "new")}
        assert floating_ips(world)[address] is None
        user.expose("again", "443/TCP", loadBalancerIP=address)
        await user.wait(3.0)
        assert user.shown("again") == address

    World(1, Scripted({})).run(deeds)


def test_a_found_address_that_is_kept_says_for_whom() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        found = user.spare()
        user.expose("web", "80/TCP", annotations={names.KEEP: "true"}, loadBalancerIP=found)
        await user.wait(3.0)
        [made] = [each for each in world.truth.floating_ips.values() if each.floating_ip_address == found]
        assert {names.FOUND_TAG, names.KEEP_TAG, f"{names.NAMESPACE_TAG}shop"} <= set(made.tags)

    World(1, Scripted({})).run(deeds)


def test_a_new_port_with_the_address_of_a_lost_one_is_the_only_one_there() -> None:
    """Neutron gives an address again that is free: gateways are told of one Service there, and take it."""

    async def deeds(world: World) -> None:
        world.without_floating_ips()
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        user.lose("ports", "web")
        user.expose("other/new", "80/TCP")
        await user.wait(1.0)
        served = {each.service for each in world.gateways["g1"].document.forwards}
        assert "other/new" in served
        await user.wait(A_WHILE)
        assert world.truth.services[Name("shop", "web")].status.load_balancer.ingress
        assert user.shown("web") != user.shown("other/new")

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("after", [each / 1000 for each in range(100, 420, 10)], ids=str)
def test_who_asks_for_what_there_is_not_keeps_nothing_of_the_other_family_waiting(after: float) -> None:
    """Its owner thinks of it while the ports are made."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", ipFamilies=["IPv4", "IPv6"], ipFamilyPolicy="RequireDualStack")
        await user.wait(after)
        user.wish("web", "192.0.2.9")
        await user.wait(TIMES.before_deletion + A_WHILE)
        named = user.annotations("web").get(names.PORT, "").split(",")
        ours = [each.id for each in world.truth.ports.values() if each.description == world.place.mark]
        assert [each for each in ours if each not in named] == []

    World(1, Scripted({})).run(deeds)
