"""People change by hand what is ours in OpenStack: what they use stays theirs, and nobody else suffers."""

from collections import Counter

import msgspec
import pytest

from mooring.cloud.twin.state import Caller
from mooring.model import names
from mooring.model.cloud import FloatingIp, Port
from mooring.model.kubernetes import Name
from mooring.model.reasons import Reason
from mooring.wire.http import Request, Response
from tests.simulation.explore import Scripted
from tests.simulation.user import User
from tests.simulation.world import TIMES, World

LONG = TIMES.before_deletion + 6 * TIMES.audit


def floating_ip(world: World, address: str) -> FloatingIp:
    return next(each for each in world.truth.floating_ips.values() if each.floating_ip_address == address)


def port(world: World, name: str) -> Port:
    return world.truth.ports[world.truth.services[Name("shop", name)].metadata.annotations[names.PORT]]  # type: ignore[index]


def reasons(world: World, name: str) -> set[str]:
    return {each.reason for each in world.truth.services[Name("shop", name)].status.conditions}


@pytest.mark.parametrize("which", ["plain", "kept", "found"])
def test_a_floating_ip_that_somebody_moved_to_a_machine_stays_there(which: str) -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", annotations={names.KEEP: "true"} if which == "kept" else {})
        if which == "found":
            user.wish("web", user.spare())
        user.expose("beside", "81/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        machine = user.move_away("web")
        await user.wait(LONG)
        after = floating_ip(world, address)
        assert after.port_id == machine
        assert after.description == "", "it is not ours any more"
        assert names.DELETING_TAG not in after.tags
        assert user.shown("beside") not in {"", address}, "another address"
        if which == "found":
            assert user.shown("web") == ""
            assert Reason.WISH_REFUSED.value in reasons(world, "web")
        else:
            assert user.shown("web") == user.shown("beside")
        user.take_away_machine(machine)
        await user.wait(LONG)
        assert floating_ip(world, address).port_id is None if which != "found" else user.shown("web") == address

    World(1, Scripted({})).run(deeds)


def test_a_floating_ip_with_another_description_is_served_and_left_alone() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        user.expose("beside", "81/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        user.describe("floatingips", floating_ip(world, address).id, "web of team a")
        before = len(world.trace)
        await user.wait(LONG)
        assert (user.shown("web"), user.shown("beside")) == (address, address)
        assert reasons(world, "web") == {"Accepted", "AddressUnmarked", "NoEndpoints"}
        calls = Counter(each.what for each in world.trace[before:])
        assert not {each for each in calls if "floatingips" in each} - {"list floatingips"}
        user.delete("web")
        user.delete("beside")
        await user.wait(LONG)
        left = floating_ip(world, address)
        assert (left.port_id, left.description) == (None, "web of team a")

    World(1, Scripted({})).run(deeds)


def test_a_port_with_another_description_is_left_alone_with_its_floating_ip() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        address, old = user.shown("web"), port(world, "web")
        user.describe("ports", old.id, "of team a")
        await user.wait(LONG)
        assert user.shown("web") not in {"", address}
        assert world.truth.ports[old.id].description == "of team a"
        assert (floating_ip(world, address).port_id, floating_ip(world, address).description) == (old.id, "")

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("again", [True, False], ids=["made anew", "gone"])
def test_a_gateway_whose_port_is_another_one_gives_way_until_it_may_use_the_addresses(*, again: bool) -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        (user.remake_gateway if again else user.lose_gateway)("g1")
        await user.wait(2 * TIMES.audit)
        assert world.gateways["g1"].machine.daemon.lowered() is not again
        if again:
            allowed = world.truth.ports[world.truth.gateway_ports["g1"]].allowed_address_pairs
            assert port(world, "web").fixed_ips[0].ip_address in {each.ip_address for each in allowed}

    World(1, Scripted({})).run(deeds)


def test_gateways_whose_ports_are_all_made_anew_are_found_again() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        address = user.shown("web")
        for each in world.gateways:
            user.remake_gateway(each)
        await user.wait(3 * TIMES.audit)
        assert user.shown("web") == address
        for each in world.gateways:
            allowed = world.truth.ports[world.truth.gateway_ports[each]].allowed_address_pairs
            assert port(world, "web").fixed_ips[0].ip_address in {pair.ip_address for pair in allowed}

    World(1, Scripted({})).run(deeds)


class Careless:
    """A Neutron that does not go by descriptions."""

    def __init__(self, world: World) -> None:
        self.careless = True
        self._real = world.neutron.handle
        world.neutron.handle = self._handle  # type: ignore[method-assign]

    def _handle(self, request: Request, who: Caller) -> Response:
        asked = tuple(each for each in request.query if each[0] != "description" or not self.careless)
        return self._real(msgspec.structs.replace(request, query=asked), who)


def test_where_neutron_does_not_go_by_our_mark_nothing_of_others_is_touched() -> None:
    world = World(1, Scripted({}))
    user = User(world)
    found = user.spare()
    neutron = Careless(world)

    async def deeds(world: World) -> None:
        user.expose("web", "80/TCP")
        await user.wait(LONG)
        assert floating_ip(world, found).port_id is None
        assert not [each for each in world.truth.ports.values() if each.description == world.place.mark]
        neutron.careless = False

    world.run(deeds)
