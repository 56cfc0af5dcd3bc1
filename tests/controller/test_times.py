"""How long things take in production: what is promised, and what has to be longer than what.

Elsewhere tests go by these figures, whatever they are. Who changes one here changes a promise, or a relation that keeps
what two leaders do from meeting.
"""

import asyncio
import inspect

import pytest

from mooring.cloud import wire
from mooring.controller import agenda, housekeeping, removing
from mooring.controller.agenda import Times
from mooring.controller.controller import Controller, Outside
from mooring.core import freshness, roster
from mooring.wire.calls import CountedCalls
from mooring.wire.http import NotSent, Request, Response, Stream
from tests.simulation.loop import run_virtually

MANY = 200
READ = Request("get things", "GET", "/things")


def of_controller(name: str) -> float:
    """What a controller has unless it is told something else, which only tests do."""
    default: float = inspect.signature(Controller).parameters[name].default
    return default


LEASE, RENEWAL = of_controller("lease_seconds"), of_controller("renewal_seconds")


def test_what_is_promised() -> None:
    times = Times()
    assert times.audit == 60.0, "what others change in OpenStack is put right within a minute"
    assert times.longest_retry <= 60.0, "who waits for something gets it within a minute after it is there"
    assert times.first_retry <= 1.0
    assert agenda.LONGEST_PUSH_RETRY <= 1.0, "a gateway that is back is told within a second"
    assert times.heartbeat == 1.0
    assert LEASE <= 15.0, "another one leads a quarter of a minute after the last one was lost"


def test_nothing_is_deleted_while_a_request_of_another_leader_may_be_under_way() -> None:
    """It was allowed to leave by a lease that ran out since; it waited for a sign-in first, and then for its answer."""
    assert Times().before_deletion > LEASE + wire.SIGN_IN_SECONDS + READ.seconds
    assert Times().before_deletion > removing.Times().lease + wire.SIGN_IN_SECONDS + READ.seconds
    assert Times().before_deletion < 2 * Times().audit + housekeeping.LOOK_AGAIN, "and what goes, goes in minutes"


def test_a_leader_asks_for_its_lease_more_than_once_before_it_ends() -> None:
    assert 2 * RENEWAL < LEASE
    assert 2 * removing.Times().renewal < removing.Times().lease
    assert removing.Times().lease == LEASE, "both wait for each other"


@pytest.mark.parametrize("grace", [roster.GRACE, freshness.GRACE])
def test_one_heartbeat_that_is_lost_makes_no_gateway_stale(grace: float) -> None:
    assert 2 * Times().heartbeat < grace


class Slow:
    """Answers after a second, and remembers how many waited for it at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def send(self, request: Request) -> Response:  # noqa: ARG002 - it answers all alike
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(1.0)
        self.now -= 1
        return Response(200)

    async def open(self, request: Request) -> Stream:
        raise NotSent(request.path)


def test_calls_in_flight_are_bounded() -> None:
    async def scene() -> list[int]:
        kube, cloud, agent = Slow(), Slow(), Slow()
        calls = CountedCalls()
        outside = Outside(kube, cloud, lambda _: agent, calls, calls, calls).patient()
        for each in (outside.kube, outside.cloud, outside.reach("gw1")):
            await asyncio.gather(*(each.send(READ) for _ in range(MANY)))
        assert calls.by_kind[READ.what] == 3 * MANY
        return [each.most for each in (kube, cloud, agent)]

    assert all(1 < most <= 16 for most in run_virtually(scene()))
