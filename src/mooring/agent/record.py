"""What a gateway was told, on its disk: read at a start, made ready before anything is touched, named when done."""

from collections.abc import Callable, Iterable

import msgspec
from structlog.typing import FilteringBoundLogger

from mooring.agent.host import Journal
from mooring.core import gateway_document
from mooring.core.told import Refused, Told, fit
from mooring.host.errors import HostError
from mooring.host.journal import JournalDamaged
from mooring.model.gateway import Delta, Document

EMPTY = gateway_document.document((), epoch=0, generation=0, seed=0)
DOCUMENTS: msgspec.json.Decoder[Document | Delta] = msgspec.json.Decoder(Document)
DELTAS: msgspec.json.Decoder[Document | Delta] = msgspec.json.Decoder(Delta)


class Record:
    def __init__(self, journal: Journal, *, log: FilteringBoundLogger) -> None:
        self._journal = journal
        self._log = log
        self._sure = True

    def read(self, unfit: Callable[[str], str] = fit) -> Told:
        """What it says. Who cannot read what it was told was told nothing, and gives way until it is told again."""
        try:
            return restored(self._journal.read() or (), unfit)
        except JournalDamaged as error:
            advice = "nothing is to be done, the controller sends all of it again; if this comes again, check the disk"
            self._log.error("the journal is damaged and set aside", error=str(error), advice=advice)
        try:
            self._journal.set_aside()
        except HostError as error:  # the next document takes its place all the same
            self._log.error("the journal is not set aside", error=str(error))
        return Told()

    def prepare(self, new: Document | Delta, told: Told) -> None:
        """Let a full disk be known before anything is touched."""
        if isinstance(new, Document):
            self._journal.prepare(msgspec.json.encode(new))
        elif self._journal.torn or not self._sure:
            self._write(told)

    def name(self, new: Document | Delta) -> None:
        """Let it name something new. When that fails, nobody knows how far it went."""
        self._sure = False
        if isinstance(new, Document):
            self._journal.commit()
        else:
            self._journal.add(msgspec.json.encode(new))
        self._sure = True

    def tidy(self, told: Told) -> None:
        """Write it anew, if nobody knows what it says, or if it has become long."""
        if not self._sure or self._journal.grown:
            self._write(told)

    def _write(self, told: Told) -> None:
        """Who was told nothing writes that down: nobody knows whether the first document stands there."""
        document = told.document if told.digest else EMPTY
        self._journal.prepare(msgspec.json.encode(document))
        self._journal.commit()
        self._sure = True


def restored(lines: Iterable[bytes], unfit: Callable[[str], str] = fit) -> Told:
    """What the lines of a journal say, one after the other."""
    told = Told()
    try:
        for number, line in enumerate(lines):
            decoder = DELTAS if number else DOCUMENTS
            told.follow(told.change(decoder.decode(line), unfit))
    except (msgspec.DecodeError, Refused) as error:
        raise JournalDamaged(str(error)) from error
    return told
