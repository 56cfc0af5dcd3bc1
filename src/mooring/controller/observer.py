"""What a controller does that only observes: it looks, decides by the code of those who act, and says what it would do.

Nothing is written: not to Services, not to OpenStack, not to agents; no Lease is held and no event is told.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from structlog.typing import FilteringBoundLogger

from mooring.cloud.api import Cloud
from mooring.controller import looking
from mooring.controller.agenda import Times
from mooring.controller.followed import Followed
from mooring.core import reporting
from mooring.core.addresses import Place
from mooring.core.surveyed import Leader, Owned, Sights, Survey
from mooring.kube.api import Api
from mooring.kube.errors import KubeError
from mooring.model.kubernetes import Service
from mooring.model.reports import Missing, PlanReport, StepReport
from mooring.wire.http import Sender


class Observer:
    """`plan` is what it would do by what it saw last; `looks` counts how often it has looked."""

    def __init__(  # noqa: PLR0913 - what it looks at, and when
        self,
        api: Api,
        followed: Followed,
        cloud: Cloud,
        place: Place,
        agents: Mapping[str, Sender],
        *,
        clock: Callable[[], datetime],
        times: Times,
        log: FilteringBoundLogger,
    ) -> None:
        self._api = api
        self._followed = followed
        self._cloud = cloud
        self._place = place
        self._agents = agents
        self._clock = clock
        self._times = times
        self._log = log
        self._changed = asyncio.Event()
        self.plan: PlanReport | None = None
        self.looks = 0

    async def run(self) -> None:
        """Until cancelled: at every audit, and a moment after a Service has changed."""
        await self._followed.filled()
        stop = self._followed.services.listen(self._heard)
        try:
            while True:
                self._changed.clear()
                self._say(reporting.plan(Survey(await self._sights())))
                self.looks += 1
                await self._change_or_audit()
        finally:
            stop()

    async def _change_or_audit(self) -> None:
        try:
            async with asyncio.timeout(self._times.audit):
                await self._changed.wait()
            await asyncio.sleep(self._times.clean_up)  # what changes together is looked at together
        except TimeoutError:
            try:
                await self._followed.relist(self._api)  # whatever the watch has told so far
            except KubeError as error:
                self._log.warning("failed", what="listing Services and what is behind them", why=str(error))

    def _heard(self, _before: Service | None, _after: Service | None) -> None:
        self._changed.set()

    async def _found(self) -> Place:
        return self._place

    async def _sights(self) -> Sights:
        ours, agents = await asyncio.gather(looking.owned(self._cloud, self._found), looking.asked(self._agents))
        return Sights(
            now=self._clock(),
            leader=Leader(),
            services=self._followed.services.all(),
            slices=self._followed.slices.all(),
            agents=agents,
            owned=ours if isinstance(ours, Owned) else None,
            missing=(ours,) if isinstance(ours, Missing) else (),
            wanted=self._place.services,
            nodes=self._followed.nodes.all(),
            policies=self._followed.policies.all(),
            acts=False,
        )

    def _say(self, plan: PlanReport) -> None:
        """What is new, step by step, and then how much it is together."""
        before = self.plan
        if plan == before:
            return
        known = {*map(_key, before.services), *map(_key, before.cleaning)} if before else set()
        for each in (*plan.services, *plan.cleaning):
            if _key(each) not in known:
                self._log.info("would do, and only observes", about=each.about, what=each.to_do, **each.details)
        told = {"services": len(plan.services), "gateways": list(plan.gateways), "clean_up": len(plan.cleaning)}
        lacking = {"missing": [f"{each.what}: {each.why}" for each in plan.missing]} if plan.missing else {}
        self._log.info("observed; nothing is written", steps=plan.steps, **told, **lacking)
        self.plan = plan


def _key(step: StepReport) -> tuple[str, str]:
    return step.about, step.step
