"""What holds for tags."""

from typing import Any

import pytest

from mooring.cloud import errors
from mooring.cloud.kinds import (
    NETWORKS,
    PORTS,
    Kind,
)
from tests.contract.cloud.world import World, every_kind, played


class Tags:
    @every_kind
    @played
    async def test_they_come_and_go_with_a_revision_each(self, world: World, kind: Kind[Any, Any]) -> None:
        made = await world.one(kind)
        await world.member.tag(kind, made.id, "b")
        await world.member.tag(kind, made.id, "a")
        tagged = await world.member.get(kind, made.id)
        assert (tagged.tags, tagged.revision_number) == (("a", "b"), made.revision_number + 2)
        await world.member.untag(kind, made.id, "b")
        tagged = await world.member.get(kind, made.id)
        assert (tagged.tags, tagged.revision_number) == (("a",), made.revision_number + 3)

    @played
    async def test_again_is_no_change(self, world: World) -> None:
        port = await world.one(PORTS)
        await world.member.tag(PORTS, port.id, "a")
        once = await world.member.get(PORTS, port.id)
        await world.member.tag(PORTS, port.id, "a")
        assert await world.member.get(PORTS, port.id) == once
        with pytest.raises(errors.NotFound):
            await world.member.untag(PORTS, port.id, "b")
        assert await world.member.get(PORTS, port.id) == once

    @played
    async def test_all_at_once(self, world: World) -> None:
        port = await world.one(PORTS)
        await world.member.tag(PORTS, port.id, "old")
        await world.member.set_tags(PORTS, port.id, ["b", "a"])
        assert (await world.member.get(PORTS, port.id)).tags == ("a", "b")
        await world.member.set_tags(PORTS, port.id, [])
        assert (await world.member.get(PORTS, port.id)).tags == ()

    @played
    async def test_they_may_hold_many_things(self, world: World) -> None:
        port = await world.one(PORTS)
        for tag in ("a,b", "a b", "mooring:cluster=1", "100%", "?&=", "x" * 255):
            await world.member.tag(PORTS, port.id, tag)
            assert (await world.member.get(PORTS, port.id)).tags == (tag,)
            await world.member.untag(PORTS, port.id, tag)
            assert (await world.member.get(PORTS, port.id)).tags == ()

    @played
    async def test_they_have_a_longest_length(self, world: World) -> None:
        port = await world.one(PORTS)
        with pytest.raises(errors.Refused):
            await world.member.tag(PORTS, port.id, "x" * 256)

    @played
    async def test_what_is_gone_cannot_be_tagged(self, world: World) -> None:
        port = await world.one(PORTS)
        await world.member.delete(PORTS, port.id, revision=None)
        with pytest.raises((errors.NotFound, errors.ServerFault)):
            await world.member.tag(PORTS, port.id, "a")

    @played
    async def test_what_belongs_to_others_cannot_be_tagged(self, world: World) -> None:
        port = await world.one(PORTS)
        with pytest.raises(errors.Forbidden):
            await world.other.tag(PORTS, port.id, "a")
        with pytest.raises(errors.Forbidden):
            await world.member.tag(NETWORKS, world.outside, "a")

    @played
    async def test_only_ports_are_born_with_them(self, world: World) -> None:
        port = await world.port(await world.site(), tags=["b", "a"])
        assert port.tags == ("a", "b")
        assert await world.member.get(PORTS, port.id) == port
        with pytest.raises(errors.Refused):
            await world.floating_ip(tags=["a"])
        with pytest.raises(errors.Refused):
            await world.member.create(NETWORKS, {"tags": ["a"]})
