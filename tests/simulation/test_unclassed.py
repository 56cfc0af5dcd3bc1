"""Services without a class that were taken on, when such are not taken on any more: they stay, move, and can go."""

from collections.abc import Callable

import msgspec
import pytest

from mooring.model import names
from mooring.model.config import Services
from mooring.model.kubernetes import Name
from tests.simulation.explore import Scripted
from tests.simulation.user import User
from tests.simulation.world import TIMES, World

LONG = TIMES.before_deletion + 6 * TIMES.audit
Deed = Callable[[User], None]


async def served(world: World) -> User:
    """One without a class, and one beside it at the same address; then no more such are taken on."""
    user = User(world)
    user.expose("web", "80/TCP", ours=False)
    user.expose("beside", "81/TCP")
    await user.wait(3.0)
    assert user.shown("web") == user.shown("beside") != ""
    world.place = msgspec.structs.replace(world.place, services=Services())
    await user.kill_leader()
    await user.wait(TIMES.audit)
    return user


def claiming() -> World:
    return World(1, Scripted({}), services=Services(claim_unclassed=True))


@pytest.mark.parametrize(
    "deed",
    [
        lambda user: user.change_ports("web", "80/TCP", "81/TCP"),
        lambda user: user.wipe_status("web"),
        lambda user: (user.lose("floatingips", "web"), user.lose("ports", "web")),
        lambda user: user.replace("web"),
        lambda user: user.take_finalizers("web"),
    ],
    ids=["has to move", "its status is wiped", "all is lost", "it is replaced", "its finalizers are gone"],
)
def test_it_gets_an_address_again(deed: Deed) -> None:
    async def deeds(world: World) -> None:
        user = await served(world)
        deed(user)
        await user.wait(LONG)
        assert user.shown("web")

    claiming().run(deeds)


@pytest.mark.parametrize(
    "first",
    [
        lambda _: None,
        lambda user: user.annotate("web", names.MANAGED, "false"),
        lambda user: user.annotate("web", names.BACKEND, "octavia"),
        lambda user: user.hide("web"),
    ],
    ids=["at once", "opted out", "of another back end", "no load balancer any more"],
)
def test_it_can_be_deleted(first: Deed) -> None:
    async def deeds(world: World) -> None:
        user = await served(world)
        first(user)
        await user.wait(LONG)
        user.delete("web")
        await user.wait(LONG)
        assert Name("shop", "web") not in world.truth.services

    claiming().run(deeds)


def test_nothing_of_ours_is_left_of_it() -> None:
    async def deeds(world: World) -> None:
        user = await served(world)
        await world.uninstall()
        assert not user.annotations("web")
        assert not world.truth.services[Name("shop", "web")].metadata.finalizers

    claiming().run(deeds)


def test_who_copies_what_is_ours_into_a_service_of_others_gets_nothing_from_us() -> None:
    """Another controller is to serve it: it has no class any more, and such are not taken on."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(3.0)
        meta = world.truth.services[Name("shop", "web")].metadata
        user.expose("copy", "80/TCP", ours=False, annotations=meta.annotations)
        user.hold_by("copy", *meta.finalizers)
        await user.wait(LONG)
        assert user.shown("copy") == ""
        assert names.FINALIZER not in world.truth.services[Name("shop", "copy")].metadata.finalizers

    World(1, Scripted({})).run(deeds)
