"""The one owner of a gateway's state: what it was told, what is in force, and whether it is up to date.

Taking a document goes

    ready on the disk -> rules -> addresses -> rules -> the journal names it -> answer

and what the journal names is what counts:

- A crash before the journal names the new document: the next start brings the old one into force, rules first. Nobody
  was told of the new one.
- A crash after it: the next start brings the new one into force. It was in force already.
- So journal, rules and addresses are of one document after every start, and never of one that is older than one that
  was acknowledged. The journal comes last because a document that the kernel or keepalived refuses must not be what
  the next start tries; it is made ready first because a full disk should be known before anything is touched.
- Rules are changed in whole transactions, and there are rules for an address before the host has it and until it has
  it no longer: each address and port is served by its old rule or its new one at every instant (core.gateway_change).
  That holds for a start after a crash too: addresses that VRRP was told of serve nothing until it lets them go.

When a step fails, what is in force is led back to the old document by the same means. Where even that fails, `tend`
goes on trying, and `ready` says so. Why the last document was refused is said too, until one is taken.

Who is stale gives way to others. An agent that is dead or hangs cannot say that it is: so it tells VRRP once a second
that it lives, and VRRP gives way by itself when it does not hear that for some seconds.

`put`, `start` and `tend` are for one thread. `heartbeat`, `tick`, `state` and `ready` may be called by another one at
any time: they read and replace single frozen values.
"""

import enum
from collections.abc import Callable

import msgspec
from structlog.typing import FilteringBoundLogger

from mooring.agent.host import Host
from mooring.core import freshness, gateway_change, gateway_checks, vrrp
from mooring.core.freshness import Heard
from mooring.core.gateway_change import Present, SetAddresses, SetRules
from mooring.core.gateway_checks import Reason
from mooring.core.ruleset import TABLE
from mooring.core.vrrp import GIVE_WAY
from mooring.core.vrrp import Vrrp as VrrpSettings
from mooring.host.connections import Way
from mooring.host.disk import DiskError
from mooring.host.errors import HostError
from mooring.host.nftables import NftError
from mooring.model.gateway import Document, Heartbeat, Refusal, State, Vrrp

NOTHING = Document(0, 0, "", ())
"""What a gateway holds that was never told anything."""
ALIVE_EVERY = 1.0
MOST_TROUBLE = 500
"""Characters of a trouble that others are told with every answer; nft repeats whole lines of rules."""
OF_THE_HOST = frozenset({Reason.RULES_REFUSED.value, Reason.VRRP_REFUSED.value, Reason.DISK_REFUSED.value})


