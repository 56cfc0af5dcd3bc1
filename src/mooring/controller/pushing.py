"""The document: made from what is wanted, told to the gateways, and known by what they have acknowledged."""

from collections.abc import Awaitable, Callable, Iterable

from mooring.controller.agents import Agents
from mooring.core import gateway_document, picture
from mooring.core.history import History
from mooring.core.picture import Gateways
from mooring.kube.election import Term
from mooring.model.gateway import Document, Forward
from mooring.model.kubernetes import Name

NOTHING = Document(0, 0, "", ())


class Pushing:
    """One term's documents. Owned by one task."""

    def __init__(
        self, agents: Agents, term: Term, raise_epoch: Callable[[Term, int], Awaitable[None]], *, seed: int
    ) -> None:
        self._agents = agents
        self._term = term
        self._raise_epoch = raise_epoch
        self._seed = seed
        self.document = NOTHING
        self._history = History()
        self._named: frozenset[str] = frozenset()
        self._acknowledged: dict[str, frozenset[tuple[str, str, int]]] | None = None

    async def begin(self) -> None:
        """Before anything is told: an epoch above all that the gateways have seen."""
        seen = await self._agents.ask()
        if seen >= self._term.epoch:
            await self._raise_epoch(self._term, seen)

    async def push(self, wanted: Iterable[Forward]) -> bool:
        """Tell the live gateways what is wanted now. False: somebody lacks it still, and wants to be told again."""
        generation = self.document.generation + 1
        document = gateway_document.document(wanted, epoch=self._term.epoch, generation=generation, seed=self._seed)
        if (document.epoch, document.digest) != (self.document.epoch, self.document.digest):
            self.document = document
            self._history.add(document)
            self._named = frozenset(each.service for each in document.forwards)
        everywhere = await self._agents.push(self.document, self._history)
        ahead = self._agents.ahead_of(self.document)
        if ahead is not None:
            await self._raise_epoch(self._term, ahead)
            return False
        if self._agents.hold(self.document):
            self._acknowledged = picture.acknowledged(self.document)
        return everywhere

    def serves(self, service: Name) -> bool:
        """Whether the last document has something of a Service."""
        return str(service) in self._named

    def gateways(self) -> Gateways:
        """What all live gateways have acknowledged, if they all hold the newest document."""
        agents = self._agents
        known = self._acknowledged if agents.hold(self.document) else None
        return Gateways(known, agents.live(), agents.holder(), agents.left_out(self.document), agents.snat())
