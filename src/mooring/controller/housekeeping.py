"""Keeping what is ours in OpenStack as it should be: what is needed is whole, what nobody needs goes, in two steps."""

import asyncio

from structlog.typing import FilteringBoundLogger

from mooring.cloud import errors
from mooring.cloud.errors import CloudError
from mooring.controller.ports import Ports
from mooring.core import cleaning, wording
from mooring.core.cleaning import CleaningStep, Doom, Remove, Unpair
from mooring.core.picture import Picture
from mooring.model.cloud import PortId

ALONE = (
    *(errors.Conflict, errors.QuotaExceeded, errors.Forbidden, errors.Refused),
    *(errors.NotFound, errors.RevisionMismatch, errors.ServerFault),
)
"""What concerns one object: all others can be cared for. What may still be carried out later is none of these."""
LOOK_AGAIN = 10.0
"""Seconds after which who could not see what there is tries again, for others than those who need it."""


class Housekeeping:
    """Owned by one task. Since when something goes, it knows from when it first saw so itself."""

    def __init__(self, picture: Picture, ports: Ports, log: FilteringBoundLogger, *, before_deletion: float) -> None:
        self._picture = picture
        self._ports = ports
        self._log = log
        self._before_deletion = before_deletion
        self._tagged: dict[str, float] = {}
        self._look_at = 0.0
        self._unanswered: frozenset[str] = frozenset()  # what was asked for last of these may still come
        self.held_back = 0
        """How much is not tagged, because it is too much at once."""

    async def look(self) -> None:
        """See what there is, if that is not known. Where nobody answers, what was known has to do."""
        now = asyncio.get_running_loop().time()
        if self._ports.known or now < self._look_at:
            return
        try:
            await self.refresh()
        except CloudError as error:
            self._log.warning("goes on by what was known", why=str(error))

    async def refresh(self) -> None:
        """See what there is now."""
        try:
            await self._ports.refresh()
        except CloudError:
            self._look_at = asyncio.get_running_loop().time() + LOOK_AGAIN
            raise
        now = asyncio.get_running_loop().time()
        self._tagged = {each: self._tagged.get(each, now) for each in self._picture.addresses.going()}
        self._picture.holdings.offer()

    async def clean_up(
        self,
        named: frozenset[PortId],
        let_go: frozenset[PortId] = frozenset(),
        *,
        begun: frozenset[PortId] = frozenset(),
        shown: frozenset[str] = frozenset(),
    ) -> CloudError | None:
        """Put right what is needed, and bring what nobody needs one step further.

        `named`: by Services, just now, and `shown` by them. `begun`: for such as have nothing yet. `let_go`: what
        Services were seen to have named before.
        Returns why something could not be done. It keeps nothing else from being done: a gateway's list may be full
        until what goes makes room in it, and what cannot be deleted may be in use by others.
        """
        addresses = self._picture.addresses
        if addresses.place.static:
            return None
        steps = cleaning.steps(
            addresses.ports.values(),
            addresses.floating_ips.values(),
            self._picture.holdings.used() | named,
            begun=begun,
            gateways=addresses.gateways.values(),
            former=addresses.former,
            released=addresses.released,
            shown=shown,
            tagged_for=self._tagged_for(),
            wait=self._before_deletion,
        )
        allowed = self._allowed(steps, let_go)
        failed = await self._carry_out(cleaning.in_turn(allowed, self._unanswered))
        if allowed:
            await self.refresh()
        return failed

    async def _carry_out(self, steps: tuple[CleaningStep, ...]) -> CloudError | None:
        """All that can be done, and why something could not."""
        failed: dict[CleaningStep, CloudError] = {}
        self._unanswered &= frozenset(map(cleaning.concerns, steps))
        for step in steps:
            if not cleaning.possible(step, failed):
                continue
            try:
                await self._ports.carry_out(step)
            except CloudError as error:
                if isinstance(step, Remove) and isinstance(error, errors.RevisionMismatch):
                    continue  # a floating IP that goes changes its port: that one goes when it has been looked at again
                self._log.warning(
                    "could not be done", what=wording.to_do(step), **wording.details(step), why=str(error)
                )
                failed[step] = error
                if not isinstance(error, ALONE):
                    self._unanswered |= {cleaning.concerns(step)}
                    break
            else:
                self._unanswered -= {cleaning.concerns(step)}
                self._log.info(wording.done(step), **wording.details(step))
        unpaired = {each.gateway for each in steps if isinstance(each, Unpair)} - self._picture.addresses.released
        self._ports.in_doubt = self._unanswered & unpaired
        return next(iter(failed.values()), None)

    def _allowed(self, steps: tuple[CleaningStep, ...], let_go: frozenset[PortId]) -> list[CleaningStep]:
        addresses = self._picture.addresses
        ours = len(addresses.ports) + len(addresses.floating_ips)
        held_back = cleaning.held_back(steps, ours, let_go=let_go)
        if held_back and self.held_back != len(held_back):
            self._log.warning(wording.HELD_BACK, objects=len(held_back), of=ours, go="mooring orphans --delete")
        self.held_back = len(held_back)
        stay = {cleaning.concerns(each) for each in held_back}
        return [each for each in steps if not (isinstance(each, Doom) and cleaning.concerns(each) in stay)]

    @property
    def done(self) -> bool:
        """Nothing is on its way out."""
        return not self._tagged

    def next_due(self) -> float | None:
        """In how many seconds something may be deleted; None, if nothing goes."""
        return min((self._before_deletion - seconds for seconds in self._tagged_for().values()), default=None)

    def _tagged_for(self) -> dict[str, float]:
        now = asyncio.get_running_loop().time()
        return {each: now - since for each, since in self._tagged.items()}
