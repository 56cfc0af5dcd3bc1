"""The document: made from what is wanted, told to the gateways, and known by what they have acknowledged."""

from collections.abc import Awaitable, Callable, Iterable

from mooring.controller.agents import NOTHING, Agents
from mooring.core import gateway_document
from mooring.core.picture import Gateways
from mooring.kube.election import Term
from mooring.model.gateway import Forward


class Pushing:
    """One term's documents. Owned by one task."""

    def __init__(
        self, agents: Agents, term: Term, raise_epoch: Callable[[Term, int], Awaitable[None]], *, seed: int
    ) -> None:
        self._agents = agents
        self._term = term
        self._raise_epoch = raise_epoch
        self._seed = seed
        self.document = NOTHING.document

    async def begin(self) -> None:
        """Before anything is told: an epoch above all that the gateways have seen."""
        seen = await self._agents.ask()
        if seen >= self._term.epoch:
            await self._raise_epoch(self._term, seen)

    def push(self, wanted: Iterable[Forward]) -> None:
        """Have the gateways told what is wanted now."""
        generation = self.document.generation + 1
        document = gateway_document.document(wanted, epoch=self._term.epoch, generation=generation, seed=self._seed)
        if (document.epoch, document.digest) != (self.document.epoch, self.document.digest):
            self.document = document
            self._agents.tell(document)

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
        return Gateways(agents.acknowledged(), agents.live(), agents.holder(), agents.left_out(), agents.snat())
