"""Elections against the twin, on virtual time."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.kinds import LEASES
from mooring.kube.twin.server import KubeTwin
from mooring.model.kubernetes import Lease, Name
from mooring.model.names import EPOCH
from mooring.wire.http import NoAnswer, Request, Response, Stream
from tests.simulation.loop import run_virtually

NAME = Name("default", "leader")
MERGE = "application/merge-patch+json"
PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/leader"


class Wire:
    """The way to the twin; while it is `cut`, nothing is answered."""

    def __init__(self, twin: KubeTwin) -> None:
        self._inner = twin.transport()
        self.cut = False
        self.deaf = False
        self.lose_answers = False
        self.answers_take = 0.0
        self.before: Callable[[Request], Response | None] = lambda _: None

    async def send(self, request: Request) -> Response:
        if refused := self.before(request):
            return refused
        if self.cut:
            await asyncio.sleep(request.seconds)
            raise NoAnswer("cut")
        response = await self._inner.send(request)
        if self.lose_answers and request.writes:
            self.lose_answers = False
            raise NoAnswer("lost")
        await asyncio.sleep(self.answers_take)
        return response

    async def open(self, request: Request) -> Stream:
        if self.deaf:
            raise NoAnswer("deaf")
        return await self._inner.open(request)


class Candidate:
    """Leads whenever it may, and writes down when."""

    def __init__(self, twin: KubeTwin, name: str) -> None:
        self.wire = Wire(twin)
        self.api = Api(self.wire)
        self.term: Term | None = None
        self.epochs: list[int] = []
        self.ended_at: float | None = None
        chance = random.Random(name)  # noqa: S311 - it has to be repeatable
        self.election = Election(self.api, NAME, name, clock, chance, duration=15.0, renewal=5.0)
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def _lead(self, term: Term) -> None:
        self.term = term
        self.epochs.append(term.epoch)
        try:
            await asyncio.Event().wait()
        finally:
            self.term = None
            self.ended_at = asyncio.get_running_loop().time()

    @property
    def leads(self) -> bool:
        return self.term is not None and self.term.held()

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


def clock() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())


def twin() -> KubeTwin:
    return KubeTwin(clock)


async def first_and_second(server: KubeTwin) -> tuple[Candidate, Candidate]:
    first = Candidate(server, "first")
    await asyncio.sleep(1.0)
    second = Candidate(server, "second")
    await asyncio.sleep(1.0)
    assert first.leads
    assert not second.leads
    return first, second


def stored(server: KubeTwin) -> Lease:
    return msgspec.json.decode(server.handle(Request("get", "GET", PATH)).body, type=Lease)


def test_one_leads_and_the_other_waits() -> None:
    async def scene() -> None:
        first, second = await first_and_second(twin())
        await asyncio.sleep(3600.0)
        assert first.leads
        assert second.epochs == []
        assert first.epochs == [1]

    run_virtually(scene())


def test_who_stops_hands_over_at_once() -> None:
    async def scene() -> None:
        first, second = await first_and_second(twin())
        await first.stop()
        await asyncio.sleep(0.1)
        assert second.leads
        assert second.epochs == [2]

    run_virtually(scene())


def annotate(server: KubeTwin) -> None:
    """As `mooring gateway drain` does."""
    body = msgspec.json.encode({"metadata": {"annotations": {"note": "of somebody else"}}})
    server.handle(Request("annotate", "PATCH", PATH, headers={"content-type": MERGE}, body=body))


@pytest.mark.parametrize("deaf", [False, True])
def test_who_stops_hands_over_although_somebody_has_just_written_on_the_lease(*, deaf: bool) -> None:
    async def scene() -> None:
        server = twin()
        first, second = await first_and_second(server)
        first.wire.deaf = deaf
        server.end_watches()
        await asyncio.sleep(0.1)
        annotate(server)
        await asyncio.sleep(0.1)
        await first.stop()
        await asyncio.sleep(2.0)
        assert second.leads

    run_virtually(scene())


def test_who_stops_while_it_renews_hands_over_at_once() -> None:
    async def scene() -> None:
        first, second = await first_and_second(twin())
        await asyncio.sleep(2.5)
        first.wire.answers_take = 1.0
        await asyncio.sleep(1.0)  # the renewal of the fifth second is done, and not yet answered
        await first.stop()
        await asyncio.sleep(0.1)
        assert second.leads

    run_virtually(scene())


def test_who_stops_while_it_takes_the_lease_hands_over_at_once() -> None:
    async def scene() -> None:
        server = twin()
        first, second = await first_and_second(server)
        second.wire.answers_take = 1.0
        await first.stop()
        await asyncio.sleep(0.5)
        assert stored(server).spec.holder_identity == "second"
        assert not second.leads
        third = Candidate(server, "third")
        await asyncio.sleep(0.1)
        await second.stop()
        await asyncio.sleep(0.1)
        assert third.leads

    run_virtually(scene())


def test_who_dies_is_followed_when_its_lease_has_run_out() -> None:
    async def scene() -> None:
        first, second = await first_and_second(twin())
        first.wire.cut = True
        await asyncio.sleep(12.0)
        assert not second.leads
        await asyncio.sleep(10.0)
        assert second.leads

    run_virtually(scene())


def test_a_leader_gives_up_before_anybody_takes_over() -> None:
    async def scene() -> None:
        first, second = await first_and_second(twin())
        first.wire.cut = True
        while not second.leads:
            assert first.leads or first.ended_at is not None or not second.leads
            await asyncio.sleep(0.01)
        assert not first.leads
        assert first.ended_at is not None
        assert first.ended_at < asyncio.get_running_loop().time()

    run_virtually(scene())


def test_work_ends_with_its_term_although_a_renewal_hangs() -> None:
    async def scene() -> None:
        leader = Candidate(twin(), "a")
        await asyncio.sleep(1.0)
        term = leader.term
        assert term is not None
        leader.wire.cut = True
        await asyncio.sleep(30.0)
        assert leader.ended_at is not None
        assert leader.ended_at <= term.ends + 0.001

    run_virtually(scene())


def test_every_term_has_a_larger_epoch_and_the_lease_tells_it() -> None:
    async def scene() -> None:
        server = twin()
        epochs = []
        for number in range(4):
            candidate = Candidate(server, f"c{number}")
            await asyncio.sleep(20.0)
            epochs += candidate.epochs
            assert stored(server).metadata.annotations[EPOCH] == str(epochs[-1])
            await candidate.stop()
        assert epochs == [1, 2, 3, 4]
        assert stored(server).spec.holder_identity == ""
        assert stored(server).spec.lease_transitions == 3

    run_virtually(scene())


def test_an_epoch_can_be_raised_above_what_somebody_has_seen() -> None:
    async def scene() -> None:
        server = twin()
        leader = Candidate(server, "a")
        await asyncio.sleep(1.0)
        assert leader.term is not None
        await leader.election.raise_epoch(leader.term, 41)
        assert leader.term.epoch == 42
        assert stored(server).metadata.annotations[EPOCH] == "42"
        await leader.election.raise_epoch(leader.term, 7)
        assert leader.term.epoch == 42
        await asyncio.sleep(60.0)
        assert leader.leads

    run_virtually(scene())


def test_an_epoch_that_is_being_raised_does_not_fall_back() -> None:
    """The renewal is sent after the raised epoch was written, and before that was answered."""

    async def scene() -> None:
        server = twin()
        leader = Candidate(server, "a")
        await asyncio.sleep(1.0)
        term = leader.term
        assert term is not None
        await asyncio.sleep(3.7)
        leader.wire.answers_take = 1.0
        raising = asyncio.create_task(leader.election.raise_epoch(term, 41))
        for _ in range(30):
            await asyncio.sleep(0.1)
            assert stored(server).metadata.annotations[EPOCH] == "42"
        await raising
        assert term.epoch == 42
        assert leader.leads

    run_virtually(scene())


def test_who_stops_after_it_was_not_told_that_it_has_the_lease_hands_over() -> None:
    async def scene() -> None:
        server = twin()
        first, second = await first_and_second(server)
        first.wire.cut = second.wire.deaf = second.wire.lose_answers = True
        server.end_watches()
        await asyncio.sleep(15.0)  # it has taken it, and waits for a sign
        assert stored(server).spec.holder_identity == "second"
        assert not second.leads
        third = Candidate(server, "third")
        await asyncio.sleep(0.1)
        await second.stop()
        await asyncio.sleep(0.1)
        assert third.leads

    run_virtually(scene())


def test_a_renewal_whose_answer_was_lost_does_not_end_the_term() -> None:
    async def scene() -> None:
        first, second = await first_and_second(twin())
        first.wire.lose_answers = True
        await asyncio.sleep(120.0)
        assert first.epochs == [1]
        assert first.leads
        assert second.epochs == []

    run_virtually(scene())


def test_an_acquisition_whose_answer_was_lost_is_taken_up_again() -> None:
    async def scene() -> None:
        server = twin()
        candidate = Candidate(server, "a")
        candidate.wire.lose_answers = True
        await asyncio.sleep(10.0)
        assert candidate.leads
        assert candidate.epochs == [2]

    run_virtually(scene())


def test_a_lease_that_somebody_deletes_is_made_again_with_a_larger_epoch() -> None:
    async def scene() -> None:
        server = twin()
        leader = Candidate(server, "a")
        await asyncio.sleep(1.0)
        lease = await leader.api.get(LEASES, NAME)
        await leader.api.delete(LEASES, NAME, uid=lease.metadata.uid)
        await asyncio.sleep(30.0)
        assert leader.leads
        assert leader.epochs == [1, 2]

    run_virtually(scene())


def test_work_ends_as_soon_as_the_lease_is_seen_to_be_deleted() -> None:
    async def scene() -> None:
        server = twin()
        leader = Candidate(server, "a")
        await asyncio.sleep(1.0)
        term = leader.term
        assert term is not None
        server.handle(Request("delete", "DELETE", PATH))
        await asyncio.sleep(0.1)
        assert leader.ended_at == 1.0
        assert not term.held()
        assert leader.epochs == [1, 2]

    run_virtually(scene())


@pytest.mark.parametrize("holder", ["other", ""])
def test_work_ends_as_soon_as_the_lease_is_seen_not_to_be_ours(holder: str) -> None:
    async def scene() -> None:
        server = twin()
        leader = Candidate(server, "a")
        await asyncio.sleep(1.0)
        term = leader.term
        assert term is not None
        body = msgspec.json.encode({"spec": {"holderIdentity": holder}})
        server.handle(Request("patch", "PATCH", PATH, headers={"content-type": MERGE}, body=body))
        await asyncio.sleep(0.1)
        assert leader.ended_at == 1.0
        assert not term.held()
        assert leader.leads is (holder == "")

    run_virtually(scene())


def test_a_lease_that_is_deleted_before_we_know_that_we_have_it() -> None:
    async def scene() -> None:
        server = twin()
        leader = Candidate(server, "a")
        leader.wire.answers_take = 1.0
        await asyncio.sleep(0.5)
        server.handle(Request("delete", "DELETE", PATH))
        await asyncio.sleep(1.0)
        assert not leader.leads
        await asyncio.sleep(1.0)
        assert leader.leads

    run_virtually(scene())


def test_a_renewal_that_was_on_its_way_does_not_bring_a_lost_term_back() -> None:
    async def scene() -> None:
        term = Term(1, "1", ends=10.0)
        assert term.held()
        term.lose()
        term.ends = 20.0
        assert not term.held()

    run_virtually(scene())


def test_who_cannot_find_out_whether_it_leads_asks_with_pauses() -> None:
    asked = 0

    def refuse(request: Request) -> Response:
        nonlocal asked
        asked += 1
        assert asked < 1000
        return Response(409 if request.writes else 503)

    async def scene() -> None:
        leader = Candidate(twin(), "a")
        await asyncio.sleep(1.0)
        leader.wire.before = refuse
        await asyncio.sleep(13.0)
        assert leader.leads
        assert asked < 30
        await asyncio.sleep(10.0)
        assert leader.ended_at is not None

    run_virtually(scene())


def test_a_lease_whose_end_nobody_told_is_made_again() -> None:
    async def scene() -> None:
        server = twin()
        first, second = await first_and_second(server)
        server.end_watches()
        for candidate in (first, second):
            candidate.wire.deaf = True
        lease = await first.api.get(LEASES, NAME)
        await first.api.delete(LEASES, NAME, uid=lease.metadata.uid)
        await first.stop()
        await asyncio.sleep(60.0)
        assert second.leads

    run_virtually(scene())


@pytest.mark.parametrize("digits", [15, 400])
def test_nonsense_in_the_annotation_is_no_epoch(digits: int) -> None:
    async def scene() -> None:
        server = twin()
        first = Candidate(server, "a")
        await asyncio.sleep(1.0)
        await first.stop()
        lease = await first.api.get(LEASES, NAME)
        change = {"metadata": {"annotations": {EPOCH: "9" * digits}}}
        await first.api.patch(LEASES, NAME, change, version=lease.metadata.resource_version)
        second = Candidate(server, "b")
        await asyncio.sleep(1.0)
        assert second.leads
        assert second.epochs == [1]

    run_virtually(scene())


def test_work_that_fails_is_told_and_the_lease_is_free() -> None:
    async def scene() -> None:
        server = twin()
        candidate = Candidate(server, "a")
        candidate.task.cancel()

        async def broken(_: Term) -> None:
            raise ValueError("broken")

        with contextlib.suppress(ValueError):
            await candidate.election.run(broken)
        assert stored(server).spec.holder_identity == ""

    run_virtually(scene())
