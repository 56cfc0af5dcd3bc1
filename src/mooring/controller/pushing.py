"""What is wanted, told to the gateways, and known by what they have acknowledged."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from mooring.controller.agents import Agents
from mooring.core import editions, heard
from mooring.core.editions import Forwards
from mooring.core.heard import Gateways
from mooring.kube.election import Term
from mooring.model.gateway import Forward
from mooring.model.kubernetes import Service


class Pushing:
    """One term's editions of what is wanted. Owned by one task."""

    def __init__(
        self, agents: Agents, term: Term, raise_epoch: Callable[[Term, int], Awaitable[None]], *, seed: int
    ) -> None:
        self._agents = agents
        self._term = term
        self._raise_epoch = raise_epoch
        self.edition = editions.none(seed)

    async def begin(self) -> None:
        """Before anything is told: an epoch above all that the gateways have seen."""
        seen = await self._agents.ask()
        if seen >= self._term.epoch:
            await self._raise_epoch(self._term, seen)

    def push(self, wanted: Mapping[str, Forwards], *, everybody: bool) -> None:
        """Have the gateways told what Services want now: some of them, or `everybody`, and then nobody else."""
        gone = self.edition.wanted.keys() - wanted.keys() if everybody else ()
        edition = self.edition.next({**wanted, **dict.fromkeys(gone, ())}, epoch=self._term.epoch)
        if (edition.held.epoch, edition.held.digest) != (self.edition.held.epoch, self.edition.held.digest):
            self.edition = edition
            self._agents.tell(edition)

    def told(self, service: Service, wanted: Iterable[Forward]) -> bool:
        """Whether the newest edition says this of a Service, be it that it is gone."""
        return self._agents.told().get(str(service.name), frozenset()) == heard.places(wanted)

    async def overtaken(self) -> bool:
        """Whether a gateway has something newer than all that we have. What is told next goes before that."""
        ahead = self._agents.ahead()
        if ahead is None:
            return False
        await self._raise_epoch(self._term, ahead)
        return True

    def gateways(self) -> Gateways:
        """What all live gateways have acknowledged, if each of them holds something of ours."""
        agents = self._agents
        return Gateways(
            agents.acknowledged(),
            agents.live(),
            agents.holder(),
            agents.left_out(),
            agents.snat(),
            agents.unheeding(),
        )
