"""Services that are to have no floating IP never get one, whatever happens to their ports and whoever leads."""

import pytest

from mooring.model import names
from mooring.model.cloud import Port, PortId
from mooring.model.kubernetes import Name
from mooring.model.reasons import Reason
from tests.simulation.explore import Scripted
from tests.simulation.user import User
from tests.simulation.world import TIMES, World

LONG = TIMES.before_deletion + 6 * TIMES.audit
OURS, THEIRS = {names.FLOATING_NETWORK: "none"}, {names.INTERNAL: "true"}


def port(world: World, name: str) -> Port:
    return world.truth.ports[PortId(world.truth.services[Name("shop", name)].metadata.annotations[names.PORT])]


def own(world: World, name: str) -> str:
    return port(world, name).fixed_ips[0].ip_address


def floating(world: World) -> set[PortId | None]:
    """The ports on which a floating IP is that was not there before."""
    return {each.port_id for each in world.truth.floating_ips.values() if each.id not in world.truth.foreign}


def reasons(world: World, name: str) -> set[str]:
    return {each.reason for each in world.truth.services[Name("shop", name)].status.conditions}


@pytest.mark.parametrize("said", [OURS, THEIRS], ids=["ours", "theirs"])
def test_it_is_reached_at_its_ports_own_address_through_restarts_and_losses(said: dict[str, str]) -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP", annotations=said)
        user.expose("beside", "81/TCP", annotations=said)
        await user.wait(3.0)
        assert user.shown("web") == user.shown("beside") == own(world, "web")
        await user.kill_leader()
        user.expose("open", "82/TCP")
        await user.wait(LONG)
        assert user.shown("web") == user.shown("beside") == own(world, "web"), "it is as it was"
        assert floating(world) == {port(world, "open").id}, "who says nothing shares with nobody of them"
        user.lose("ports", "web")
        await user.wait(LONG)
        assert user.shown("web") == user.shown("beside") == own(world, "web")
        assert floating(world) == {port(world, "open").id}
        made = [each.what for each in world.trace if "create floatingips" in each.what]
        assert len(made) == 1, "never was there one more"

    World(1, Scripted({})).run(deeds)


@pytest.mark.parametrize("said", [OURS, THEIRS], ids=["ours", "theirs"])
def test_who_says_so_later_moves_and_leaves_no_floating_ip(said: dict[str, str]) -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        before = user.shown("web")
        for name, text in said.items():
            user.annotate("web", name, text)
        await user.wait(LONG)
        assert user.shown("web") == own(world, "web") != before
        assert world.truth.floating_ips.keys() <= world.truth.foreign, "what it had is gone"
        for name in said:
            user.annotate("web", name, None)
        await user.wait(LONG)
        assert user.shown("web") == own(world, "web"), "who says nothing stays"

    World(1, Scripted({})).run(deeds)


def test_what_cannot_be_understood_makes_nothing_and_takes_nothing_away() -> None:
    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("new", "80/TCP", annotations={names.INTERNAL: "yes please"})
        user.expose("inner", "81/TCP", annotations=THEIRS)
        await user.wait(3.0)
        user.annotate("inner", names.INTERNAL, "yes please")
        await user.wait(LONG)
        assert (user.shown("new"), user.shown("inner")) == ("", own(world, "inner"))
        for name in ("new", "inner"):
            assert Reason.BAD_ANNOTATION.value in reasons(world, name)
        assert floating(world) == set()
        user.lose("ports", "inner")
        await user.wait(LONG)
        assert user.shown("inner") == ""
        assert floating(world) == set()

    World(1, Scripted({})).run(deeds)
