"""The gateways during one term: those that are wanted, those that leave, and those that are to give way to others.

What outlives a term stands in annotations of the Lease: who may use addresses, and whom a person has drained.
"""

from collections.abc import Awaitable, Callable, Mapping

from structlog.typing import FilteringBoundLogger

from mooring.controller.agents import Agents
from mooring.core import roster
from mooring.core.addresses import Addresses
from mooring.core.roster import Roster
from mooring.kube.election import Term
from mooring.model import names
from mooring.model.cloud import PortId

Note = Callable[[Term, Mapping[str, str]], Awaitable[None]]
"""Writes annotations of the Lease."""


class Members:
    """`leaving` is empty once all that are not wanted any more have been let go."""

    def __init__(  # noqa: PLR0913 - whom it knows of, and all who have to do with them
        self,
        wanted: Roster,
        leaving: Roster,
        *,
        agents: Agents,
        addresses: Addresses,
        term: Term,
        note: Note,
        log: FilteringBoundLogger,
    ) -> None:
        self._wanted = wanted
        self.leaving = dict(leaving)
        self._agents = agents
        self._addresses = addresses
        self._term = term
        self._note = note
        self._log = log

    async def begin(self) -> None:
        """Write down who there is, before anybody new may use an address."""
        before = roster.load_names(self._term.notes.get(names.DRAINED, ""))
        drained = roster.renamed(before, roster.load(self._term.notes.get(names.GATEWAYS, "")), self._wanted)
        await self._write_drained(drained)
        await self._write_down()

    def drained(self, served: frozenset[str]) -> frozenset[str]:
        """Who is to give way: whom a person drained, who leaves, and who may not use all that is served yet."""
        by_people = roster.load_names(self._term.notes.get(names.DRAINED, ""))
        allowed = {
            port: frozenset(pair.ip_address for pair in each.allowed_address_pairs)
            for port, each in self._addresses.gateways.items()
        }
        return by_people | self.leaving.keys() | roster.lacking(self._wanted, allowed, served)

    def absent(self) -> dict[str, PortId]:
        """Those whose port is gone, or was made anew: by its name it may be found again."""
        if self._addresses.place.static:
            return {}
        return {name: each.port for name, each in self._wanted.items() if each.port not in self._addresses.gateways}

    def let_go(self) -> bool:
        """Let go of those that leave and do not hold the addresses any more. Returns whether there were such.

        Where only the port of a gateway is another one, it may be that we know the old one still, and that this one is
        in use: it is let go when all that are wanted are there.
        """
        before, absent = self._addresses.released, self.absent()
        for name, member in self.leaving.items():
            in_use = absent and not member.agent
            if member.port not in before and not in_use and self._agents.let_go(name):
                self._addresses.released |= {member.port}
                self._log.info("gateway is let go", gateway=name, port=member.port)
        return self._addresses.released != before

    async def left(self) -> None:
        """Forget those that were let go and have no address and no security group of ours any more."""
        known = self._addresses
        released = {name: each.port for name, each in self.leaving.items() if each.port in known.released}
        gone = [name for name, port in released.items() if not known.usable_by(port) and not known.guarded(port)]
        await self._write_drained(roster.load_names(self._term.notes.get(names.DRAINED, "")).difference(gone))
        for name in gone:
            del self.leaving[name]
            self._agents.forget(name)
            self._log.info("gateway is gone", gateway=name)
        await self._write_down()

    async def _write_drained(self, drained: frozenset[str]) -> None:
        """By the names that they have; who is gone is not drained when it comes back."""
        before = roster.load_names(self._term.notes.get(names.DRAINED, ""))
        if drained != before:
            self._log.info("drained gateways", before=sorted(before), now=sorted(drained))
            await self._note(self._term, {names.DRAINED: roster.dump_names(drained)})

    async def _write_down(self) -> None:
        text = roster.dump({**self._wanted, **self.leaving})
        if text != self._term.notes.get(names.GATEWAYS, ""):
            await self._note(self._term, {names.GATEWAYS: text})