class Outcome(enum.Enum):
    """What became of a document."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    OLDER = "older"
    OTHER = "other"
    """As old as what is held, and different."""


class Refused(Exception):
    """The document is nonsense; nothing was touched."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class NotApplied(Exception):
    """The host could not do it; everything is as before."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class JournalDamaged(HostError):
    """What stands in the journal is no document. The text says why."""


class Gateway:
    def __init__(
        self,
        host: Host,
        settings: VrrpSettings,
        *,
        log: FilteringBoundLogger,
        clock: Callable[[], float],
        version: str = "",
    ) -> None:
        self.document = NOTHING
        self._host = host
        self._settings = settings
        self._log = log
        self._clock = clock
        self._version = version
        self._present = Present()
        self._tables: tuple[int, ...] = ()
        self._journal_sure = True
        self._vrrp = Vrrp.UNKNOWN
        self._was_master = False
        self._trouble = ""
        self._refusal: Refusal | None = None
        self._marked: float | None = None
        self._unmarked = ""
        self._heard = Heard(clock())
        self._stale: bool | None = None

    def start(self) -> None:
        """Bring what the journal names into force: rules first, whatever the kernel holds, then addresses."""
        self.document = self._read_journal()
        self.tick()
        may_hold = vrrp.mentioned(self._host.daemon.configuration()) - {each for each, _ in self._settings.others}
        self._present = Present(addresses=may_hold)
        try:
            self._lead_to(self.document)
        except HostError as error:
            if not self._present.known:
                raise
            self._in_trouble(error)  # with its rules it can wait for the rest
        self._observe()
        self._log.info("restored", **_named(self.document), vrrp=self._vrrp.value)

    def put(self, document: Document) -> Outcome:
        """Bring a document into force, or raise Refused or NotApplied and leave everything as it was."""
        held = self.document.held
        if document.held == held:
            self._refusal = None
            return Outcome.UNCHANGED
        if document.held.age <= held.age:
            self._log.warning("older document refused", **_named(document), held=held.age)
            return Outcome.OLDER if document.held.age < held.age else Outcome.OTHER
        refusal = gateway_checks.refusal(document, self.document)
        if refusal is not None:
            self._log.warning("document refused", **_named(document), reason=refusal.reason, message=refusal.message)
            self.refuses(refusal)
            raise Refused(refusal)
        ended = gateway_change.ended_flows(self._present, document)
        try:
            self._host.journal.prepare(msgspec.json.encode(document))
            done = self._lead_to(document)
            self._journal_sure = False
            self._host.journal.commit()
            self._journal_sure = True
        except HostError as error:
            self._put_right()
            refusal = Refusal(_reason(error).value, str(error))
            self._log.error("document not applied", **_named(document), reason=refusal.reason, message=refusal.message)
            self.refuses(refusal)
            raise NotApplied(refusal) from error
        self.document = document
        self._refusal = None
        self._forget_ways(ended)
        self._log.info("document taken", **_named(document), changed=done)
        return Outcome.APPLIED

    def refuses(self, refusal: Refusal) -> None:
        """Remember why a document was refused, until one is taken."""
        self._refusal = refusal

    def heartbeat(self, beat: Heartbeat) -> bool:
        """A leader is there. False: one of an older epoch than what is held, who is none any more."""
        if beat.epoch < self.document.epoch:
            return False
        self._heard = freshness.after(self._heard, beat, self.document.held, now=self._clock())
        self.tick()
        return True

    def tick(self) -> None:
        """Look at the clock, and give way to others or take one's place again."""
        self._mark_alive()
        holding = self._vrrp is Vrrp.MASTER
        stale = freshness.stale(self._heard, self.document.held, now=self._clock(), holding=holding)
        if stale == self._stale:
            return
        try:
            self._host.daemon.lower(GIVE_WAY if stale else 0)
        except HostError as error:
            self._log.error("priority not changed", stale=stale, error=str(error))
            return
        self._stale = stale
        told = {"held": self.document.held.age, "newest": self._heard.newest}
        self._log.info("stale: gives way to others" if stale else "fresh", **told)

    def tend(self) -> bool:
        """See how the host is, and put right what is not as it should be. Returns whether VRRP was started again."""
        ended = not self._host.daemon.running()
        if ended:
            if not self._trouble:
                self._log.warning("vrrp has ended and is started again")
            self._present = msgspec.structs.replace(self._present, settled=False)
        self._put_right()
        self._observe()
        return ended

    def state(self) -> State:
        return State(
            self.document.held,
            self._vrrp,
            stale=bool(self._stale),
            version=self._version,
            trouble=self.trouble[:MOST_TROUBLE],
        )

    @property
    def trouble(self) -> str:
        """Why it could not do what it was told last, or why its host is not as the document says."""
        refusal = self._refusal
        return self._trouble if refusal is None else refusal.message

    @property
    def heartbeat_age(self) -> float:
        return self._clock() - self._heard.at

    def ready(self) -> str | None:
        """Why this gateway does not do its work; None, if it does."""
        refusal = self._refusal
        if refusal is not None and refusal.reason in OF_THE_HOST:
            return f"the last document could not be applied: {refusal.message[:MOST_TROUBLE]}"
        if not self._present.known:
            return "the rules of the last document are not in force"
        if self._vrrp in {Vrrp.STOPPED, Vrrp.UNKNOWN}:
            return "keepalived does not run"
        if not self._present.settled:
            return "keepalived does not follow the last document"
        return None

    def _read_journal(self) -> Document:
        content = self._host.journal.read()
        if content is None:
            return NOTHING
        try:
            return _decoded(content)
        except JournalDamaged as error:
            self._set_aside(error)
            return NOTHING

    def _set_aside(self, damage: JournalDamaged) -> None:
        """Who cannot read what it was told was told nothing: it gives way to others until it is told again."""
        advice = "nothing is to be done, the controller sends all of it again; if this comes again, check the disk"
        self._log.error("the journal is damaged and set aside", error=str(damage), advice=advice)
        try:
            self._host.journal.set_aside()
        except HostError as error:  # the next document takes its place all the same
            self._log.error("the journal is not set aside", error=str(error))

    def _mark_alive(self) -> None:
        """The same trouble is said once, however often it is tried."""
        now = self._clock()
        if self._marked is not None and now - self._marked < ALIVE_EVERY:
            return
        self._marked = now
        trouble = ""
        try:
            # Who does not know what it is, such as after a restart, may hold the addresses.
            self._host.daemon.mark_alive(freshness.alive(holding=self._vrrp is not Vrrp.BACKUP))
        except HostError as error:
            trouble = str(error)
        if trouble and trouble != self._unmarked:
            self._log.error("vrrp cannot be told that the agent lives, and will give way", error=trouble)
        self._unmarked = trouble

    def _lead_to(self, document: Document) -> list[str]:
        """Carry out what leads from what is in force to a document; returns what that was, for people."""
        done = []
        for step in gateway_change.steps(self._present, document):
            match step:
                case SetRules():
                    self._set_rules(step)
                    done.append("all rules" if step.whole else "rules")
                case SetAddresses():
                    self._set_addresses(step.addresses)
                    done.append("addresses")
            self._present = step.after
        # Where only names of Services differ, nothing was to be done, and need not be looked for again.
        self._present = msgspec.structs.replace(self._present, forwards=document.forwards)
        return done

    def _set_rules(self, step: SetRules) -> None:
        """Rules that are refused may show that the kernel does not hold what it should; then all are loaded next."""
        try:
            self._host.rules.run(step.text)
        except NftError:
            self._present = msgspec.structs.replace(self._present, known=False)
            raise
        if step.whole:
            self._tables = self._host.rules.handles(TABLE)

    def _set_addresses(self, wanted: frozenset[str]) -> None:
        before = self._present.addresses
        # Until it has obeyed, the host may hold all of them.
        self._present = msgspec.structs.replace(self._present, addresses=before | wanted, settled=False)
        text = vrrp.configuration(self._settings, wanted, released=before - wanted)
        self._host.daemon.configure(text, held=wanted, released=before - wanted)

    def _put_right(self) -> None:
        """Lead host and journal to the document that counts, wherever they are."""
        try:
            if self._present.known and self._host.rules.handles(TABLE) != self._tables:
                self._log.warning("somebody else removed the rules; they are loaded again")
                self._present = msgspec.structs.replace(self._present, known=False)
            self._lead_to(self.document)
            if not self._journal_sure:  # of a commit that failed nobody knows how far it went
                self._host.journal.prepare(msgspec.json.encode(self.document))
                self._host.journal.commit()
                self._journal_sure = True
        except HostError as error:
            self._in_trouble(error)
        else:
            self._in_trouble(None)

    def _in_trouble(self, error: HostError | None) -> None:
        """The host is not as the document says, or is so again. The same is said once, however often it is tried."""
        trouble = "" if error is None else str(error)
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            self._log.error("not in force", **_named(self.document), error=trouble)
        else:
            self._log.info("in force again", **_named(self.document))

    def _observe(self) -> None:
        """How VRRP is. Who no longer holds the addresses forgets the connections to them: they go on elsewhere."""
        before = self._vrrp
        try:
            self._vrrp = self._host.daemon.state()
        except HostError as error:
            self._vrrp = Vrrp.UNKNOWN
            self._log.error("vrrp cannot be observed", error=str(error))
        if self._vrrp is before:
            return
        self._marked = None  # for how long its word counts depends on that
        self._log.info("vrrp", state=self._vrrp.value, before=before.value)
        if self._was_master and self._vrrp is Vrrp.BACKUP:
            self._forget_addresses()
        if self._vrrp in {Vrrp.MASTER, Vrrp.BACKUP}:
            self._was_master = self._vrrp is Vrrp.MASTER

    def _forget_addresses(self) -> None:
        try:
            gone = self._host.connections.forget_addresses(self._present.addresses)
        except HostError as error:
            self._log.warning("connections not forgotten", error=str(error))
        else:
            self._log.info("connections forgotten", count=gone)

    def _forget_ways(self, ended: tuple[gateway_change.Flow, ...]) -> None:
        if not ended:
            return
        ways = [Way(each.address, each.protocol, each.port, each.backend.address, each.backend.port) for each in ended]
        try:
            self._host.connections.forget_ways(ways)
        except HostError as error:
            self._log.warning("flows to old backends go on", error=str(error))


def _decoded(content: bytes) -> Document:
    try:
        return msgspec.json.decode(content, type=Document)
    except msgspec.DecodeError as error:
        raise JournalDamaged(str(error)) from error


def _named(document: Document) -> dict[str, int]:
    return {"epoch": document.epoch, "generation": document.generation, "forwards": len(document.forwards)}


def _reason(error: HostError) -> Reason:
    if isinstance(error, NftError):
        return Reason.RULES_REFUSED
    return Reason.DISK_REFUSED if isinstance(error, DiskError) else Reason.VRRP_REFUSED
