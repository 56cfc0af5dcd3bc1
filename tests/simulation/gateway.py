"""A gateway in memory: the real agent over a host whose kernel, VRRP and disk are twins.

It can be killed before any effect on its host, and before its answer.
"""

import random
from typing import NoReturn

import msgspec

from mooring.agent import answers
from mooring.agent.gateway import NOTHING, Gateway, Outcome
from mooring.core import ruleset
from mooring.core.vrrp import Vrrp
from mooring.host.journal import NAME, Journal
from mooring.model.gateway import Document, Held
from mooring.wire.http import NotSent, Request, Response
from tests.silent import SILENT
from tests.simulation.host import Elements, Machine

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
        self._wanted: tuple[Document, dict[str, Elements], frozenset[str]] = (NOTHING, {}, frozenset())
        self._read: tuple[bytes | None, Document | None] = (None, NOTHING)
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
            and self._journal() == document
            and document.held.age >= self.acknowledged.age
            and all(machine.kernel.elements(family) == found for family, found in elements.items())
            and machine.daemon.addresses == addresses
        )

    def dies_in_next_request(self) -> None:
        self._doomed = True

    def start(self) -> None:
        """After a death: its supervisor starts it again."""
        self.up = True
        self._gateway = _agent(self.machine)
        self._gateway.start()

    def handle(self, request: Request) -> Response:
        if not self.up:
            raise NotSent("connection refused")
        if self._doomed:
            self._dies_at = self._chance.randrange(self._rehearsed(request) + 1)
        self._points = 0
        response, outcome = _answer(self._gateway, request)
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
        _answer(gateway, request)
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

    def _expected(self) -> tuple[Document, dict[str, Elements], frozenset[str]]:
        """What there has to be, worked out once for each document."""
        document = self.document
        if document is not self._wanted[0] or not self._wanted[1]:
            self._wanted = (document, elements(document), frozenset(each.address for each in document.forwards))
        return self._wanted

    def _journal(self) -> Document | None:
        """What the journal says; None if it cannot be read, which no death may lead to."""
        content = self.machine.disk.read(NAME)
        if content is not self._read[0]:
            self._read = (content, _decoded(content))
        return self._read[1]


def elements(document: Document) -> dict[str, Elements]:
    """What the kernel's maps and sets hold when a document is in force, by family."""
    return {
        family.name: {name: dict(found) for name, found in ruleset.elements(document.forwards, family).items()}
        for family in ruleset.FAMILIES
    }


def _agent(machine: Machine) -> Gateway:
    return Gateway(machine.host, SETTINGS, log=SILENT, clock=lambda: 0.0)


def _answer(gateway: Gateway, request: Request) -> tuple[Response, str]:
    if request.path == "/v1/state":
        return answers.get_state(gateway), ""
    put = request.path == "/v1/document"
    answer = (answers.put_document if put else answers.post_heartbeat)(gateway, request.body)
    return answer.response, answer.outcome


def _decoded(content: bytes | None) -> Document | None:
    if content is None:
        return NOTHING
    try:
        return msgspec.json.decode(content, type=Document)
    except msgspec.DecodeError:
        return None
