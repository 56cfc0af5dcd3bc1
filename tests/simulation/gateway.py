"""A gateway in memory: an agent that takes the document, with a disk, a kernel and VRRP addresses.

It speaks the agent's interface and keeps the agent's promises: older documents are refused, also after a restart; an
answer means that disk, kernel and VRRP are of that document. It can be killed between any two of its steps.
"""

import random
from collections.abc import Iterator
from http import HTTPStatus

import msgspec

from mooring.model.gateway import Document, Forward, Held
from mooring.wire.http import NotSent, Request, Response
from tests.simulation.disk import Disk

JOURNAL = "document"
EMPTY = Document(0, 0, "", ())
STEPS = 6


class GatewayTwin:
    """`up` while its agent runs. The kernel and VRRP outlive the agent."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name = name
        self.up = True
        self.disk = Disk()
        self.document = EMPTY
        self.kernel: frozenset[Forward] = frozenset()
        self.addresses: frozenset[str] = frozenset()
        self.accepted = 0
        self._chance = chance
        self._dies_at: int | None = None

    @property
    def consistent(self) -> bool:
        """Whether disk, kernel and VRRP are of one document."""
        forwards = frozenset(self.document.forwards)
        return (
            _load(self.disk) == self.document
            and self.kernel == forwards
            and self.addresses == frozenset(each.address for each in forwards)
        )

    def dies_in_next_request(self) -> None:
        self._dies_at = self._chance.randrange(STEPS)

    def start(self) -> None:
        """After a death: the last document that the disk holds is in force before anything else."""
        self.up = True
        self.document = _load(self.disk)
        self.kernel = frozenset(self.document.forwards)
        self.addresses = frozenset(each.address for each in self.kernel)

    def handle(self, request: Request) -> Response:
        if not self.up:
            raise NotSent("connection refused")
        if request.path == "/v1/state":
            return self._answer(HTTPStatus.OK)
        document = msgspec.json.decode(request.body, type=Document)
        if (document.epoch, document.generation) < (self.document.epoch, self.document.generation):
            return self._answer(HTTPStatus.CONFLICT)
        if document.held == self.document.held:
            return self._answer(HTTPStatus.OK)
        for step, _ in enumerate(self._apply(document)):
            if step == self._dies_at:
                self._die()
        self.accepted += 1
        return self._answer(HTTPStatus.OK)

    def _apply(self, document: Document) -> Iterator[None]:
        """The journal first, because the kernel forgets; then rules of old and new, addresses, rules of new."""
        new = frozenset(document.forwards)
        yield
        self.disk.write("new", msgspec.json.encode(document))
        yield
        self.disk.sync("new")
        yield
        self.disk.rename("new", JOURNAL)
        self.disk.sync_names()
        yield
        self.kernel |= new
        yield
        self.addresses = frozenset(each.address for each in new)
        self.kernel = new
        self.document = document
        yield

    def _die(self) -> None:
        self._dies_at = None
        self.up = False
        self.disk.crash(self._chance)
        raise ConnectionResetError(self.name)

    def _answer(self, status: HTTPStatus) -> Response:
        return Response(status, body=msgspec.json.encode(self.document.held))


def _load(disk: Disk) -> Document:
    content = disk.read(JOURNAL)
    return EMPTY if content is None else msgspec.json.decode(content, type=Document)


__all__ = ["GatewayTwin", "Held"]
