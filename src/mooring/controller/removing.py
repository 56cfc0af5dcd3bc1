"""Taking everything of ours away, from anywhere: look, decide what is next, do it, look again, until nothing is left.

Meanwhile it holds the Lease that controllers lead by: none of them begins, and what it sends carries an epoch that no
gateway has seen. Killed anywhere, it goes on where it was when it is started again, once its Lease has run out.
"""

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

from msgspec import Struct

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError
from mooring.controller import finding, removal, wiring
from mooring.controller.controller import LEASE, Outside
from mooring.controller.fence import Lead
from mooring.controller.removal import Find, Hand, NotDone, Scene
from mooring.controller.survey import CannotLook
from mooring.controller.wiring import AgentWays
from mooring.core import removing, reporting
from mooring.core.addresses import Place
from mooring.core.removing import Empty, Stage
from mooring.core.roster import Roster
from mooring.kube import errors
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.model.config import Config
from mooring.model.errors import StartRefused
from mooring.model.reports import FailedReport, StepReport, UninstallReport
from mooring.wire.calls import CountedCalls
from mooring.wire.http import NotSent, Request, Response, Sender

REMOVER = "mooring-uninstall_"
"""Begins the names under which we hold the Lease: a later one waits for one of these, and refuses all others."""
TRIES = 4
PAUSE = 1.0

Progress = Callable[[StepReport], None]


class CannotRemove(Exception):
    """Nothing more can be removed now; the text says why and what to do."""


class Times(Struct, frozen=True):
    lease: float = 15.0
    renewal: float = 5.0


