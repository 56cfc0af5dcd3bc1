"""Letting orphans go, in worlds with a controller: it deletes what was tagged, and nothing that is needed."""

import asyncio

import msgspec
import pytest

from mooring.cloud.api import Cloud
from mooring.controller import orphans as letting_go
from mooring.controller.survey import CannotLook, Sources
from mooring.core import orphans
from mooring.model import names
from mooring.model.reports import TaggedReport
from mooring.wire.http import Request, Response
from tests.simulation.user import User
from tests.simulation.world import MEMBER, TIMES, World
from tests.surveying import leave_port, look, scene, sources, wall


def writing(world: World) -> Sources:
    return msgspec.structs.replace(sources(world), cloud=Cloud(world.neutron.transport(MEMBER)))


def left(world: World) -> list[str]:
    world._see_neutron()  # noqa: SLF001 - as it is now
    return [each.id for each in world.truth.ports.values() if each.name == "left"]


def tags(world: World, port: str) -> tuple[str, ...]:
    world._see_neutron()  # noqa: SLF001 - as it is now
    return next(each.tags for each in world.truth.ports.values() if each.id == port)


def test_what_was_let_go_is_deleted_by_the_controller_after_its_wait() -> None:
    async def deeds(world: World) -> tuple[tuple[TaggedReport, ...], float]:
        await asyncio.sleep(1.0)
        leave_port(world)
        [port] = left(world)
        told = await letting_go.let_go_by(writing(world), frozenset({port}))
        begin = world.loop.time()
        assert names.DELETING_TAG in tags(world, port)
        while left(world):  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(1.0)
        return told, world.loop.time() - begin

    told, seconds = scene(deeds)
    assert [(each.kind, each.tagged, each.why) for each in told] == [("port", True, "")]
    assert TIMES.before_deletion <= seconds <= TIMES.before_deletion + 2 * TIMES.audit


def test_what_is_too_much_at_once_goes_when_a_person_says_so() -> None:
    """The controller does not touch it, however long one waits, until it is let go."""

    async def deeds(world: World) -> tuple[int, list[str]]:
        await asyncio.sleep(10.0)
        for _ in range(8):
            leave_port(world)
        await asyncio.sleep(TIMES.before_deletion + 3 * TIMES.audit)
        assert len(left(world)) == 8
        found = orphans.orphans(await look(world)).orphans
        assert [(each.going, each.held_back) for each in found] == [(False, True)] * 8
        told = await letting_go.let_go_by(writing(world), frozenset(each.id for each in found))
        await asyncio.sleep(TIMES.before_deletion + 3 * TIMES.audit)
        return sum(each.tagged for each in told), left(world)

    assert scene(deeds) == (8, [])


def test_only_what_was_agreed_on_is_tagged() -> None:
    async def deeds(world: World) -> None:
        leave_port(world)
        leave_port(world)
        first, second = left(world)
        told = await letting_go.let_go_by(writing(world), frozenset({first, "unheard-of"}))
        assert [each.id for each in told] == [first]
        assert names.DELETING_TAG not in tags(world, second)

    scene(deeds)


def test_what_is_needed_by_now_is_not_tagged() -> None:
    """Somebody looked, thought about it for a while, and meanwhile a Service was given the port."""

    async def deeds(world: World) -> None:
        user = User(world)
        user.expose("web", "80/TCP")
        await user.wait(10.0)
        user.delete("web")
        await user.wait(3.0)
        found = await look(world)
        agreed = frozenset(each.what.id for each in (*found.clean_up(), *found.waiting()) if hasattr(each, "what"))
        assert agreed
        user.expose("again", "80/TCP")
        await user.wait(30.0)
        assert await letting_go.let_go_by(writing(world), agreed) == ()

    scene(deeds)


def test_what_cannot_be_tagged_is_told_and_does_not_keep_others_from_it() -> None:
    async def deeds(world: World) -> tuple[TaggedReport, ...]:
        leave_port(world)
        leave_port(world)
        first, second = left(world)

        class Refusing:
            async def send(self, request: Request) -> Response:
                if request.writes and first in request.path:
                    return Response(403, body=b'{"NeutronError": {"type": "PolicyNotAuthorized", "message": "no"}}')
                return world.neutron.handle(request, MEMBER)

        there = msgspec.structs.replace(sources(world), cloud=Cloud(Refusing()))
        return await letting_go.let_go_by(there, frozenset({first, second}))

    first, second = scene(deeds)
    assert (first.tagged, second.tagged) == (False, True)
    assert "403 no" in first.why


def test_who_cannot_see_everything_any_more_tags_nothing() -> None:
    async def deeds(world: World) -> str:
        leave_port(world)
        assert orphans.to_tag(await look(world))
        with pytest.raises(CannotLook) as refused:
            await letting_go.let_go_by(sources(world, cloud=wall), frozenset(left(world)))
        return str(refused.value)

    assert "Nothing was tagged" in scene(deeds)
