"""How many calls things cost, exactly: what is asked of Kubernetes, Neutron and the gateways, and what is not."""

import asyncio
from collections import Counter

from bench.counted import Counted, reads, writes
from mooring.controller.agenda import Times

GATEWAYS = 2
EVENTS = "create events"
MAPPED = Counter({"patch services": 2, "patch services/status": 1})
PUSHED = Counter({"patch document": GATEWAYS})


def test_a_service_on_an_address_that_is_there() -> None:
    async def scene(world: Counted) -> None:
        await world.rest()
        world.cluster.expose(3)
        calls = await world.rest()
        calls.pop(EVENTS)
        assert calls == MAPPED + PUSHED

    Counted(3, gateways=GATEWAYS).run(scene)


def test_a_service_that_needs_an_address() -> None:
    async def scene(world: Counted) -> None:
        await world.rest()
        world.cluster.expose(100)  # of another namespace
        calls = await world.rest()
        await asyncio.sleep(2 * Times().clean_up)
        calls += await world.rest()
        calls.pop(EVENTS)
        made = Counter({"create ports": 1, "create floatingips": 1, "update ports": GATEWAYS})
        tagged = Counter({"tag ports": 1, "tag floatingips": 1})
        assert writes(calls) == MAPPED + PUSHED + made + tagged
        assert calls["get ports"] == 0, "they are known from the last list, or from what was written last"

    Counted(3, gateways=GATEWAYS).run(scene)


def test_an_endpoint_that_moves() -> None:
    async def scene(world: Counted) -> None:
        await world.rest()
        world.cluster.move(0)
        assert await world.rest() == PUSHED

    Counted(3, gateways=GATEWAYS).run(scene)


def test_nothing_is_asked_between_audits() -> None:
    async def scene(world: Counted) -> None:
        await world.rest()
        await asyncio.sleep(Times().audit + 1.0)  # the first one comes with the start
        await world.rest()
        await asyncio.sleep(Times().audit - 5.0)
        assert world.calls() == Counter()
        await asyncio.sleep(10.0)
        kinds = ("services", "endpointslices", "nodes", "networkpolicies", "floatingips", "ports", "ports")
        listed = Counter(f"list {each}" for each in (*kinds, "security_groups"))
        assert await world.rest() == listed + Counter({"get quotas": 1})

    Counted(3, gateways=GATEWAYS).run(scene)


def test_a_restart_writes_nothing() -> None:
    async def scene(world: Counted) -> None:
        calls = await world.rest()
        assert writes(calls) == Counter({"create leases": 1, "put document": GATEWAYS})
        pages = {"list services": 3, "list endpointslices": 2}  # in each of two lists: at the start, and by the audit
        assert {what: count / 2 for what, count in reads(calls).items() if what in pages} == pages

    Counted(1000, gateways=GATEWAYS).run(scene)