class Remover:
    """`find` gives the place and the gateways of the configuration. `progress` is told of each step that was taken."""

    def __init__(  # noqa: PLR0913 - its ways to the outside, its clock and its chance
        self,
        outside: Outside,
        find: Find,
        *,
        keep: bool,
        clock: Callable[[], datetime],
        chance: random.Random,
        host: str,
        progress: Progress = lambda _: None,
        times: Times = Times(),  # noqa: B008 - a frozen value
    ) -> None:
        self._outside = outside
        self._find = find
        self._keep = keep
        self._clock = clock
        self._chance = chance
        self._identity = f"{REMOVER}{host}_{chance.getrandbits(48):012x}"
        self._progress = progress
        self._times = times
        self._trouble = ""
        self._done: list[StepReport] = []

    async def look(self, *, patient: bool = False) -> UninstallReport:
        """What there is to do. Changes nothing.

        `patient`: who leads by the Lease and does not renew it is gone, and is waited for.
        """
        scene = await removal.look(self._outside.patient(), self._find, self._clock)
        first = scene.survey.sights.leader.renewed
        while patient and removing.why_not(scene.survey.sights, REMOVER):
            await asyncio.sleep(PAUSE)
            scene = await removal.look(self._outside.patient(), self._find, self._clock)
            patient = scene.survey.sights.leader.renewed == first
        steps = _steps(scene.stages(keep=self._keep))
        return UninstallReport(
            steps,
            clean=not steps,
            missing=reporting.silent(scene.survey),
            in_the_way=removing.why_not(scene.survey.sights, REMOVER),
        )

    async def run(self) -> UninstallReport:
        """Remove everything, or say what could not be."""
        scene = await removal.look(self._outside.patient(), self._find, self._clock)
        if why := removing.why_not(scene.survey.sights, REMOVER):
            raise CannotRemove(why)
        steps = _steps(scene.stages(keep=self._keep))
        failed: tuple[FailedReport, ...] = ()
        if steps:
            failed = await self._leading()
        missing = reporting.silent(scene.survey)
        return UninstallReport(steps, clean=not failed, done=tuple(self._done), failed=failed, missing=missing)

    async def _leading(self) -> tuple[FailedReport, ...]:
        """Do the work in the place of a controller: nobody leads meanwhile."""
        result: asyncio.Future[tuple[FailedReport, ...]] = asyncio.get_running_loop().create_future()
        began = asyncio.Event()

        async def lead(term: Term) -> None:
            began.set()
            failed = await self._work(term, election)
            if not result.done():
                result.set_result(failed)
            await asyncio.Event().wait()

        election = Election(
            Api(self._outside.patient().kube),
            LEASE,
            self._identity,
            self._clock,
            self._chance,
            duration=self._times.lease,
            renewal=self._times.renewal,
            trouble=self._troubled,
        )
        running = asyncio.create_task(election.run(lead))
        try:
            await self._began(began, running)
            await asyncio.wait((running, result), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()  # it ends by a failure only
            return result.result()
        finally:
            running.cancel()
            await asyncio.wait((running,))

    async def _began(self, began: asyncio.Event, running: asyncio.Task[None]) -> None:
        waiting = asyncio.create_task(began.wait())
        try:
            await asyncio.wait((waiting, running), timeout=3 * self._times.lease, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if running.done():
            running.result()
        if not began.is_set():
            last = f" ({self._trouble})" if self._trouble else ""
            raise CannotRemove(
                f"The Lease {LEASE} cannot be had{last}, by which nobody else changes anything meanwhile. If another "
                f"`mooring uninstall` runs, let it end; if the namespace is gone already, make it again: "
                f"`kubectl create namespace {LEASE.namespace}`"
            )

    async def _work(self, term: Term, election: Election) -> tuple[FailedReport, ...]:
        """Stage by stage; ends when there is nothing to do, or when again and again nothing of it can be done."""
        outside = self._outside.guarded(Lead(term)).patient()
        vain = 0
        before: tuple[StepReport, ...] = ()
        while True:
            try:
                scene = await removal.look(outside, self._find, self._clock)
            except CannotLook:
                vain += 1
                if vain >= TRIES:
                    raise
                await asyncio.sleep(PAUSE)
                continue
            stage = next((each for each in scene.stages(keep=self._keep) if each), ())
            if not stage:
                return ()
            if any(isinstance(each.step, Empty) for each in stage):
                with contextlib.suppress(errors.KubeError):  # then the gateways refuse, and it is tried again
                    await election.raise_epoch(term, scene.highest_epoch)
            failed = await self._do_all(stage, scene, outside, term)
            steps = _steps((stage,))
            vain, before = (vain + 1 if steps == before else 0), steps
            if vain >= TRIES:
                return failed or tuple(FailedReport(each, "it was done, and is to be done again") for each in steps)
            if failed:
                await asyncio.sleep(PAUSE)

    async def _do_all(self, stage: Stage, scene: Scene, outside: Outside, term: Term) -> tuple[FailedReport, ...]:
        hand = Hand(scene, outside, term, self._clock)
        failed = []
        for deed in stage:
            try:
                await hand.do(deed)
            except errors.NotFound:
                continue  # it is gone, as we wanted
            except (errors.KubeError, CloudError, NotDone) as error:
                failed.append(FailedReport(removing.told(deed), str(error)))
            else:
                self._done.append(removing.told(deed))
                self._progress(self._done[-1])
        return tuple(failed)

    def _troubled(self, error: Exception) -> None:
        self._trouble = str(error)


class NoWay:
    """Where certificates are missing, no agent can be told anything."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def send(self, request: Request) -> Response:
        raise NotSent(f"{request.what}: {self._why}")


@contextlib.asynccontextmanager
async def opened(config: Config, *, keep: bool, progress: Progress = lambda _: None) -> AsyncIterator[Remover]:
    """One that works by the controller's configuration."""
    agents, nobody = None, NoWay("")
    try:
        agents = AgentWays(config.tls)
    except StartRefused as error:
        nobody = NoWay(str(error))
    try:
        ways = wiring.ways(config, agents)
    except StartRefused as error:
        raise CannotLook(str(error)) from error

    async def find(api: Api, cloud: Cloud) -> tuple[Place, Roster]:
        place = await finding.place(config, api, cloud, missing=lambda _: None)
        return place, finding.gateways(config, place)

    calls = CountedCalls()
    reach: Callable[[str], Sender] = agents.reach if agents else lambda _: nobody
    chance = random.Random()  # noqa: S311 - it spreads retries; nobody gains by guessing it
    try:
        yield Remover(
            Outside(ways.kube, ways.cloud, reach, calls, calls, calls),
            find,
            keep=keep,
            clock=lambda: datetime.now(UTC),
            chance=chance,
            host=socket.gethostname(),
            progress=progress,
        )
    finally:
        await ways.close()


def _steps(stages: tuple[Stage, ...]) -> tuple[StepReport, ...]:
    return tuple(removing.told(each) for stage in stages for each in stage)
