"""A gateway in memory: an agent that takes the document, with a disk, a kernel and VRRP addresses.

It speaks the agent's interface and keeps the agent's promises: older documents are refused, also after a restart; an
answer means that disk, kernel and VRRP are of that document, and that no crash takes it back. It can be killed between
any two of its steps.
"""

import random
from collections.abc import Iterator
from http import HTTPStatus
from typing import NoReturn

import msgspec

from mooring.model.gateway import Document, Forward, Held
from mooring.wire.http import NotSent, Request, Response
from tests.simulation.disk import Disk

JOURNAL = "document"
EMPTY = Document(0, 0, "", ())
STEPS = 7


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
        self.acknowledged = EMPTY.held
        self._chance = chance
        self._dies_at: int | None = None

    @property
    def consistent(self) -> bool:
        """Whether disk, kernel and VRRP are of one document, and of none older than one that was acknowledged."""
        forwards = frozenset(self.document.forwards)
        return (
            _load(self.disk) == self.document
            and _age(self.document.held) >= _age(self.acknowledged)
            and self.kernel == forwards
            and self.addresses == frozenset(each.address for each in forwards)
        )

    def dies_in_next_request(self) -> None:
        self._dies_at = self._chance.randrange(STEPS)

    def start(self) -> None:
        """After a death: the last document that the disk holds is in force before anything else."""
        self.up = True
        self.document = _load(self.disk) or EMPTY
        self.kernel = frozenset(self.document.forwards)
        self.addresses = frozenset(each.address for each in self.kernel)

    def handle(self, request: Request) -> Response:
        if not self.up:
            raise NotSent("connection refused")
        if request.path == "/v1/state":
            return self._unchanged(HTTPStatus.OK)
        document = msgspec.json.decode(request.body, type=Document)
        if _age(document.held) < _age(self.document.held):
            return self._unchanged(HTTPStatus.CONFLICT)
        if document.held == self.document.held:
            return self._unchanged(HTTPStatus.OK)
        for step, _ in enumerate(self._apply(document)):
            if step == self._dies_at:
                self._die()
        self.accepted += 1
        return self._answer(HTTPStatus.OK)

    def _apply(self, document: Document) -> Iterator[None]:
        """The journal first, because the kernel forgets; then rules of old and new, addresses, rules of new."""
        new = frozenset(document.forwards)
        yield
        yield from self._write_journal(msgspec.json.encode(document))
        self.kernel |= new
        yield
        self.addresses = frozenset(each.address for each in new)
        self.kernel = new
        self.document = document
        yield

    def _write_journal(self, content: bytes) -> Iterator[None]:
        """After a crash anywhere in here the journal is wholly old or wholly new; after the last step it is new."""
        self.disk.write("new", content)
        yield
        self.disk.sync("new")
        yield
        self.disk.rename("new", JOURNAL)
        yield
        self.disk.sync_names()
        yield

    def _die(self) -> NoReturn:
        self._dies_at = None
        self.up = False
        self.disk.crash(self._chance)
        raise ConnectionResetError(self.name)

    def _unchanged(self, status: HTTPStatus) -> Response:
        if self._dies_at is not None:
            self._die()
        return self._answer(status)

    def _answer(self, status: HTTPStatus) -> Response:
        self.acknowledged = max(self.acknowledged, self.document.held, key=_age)
        return Response(status, body=msgspec.json.encode(self.document.held))


def _age(held: Held) -> tuple[int, int]:
    return held.epoch, held.generation


def _load(disk: Disk) -> Document | None:
    """What the journal says; None if it cannot be read, which no death may lead to."""
    content = disk.read(JOURNAL)
    if content is None:
        return EMPTY
    try:
        return msgspec.json.decode(content, type=Document)
    except msgspec.DecodeError:
        return None
