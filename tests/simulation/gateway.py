"""A gateway in memory: the real agent over a host whose kernel, VRRP and disk are twins.

It can be killed before any effect on its host, and before its answer.
"""

import random
from typing import NoReturn

import msgspec

from mooring.agent import answers
from mooring.agent.counting import Counting
from mooring.agent.gateway import Choices, Gateway, Outcome
from mooring.agent.record import DELTAS, restored
from mooring.core import gateway_document
from mooring.core.elements import InForce
from mooring.core.probing import FALLS, RISES
from mooring.core.ruleset import Mode
from mooring.core.told import NOTHING, Refused, Told
from mooring.core.vrrp import Vrrp
from mooring.host.journal import NAME, Journal, JournalDamaged
from mooring.model.gateway import Document, Held
from mooring.model.rules import Element
from mooring.wire.http import NotSent, Request, Response
from tests.silent import SILENT
from tests.simulation.disk import Disk
from tests.simulation.host import Machine

HANDLERS = {
    ("PUT", "/v1/document"): answers.put_document,
    ("PATCH", "/v1/document"): answers.patch_document,
    ("POST", "/v1/heartbeat"): answers.post_heartbeat,
    ("PUT", "/v1/probes"): answers.put_probes,
}
SETTINGS = Vrrp("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")


class GatewayTwin:
    """`up` while its agent runs. The kernel and VRRP outlive the agent."""

    def __init__(self, name: str, chance: random.Random, journal: type[Journal] = Journal) -> None:
        self.name = name
        self.machine = Machine(self._point, journal)
        self.accepted = 0
        self.acknowledged = Held()
        self._chance = chance
        self._doomed = False
        self._dies_at: int | None = None
        self._points = 0
        self._wanted: tuple[Document, frozenset[Element], frozenset[str]] = (NOTHING, frozenset(), frozenset())
        self._read = Reading(self.machine.disk)
        self.start()

    @property
    def document(self) -> Document:
        return self._gateway.document

    @property
    def consistent(self) -> bool:
        """Whether disk, kernel and VRRP are of one document, and of none older than one that was acknowledged.

        And whether no address was held without rules, ever.
        """
        document, elements, addresses = self._expected()
        machine = self.machine
        machine.check()
        return (
            machine.bare is None
            and self._read.document() == document
            and document.held.age >= self.acknowledged.age
            and machine.kernel.in_force == elements
            and machine.daemon.addresses == addresses
        )

    def dies_in_next_request(self) -> None:
        self._doomed = True

    def start(self) -> None:
        """After a death: its supervisor starts it again."""
        self.up = True
        self._gateway = _agent(self.machine)
        self._gateway.start()

    def tend(self) -> None:
        """What its agent does once a second."""
        self._gateway.tend()

    def look(self) -> None:
        """Its agent sees which clients others have to know of."""
        self._gateway.memory.look()

    async def probe(self) -> None:
        """Its agent asks whom it was told to ask, as often as it takes to believe what it sees."""
        for _ in range(max(FALLS, RISES)):
            await self._gateway.probing.look()

    def observe(self) -> None:
        """See what VRRP has made of it, as an agent that runs does all the time."""
        if self.up:
            self._gateway.standing.observe(frozenset())

    def handle(self, request: Request) -> Response:
        if not self.up:
            raise NotSent("connection refused")
        if self._doomed:
            self._dies_at = self._chance.randrange(self._rehearsed(request) + 1)
        self._points = 0
        response, outcome = _answer(self._gateway, self.machine, request)
        if self._doomed:
            self._die()
        self.accepted += outcome == Outcome.APPLIED.value
        self.acknowledged = max(self.acknowledged, self.document.held, key=lambda held: held.age)
        return response

    def _rehearsed(self, request: Request) -> int:
        """How many effects a request will have, from having a copy of this gateway carry it out."""
        reached: list[str] = []
        gateway = _agent(self.machine.copy(reached.append))
        gateway.start()
        reached.clear()
        _answer(gateway, self.machine, request)
        return len(reached)

    def _point(self, _: str) -> None:
        if self._points == self._dies_at:
            self._die()
        self._points += 1

    def _die(self) -> NoReturn:
        self._doomed, self._dies_at = False, None
        self.up = False
        self.machine.disk.crash(self._chance)
        raise ConnectionResetError(self.name)

    def _expected(self) -> tuple[Document, frozenset[Element], frozenset[str]]:
        """What there has to be, worked out once for each document."""
        document = self.document
        if document != self._wanted[0]:
            self._wanted = (document, elements(document), frozenset(each.address for each in document.forwards))
        return self._wanted


class Reading:
    """A journal that is read again and again: what was added to it is all that it costs."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._content: bytes | None = None
        self._lines: tuple[bytes, ...] = ()
        self._told = Told()
        self._document: Document | None = NOTHING

    def document(self) -> Document | None:
        """What it says; None if it cannot be read, which no death may lead to."""
        content = self._disk.read(NAME)
        if content is not self._content:
            self._content = content
            self._document = self._read()
        return self._document

    def _read(self) -> Document | None:
        known = self._lines
        try:
            self._lines = Journal(self._disk).read() or ()
            if known and self._document is not None and self._lines[: len(known)] == known:
                for line in self._lines[len(known) :]:
                    self._told.follow(self._told.change(DELTAS.decode(line)))
            else:
                self._told = restored(self._lines)
        except (JournalDamaged, msgspec.DecodeError, Refused):
            return None
        return self._told.document


def elements(document: Document) -> frozenset[Element]:
    """What the kernel's maps and sets hold when a document is in force."""
    in_force = InForce(Mode())
    in_force.follow(gateway_document.by_place(document.forwards))
    return frozenset(in_force.elements())


def _agent(machine: Machine) -> Gateway:
    return Gateway(machine.host, SETTINGS, Choices(), log=SILENT, clock=lambda: 0.0)


def _answer(gateway: Gateway, machine: Machine, request: Request) -> tuple[Response, str]:
    if request.path == "/v1/state":
        return answers.get_state(gateway), ""
    if request.path == "/v1/counters":
        return answers.get_counters(Counting(gateway.rules, machine.kernel)), ""
    if request.path == "/v1/clients":
        return _of_clients(gateway, request), ""
    handler = HANDLERS[request.method, request.path]
    answer = handler(gateway, request.body)
    return answer.response, answer.outcome


def _of_clients(gateway: Gateway, request: Request) -> Response:
    if not request.writes:
        return answers.get_clients(gateway)
    heard = answers.heard_clients(gateway, request.body)
    answer = heard if isinstance(heard, answers.Answer) else answers.put_clients(gateway, heard)
    return answer.response


def in_journal(disk: Disk) -> Document | None:
    """What a journal says; None if it cannot be read, which no death may lead to."""
    return Reading(disk).document()
