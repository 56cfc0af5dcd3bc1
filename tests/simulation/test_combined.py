"""Two things at once that each are harmless alone: what is there already is served on, and nobody loses by another."""

import itertools
from collections import Counter
from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from mooring.cloud.errors import ServerFault
from mooring.controller.controller import Outside
from mooring.core.addresses import Place
from mooring.core.roster import Roster
from mooring.kube.twin.server import ADMIN
from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.kubernetes import Name
from mooring.wire.http import Request, Response
from tests.simulation import rest
from tests.simulation.explore import Scripted
from tests.simulation.faults import Fault
from tests.simulation.process import Process
from tests.simulation.user import User
from tests.simulation.world import MEMBER, TIMES, World

LONG = TIMES.before_deletion + 6 * TIMES.audit
DUAL: dict[str, Any] = {"ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "RequireDualStack"}
ONLY_IPV6: dict[str, Any] = {"ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack"}


def shows(world: World, name: Name) -> list[str]:
    return [each.ip for each in world.truth.services[name].status.load_balancer.ingress]


def reasons(world: World, name: str) -> set[str]:
    return {each.reason for each in world.truth.services[Name("shop", name)].status.conditions}


def on(world: World, address: str) -> PortId | None:
    """The port that a floating IP is on."""
    return next(each.port_id for each in world.truth.floating_ips.values() if each.floating_ip_address == address)


def pairs(world: World, gateway: str) -> set[str]:
    port = world.truth.ports[world.truth.gateway_ports[gateway]]
    return {each.ip_address for each in port.allowed_address_pairs} - {rest.PAIR_OF_OTHERS}


class Forgetful(World):
    """What the configuration names cannot be found for a while."""

    forgets = False

    async def _find(self, outside: Outside) -> tuple[Place, Roster]:
        if self.forgets:
            raise ServerFault("list ports: 503", "")
        return await super()._find(outside)


@pytest.mark.parametrize("which", [("g1",), ("g2",), ("g1", "g2")], ids=", ".join)
@pytest.mark.parametrize("fails", [False, True], ids=["found again", "not found at once"])
def test_gateways_whose_ports_were_made_anew_may_use_the_addresses_also_when_another_one_leads(
    which: tuple[str, ...],
    fails: bool,  # noqa: FBT001 - a column
) -> None:
    """The one that leads next knows the old ports from its start."""
    world = Forgetful(1, Scripted({}), controllers=2)

    async def deeds(_world: World) -> None:
        world.elects = True
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        for each in which:
            user.remake_gateway(each)
        await user.wait(4 * TIMES.audit)
        before = pairs(world, "g1")
        assert before == pairs(world, "g2") != set()
        world.forgets = fails
        world.crash_leader()
        for _ in range(100):
            await user.wait(0.5)
            assert pairs(world, "g1") == pairs(world, "g2") == before
        world.forgets = False

    world.run(deeds)


@pytest.mark.parametrize("limit", [0, 10])
@pytest.mark.parametrize("both", [True, False], ids=["both", "one"])
def test_who_waits_for_room_takes_none_from_those_who_have_it(limit: int, both: bool) -> None:  # noqa: FBT001 - a column
    """Somebody's tool puts the gateways' lists back to what it knows of, where one more waits than there is room for.

    Ids of Neutron's are chance: here each is less than the one before.
    """

    async def deeds(world: World) -> None:
        world.elects = True
        user = User(world)
        every = [f"s{number}" for number in range(10)]
        for name in every:
            user.expose(name, "80/TCP")
        await user.wait(60.0)
        shown = {name: user.shown(name) for name in every if user.shown(name)}
        before = pairs(world, "g1")
        assert len(shown) == len(before) == 9
        for port in world.place.gateways if both else world.place.gateways[:1]:
            user.put_pairs(port, rest.PAIR_OF_OTHERS)
        await user.wait(6 * TIMES.audit)
        assert pairs(world, "g1") == pairs(world, "g2") == before
        assert {name: user.shown(name) for name in every if user.shown(name)} == shown
        user.delete(next(name for name in every if name not in shown))

    ids = (f"{0xFFFFFFFF - number:08x}-0000-4000-8000-000000000000" for number in itertools.count(1))
    World(1, Scripted({}), pairs=limit, ids=ids).run(deeds)


@pytest.mark.parametrize("keep", [False, True], ids=["", "kept"])
def test_a_floating_ip_that_somebody_described_goes_to_nobody_else(keep: bool) -> None:  # noqa: FBT001 - a column
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", annotations={names.KEEP: "true"} if keep else {})
        await user.wait(3.0)
        address = user.shown("web")
        user.describe_floating_ip("web", "web of team a")
        await user.wait(2 * TIMES.audit)
        user.delete("web")
        await user.wait(0.3)
        user.expose("other/late", "80/TCP")
        await user.wait(LONG)
        assert user.shown("other/late") not in {"", address}

    World(1, Scripted({})).run(deeds)


class Hanging:
    """A Neutron that does not answer when a gateway's port is changed."""

    on = False

    def at(self, _number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
        hangs = self.on and what == "update ports" and Fault.TIMEOUT_BEFORE in possible
        return Fault.TIMEOUT_BEFORE if hangs else None


def test_while_a_gateways_port_cannot_be_changed_all_else_is_put_right() -> None:
    plan = Hanging()

    async def deeds(world: World) -> None:
        user = User(world)
        for name in ("web", "gone"):
            user.expose(name, "80/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        user.delete("gone")
        plan.on = True
        await user.wait(TIMES.before_deletion + TIMES.audit)
        user.take_off("web")
        await user.wait(4 * TIMES.audit)
        assert on(world, address) is not None
        plan.on = False

    World(1, plan).run(deeds)


def test_while_packets_cannot_be_let_in_all_else_is_put_right() -> None:
    """A gateway's port bears a stateful group, beside which ours cannot be; one more Service shares the address."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(5.0)
        address = user.shown("web")
        stateful = [
            each.id for each in world.truth.groups.values() if each.stateful and each.project_id == MEMBER.project
        ]
        world.truth.group_meddled = True
        gateway = world.place.gateways[0]
        before = list(world.truth.ports[gateway].security_groups)
        user.put_groups(gateway, stateful[:1])
        await user.wait(2 * TIMES.audit)
        assert "NotLetIn" in reasons(world, "web")
        user.take_off("web")
        user.expose("beside", "81/TCP")
        await user.wait(4 * TIMES.audit)
        assert on(world, address) is not None
        assert user.shown("web") == address
        user.put_groups(gateway, before)
        await user.wait(2 * TIMES.audit)

    World(1, Scripted({}), group=True).run(deeds)


def test_what_was_refused_is_not_asked_for_with_every_change_of_endpoints() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        user.wish("web", "203.0.113.77")
        await user.wait(2.0)
        assert "CloudForbids" in reasons(world, "web")
        before = len(world.trace)
        for number in range(50):
            user.pods("web", f"10.1.0.{number + 1}")
            await user.wait(0.2)
        calls = Counter(each.what for each in world.trace[before:] if each.server == "neutron")
        assert calls["create floatingips"] <= 1, "that of an audit"
        assert calls.total() <= 10
        user.wish("web", "")

    World(1, Scripted({})).run(deeds)


def test_what_was_let_go_is_known_by_who_goes_on_with_another_configuration() -> None:
    """So many at once would be held back, had nobody seen that their Services let them go."""

    async def deeds(world: World) -> None:
        user = User(world)
        every = [f"s{number}" for number in range(6)]
        for name in every:
            user.expose(name, "80/TCP")
        await user.wait(30.0)
        for name in every:
            user.delete(name)
        await user.wait(0.6)
        world.place = msgspec.structs.replace(world.place, pairs_limit=9)
        world.configure("g1", "g2")
        await user.wait(LONG)
        assert not [each for each in world.truth.ports.values() if each.description == world.place.mark]

    World(1, Scripted({})).run(deeds)


def test_who_names_what_is_kept_for_others_keeps_what_it_has() -> None:
    """It waits for an address that it may not have, and names the port that has it beside its own."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        user.expose("other/x", "80/TCP", **ONLY_IPV6)
        await user.wait(3.0)
        theirs, own = user.annotations("web")[names.PORT], user.annotations("other/x")[names.PORT]
        has = shows(world, Name("other", "x"))
        user.change("other/x", **DUAL, loadBalancerIP=user.shown("web"))
        user.annotate("other/x", names.PORT, f"{own},{theirs}")
        await user.wait(5.0)
        user.annotate("web", names.KEEP, "true")
        await user.wait(2.0)
        user.expose("other/y", "80/TCP", **ONLY_IPV6)
        await user.wait(LONG)
        assert shows(world, Name("other", "x")) == has
        assert shows(world, Name("other", "y")) not in ([], has)
        user.annotate("other/x", names.PORT, own)

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("number", [5, 6])
def test_many_ports_that_are_gone_at_once_are_told_and_a_person_says_go(number: int) -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        every = [f"s{each}" for each in range(number)]
        for name in every:
            user.expose(name, "80/TCP")
        await user.wait(30.0)
        for name in every:
            user.lose("floatingips", name)
            user.lose("ports", name)
        await user.wait(2 * TIMES.audit)
        assert {reason for name in every for reason in reasons(world, name) if reason == "PortsLost"} == (
            {"PortsLost"} if number > 5 else set()
        )
        if number > 5:
            user.wipe_status(every[0])
        await user.wait(LONG)
        assert all(user.shown(name) for name in every)

    World(1, Scripted({})).run(deeds)


def test_who_asks_for_another_address_in_vain_keeps_its_own_when_its_port_is_deleted() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        user.expose("other/x", "80/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        user.wish("web", user.shown("other/x"))
        await user.wait(3.0)
        assert user.shown("web") == address
        user.lose("ports", "web")
        await user.wait(LONG)
        assert user.shown("web") == address
        user.wish("web", "")

    World(1, Scripted({})).run(deeds)


class Stubborn(World):
    """A gateway's port that nobody gets an answer about when it is changed."""

    port = ""

    def point(self, process: Process, server: str, request: Request, possible: tuple[Fault, ...]) -> Fault | None:
        fault = super().point(process, server, request, possible)
        hangs = self.port and request.what == "update ports" and self.port in request.path
        return Fault.TIMEOUT_BEFORE if hangs and Fault.TIMEOUT_BEFORE in possible else fault


def test_a_gateway_that_left_and_whose_port_cannot_be_changed_keeps_nobody_from_an_address() -> None:
    world = Stubborn(1, Scripted({}))

    async def deeds(_world: World) -> None:
        world.elects = True
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        world.port = world.truth.gateway_ports["g1"]
        world.configure("g2")
        await user.wait(LONG)
        user.expose("late", "80/TCP")
        await user.wait(2 * TIMES.audit)
        assert user.shown("late")
        world.port = ""

    world.run(deeds)


def test_who_chose_another_network_in_vain_and_loses_its_port_keeps_its_address_until_it_can_move() -> None:
    async def deeds(world: World) -> None:
        world.offer_choice()
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        user.limit(floatingip=len(world.truth.floating_ips))
        await user.wait(2 * TIMES.audit)
        user.annotate("web", names.SUBNET, "fast")
        user.annotate("web", names.FLOATING_NETWORK, "partners")
        await user.wait(5.0)
        user.lose("ports", "web")
        await user.wait(LONG)
        assert user.shown("web") == address
        assert on(world, address) is not None
        user.limit(floatingip=50)
        await user.wait(LONG)
        assert user.shown("web") not in {"", address}

    World(1, Scripted({})).run(deeds)


def test_a_floating_ip_that_somebody_puts_on_an_internal_port_is_taken_off_and_not_deleted() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        user.expose("inner", "80/TCP", annotations={names.INTERNAL: "true"})
        await user.wait(5.0)
        address = user.shown("web")
        user.put_on(address, PortId(user.annotations("inner")[names.PORT]))
        await user.wait(LONG)
        assert on(world, address) is None
        assert user.shown("web") not in {"", address}

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("conflict", [False, True], ids=["", "a conflict on the Lease"])
def test_a_drained_gateway_that_was_taken_away_is_as_any_other_when_it_comes_back(
    conflict: bool,  # noqa: FBT001 - a column
) -> None:
    world = World(1, Scripted({}))
    real, refused = world.kube.handle, [not conflict]

    def handle(request: Request, user: str = ADMIN) -> Response:
        if refused[0] or request.method != "PATCH" or "leases" not in request.path or b"drained" not in request.body:
            return real(request, user)
        refused[0] = True
        told = {"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "it has changed"}
        return Response(HTTPStatus.CONFLICT, {}, msgspec.json.encode(told))

    async def deeds(_world: World) -> None:
        world.elects = True
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        user.drain("g1")
        await user.wait(2 * TIMES.heartbeat)
        world.kube.handle = handle  # type: ignore[method-assign]
        world.configure("g2")
        await user.wait(LONG)
        assert refused[0]
        world.truth.drained = frozenset()
        world.configure("g1", "g2")
        await user.wait(LONG)
        assert not world.gateways["g1"].machine.daemon.lowered()

    world.run(deeds)
