"""The one owner of a gateway's state: what it was told, what is in force, and whether it is up to date.

Taking a document goes

    ready on the disk -> rules -> addresses -> rules -> the journal names it -> answer

and what the journal names is what counts:

- A crash before the journal names the new document: the next start brings the old one into force, rules first. Nobody
  was told of the new one.
- A crash after it: the next start brings the new one into force. It was in force already.
- So journal, rules and addresses are of one document after every start, and never of one that is older than one that
  was acknowledged. The journal comes last because a document that the kernel or keepalived refuses must not be what
  the next start tries; it is made ready first because a full disk should be known before anything is touched. What
  differs from a document is only added to the journal, after the rest: on a full disk it is undone.
- Rules are changed in whole transactions, and there are rules for an address before the host has it and until it has
  it no longer: each address and port is served by its old rule or its new one at every instant (core.gateway_change).
  That holds for a start after a crash too: addresses that VRRP was told of serve nothing until it lets them go.

When a step fails, what is in force is led back to the old document by the same means. Where even that fails, `tend`
goes on trying, and `ready` says so. Why the last document was refused is said too, until one is taken.

`put`, `start` and `tend` are for one thread. `heartbeat`, `tick`, `state` and `ready` may be called by another one at
any time: they read and replace single frozen values.
"""

import enum
from collections.abc import Callable

from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from mooring.agent.host import Host
from mooring.agent.memory import Memory
from mooring.agent.probing import Probing
from mooring.agent.record import Record
from mooring.agent.rules import Rules
from mooring.agent.standing import Standing
from mooring.core import elements, gateway_change, gateway_document, vrrp
from mooring.core.gateway_change import SetAddresses, SetRules, Wanted
from mooring.core.gateway_checks import Reason
from mooring.core.ruleset import Mode
from mooring.core.told import Refused, Told
from mooring.core.vrrp import Vrrp as VrrpSettings
from mooring.host.connections import Way
from mooring.host.disk import DiskError
from mooring.host.errors import HostError
from mooring.host.nftables import NftError
from mooring.model.gateway import Delta, Document, Heartbeat, LeftOut, Place, Refusal, State, Vrrp

MOST_TROUBLE = 500
"""Characters of a trouble that others are told with every answer; nft repeats whole lines of rules."""
MOST_LEFT_OUT = 100
"""Of what is not served, that is said in the log at once."""
OF_THE_HOST = frozenset({Reason.RULES_REFUSED.value, Reason.VRRP_REFUSED.value, Reason.DISK_REFUSED.value})


class Outcome(enum.Enum):
    """What became of a document."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    OLDER = "older"
    OTHER = "other"
    """As old as what is held, and different."""
    BASE = "base"
    """What differs from something that is not held."""


class Choices(Struct, frozen=True):
    """What the operator chose: how packets are treated, and which of them go on to a backend that is gone."""

    mode: Mode = Mode()
    ended: frozenset[str] = frozenset({"UDP"})
    version: str = ""
    """Of the agent."""


class NotApplied(Exception):
    """The host could not do it; everything is as before."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Gateway:
    def __init__(
        self,
        host: Host,
        settings: VrrpSettings,
        choices: Choices,
        *,
        log: FilteringBoundLogger,
        clock: Callable[[], float],
    ) -> None:
        self.told = Told()
        self.certificate_ends: Callable[[], float] = lambda: 0.0
        self.rules = Rules(host.filter, choices.mode, log=log, clock=clock)
        self.standing = Standing(host.daemon, host.connections, settings.instances, log=log, clock=clock)
        self.memory = Memory(host.reader, self.rules, self.standing, log=log, clock=clock)
        self.probing = Probing(host.ask)
        self._host = host
        self._record = Record(host.journal, log=log)
        self._settings = settings
        self._choices = choices
        self._log = log
        self._addresses: frozenset[str] = frozenset()
        self._settled = False
        self._touched: set[Place] = set()
        self._new: set[str] = set()
        self._restored = True
        self._left_out: tuple[LeftOut, ...] = ()
        self._trouble = ""
        self._refusal: Refusal | None = None

    @property
    def document(self) -> Document:
        """All that it was told."""
        return self.told.document

    def start(self) -> None:
        """Bring what the journal names into force: rules first, whatever the kernel holds, then addresses."""
        ours = vrrp.mentioned(self._host.daemon.configuration())
        self._addresses = ours - {each for each, _ in self._settings.others}
        self.told = self._record.read(self._unfit())
        self._said_left_out()
        self.standing.begin()
        self.tick()
        try:
            self._lead(self.told.forwards, frozenset(self.told.addresses), self.told.seed)
            self._touched.clear()
        except HostError as error:
            if not self.rules.known:
                raise
            self._in_trouble(error)  # with its rules it can wait for the rest
        self.standing.observe(self._addresses)
        self._new, self._restored = set(self._addresses), True
        self._log.info("restored", **self._named(), vrrp=self.standing.vrrp.value)

    def put(self, new: Document | Delta) -> Outcome:
        """Bring a document into force, or raise Refused or NotApplied and leave everything as it was."""
        known = self._known(new)
        if known is not None:
            return known
        try:
            change = self.told.change(new, self._unfit())
        except Refused as error:
            self._log.warning("document refused", **_age(new), reason=error.refusal.reason, message=str(error))
            self.refuses(error.refusal)
            raise
        old = [each for place in change.served if (each := self.told.forwards.get(place)) is not None]
        ended = gateway_change.ended_flows(old, change.served, self._choices.ended)
        # What one that was refused has left behind goes too.
        wanted = {place: self.told.forwards.get(place) for place in self._touched} | dict(change.served)
        self._touched.update(change.served)
        try:
            self._record.prepare(new, self.told)
            addresses = self.told.addresses_after(change, self._addresses if self._settled else None)
            done = self._lead(wanted, addresses, change.seed)
            self._record.name(new)
        except HostError as error:
            self._put_right()
            refusal = Refusal(_reason(error).value, str(error))
            self._log.error("document not applied", **_age(new), reason=refusal.reason, message=refusal.message)
            self.refuses(refusal)
            raise NotApplied(refusal) from error
        self.told.follow(change)
        self._touched.clear()
        self._refusal = None
        self._in_trouble(None)
        self._said_left_out()
        self._forget_ways(ended)
        self._log.info("document taken", **self._named(), changed=done, places=len(change.served))
        return Outcome.APPLIED

    def refuses(self, refusal: Refusal) -> None:
        """Remember why a document was refused, until one is taken."""
        self._refusal = refusal

    def heartbeat(self, beat: Heartbeat) -> bool:
        """A leader is there. False: one of an older epoch than what is held, who is none any more."""
        held = self.told.held
        if beat.epoch < held.epoch:
            return False
        self.standing.heartbeat(beat, held)
        return True

    def tick(self) -> None:
        """Look at the clock, and give way to others or take one's place again."""
        self.standing.tick(self.told.held)

    def tend(self) -> bool:
        """See how the host is, and put right what is not as it should be. Returns whether VRRP was started again."""
        if self._host.daemon.hangs():
            self._log.error("vrrp hangs and is ended")
            self._end_daemon()
        ended = not self._host.daemon.running()
        if ended:
            if not self._trouble:
                self._log.warning("vrrp has ended and is started again")
            self._settled = False
        self._put_right()
        self.standing.observe(self._addresses)
        self._forget_strays()
        return ended

    def state(self, *, whole: bool = True) -> State:
        """`whole`: with all that is left out, which may be much."""
        return State(
            self.told.held,
            self.standing.vrrp,
            stale=self.standing.stale,
            version=self._choices.version,
            trouble=self.trouble[:MOST_TROUBLE],
            told=self.told.digest,
            left_out=self._left_out if whole else (),
            schemas=gateway_document.SCHEMAS,
            snat=self._choices.mode.source,
            remembers=self.memory.last.number,
            drained=self.standing.drained,
            connections=self._host.connections.count() if whole else 0,
            certificate_ends=int(self.certificate_ends()),
            probes=self.probing.name,
            silent=self.probing.silent,
        )

    def most_connections(self) -> int:
        """How many the kernel can know of at once; 0, if nobody can tell."""
        return self._host.connections.limit()

    @property
    def trouble(self) -> str:
        """Why it could not do what it was told last, or why its host is not as the document says."""
        refusal = self._refusal
        return self._trouble if refusal is None else refusal.message

    def ready(self) -> str | None:
        """Why this gateway does not do its work; None, if it does."""
        refusal = self._refusal
        if refusal is not None and refusal.reason in OF_THE_HOST:
            return f"the last document could not be applied: {refusal.message[:MOST_TROUBLE]}"
        if not self.rules.known:
            return "the rules of the last document are not in force"
        if self.standing.vrrp in {Vrrp.STOPPED, Vrrp.UNKNOWN}:
            return "keepalived does not run"
        if not self._settled:
            return "keepalived does not follow the last document"
        return None

    def _known(self, new: Document | Delta) -> Outcome | None:
        """What becomes of something that is not newer than what is held, or is about something else."""
        held = self.told.held
        age = (new.epoch, new.generation)
        if age == held.age and new.digest == self.told.digest:
            self._refusal = None
            return Outcome.UNCHANGED
        if age <= held.age:
            self._log.warning("older document refused", **_age(new), held=held.age)
            return Outcome.OLDER if age < held.age else Outcome.OTHER
        if isinstance(new, Delta) and (new.base.age, new.base.digest) != (held.age, self.told.digest):
            self._log.info("what differs from something else is not taken", **_age(new), base=new.base.age)
            return Outcome.BASE
        return None

    def _lead(self, wanted: Wanted, addresses: frozenset[str], seed: int) -> list[str]:
        """Let some places and the addresses be as told; returns what that was, for people."""
        bare = frozenset() if self._settled else self._addresses - addresses - self.rules.addresses()
        self._touched.update(gateway_change.shut_off(each).place for each in bare)
        change = gateway_change.Change(wanted, self._addresses, addresses, bare)
        done = []
        for step in gateway_change.steps(change, fits=self.rules.fits(seed), settled=self._settled):
            match step:
                case SetRules():
                    done.append(self.rules.change(step.wanted, seed))
                case SetAddresses():
                    self._set_addresses(step.addresses)
                    done.append("addresses")
        return [each for each in done if each]

    def _set_addresses(self, wanted: frozenset[str]) -> None:
        before = self._addresses
        # Until it has obeyed, the host may hold all of them.
        self._addresses, self._settled = before | wanted, False
        text = vrrp.configuration(self._settings, wanted, released=before - wanted)
        self._host.daemon.configure(text, held=wanted, released=before - wanted)
        self._addresses, self._settled = wanted, True
        self._new |= wanted - before

    def _put_right(self) -> None:
        """Lead host and journal to what counts, wherever they are."""
        try:
            self.rules.look()
            wanted = {place: self.told.forwards.get(place) for place in self._touched}
            self._lead(wanted, frozenset(self.told.addresses), self.told.seed)
            self._touched.clear()
            self._record.tidy(self.told)
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
            self._log.error("not in force", **self._named(), error=trouble)
        else:
            self._log.info("in force again", **self._named())

    def _end_daemon(self) -> None:
        try:
            self._host.daemon.end()
        except HostError as error:
            self._log.error("vrrp cannot be ended", error=str(error))

    def _unfit(self) -> Callable[[str], str]:
        """Tells of an address that is not held yet why it cannot be; empty, if it can."""
        own: frozenset[str] | None = None

        def why(address: str) -> str:
            nonlocal own
            if address in self._addresses:
                return ""
            own = self._host.daemon.there() if own is None else own
            if address in own:
                return "the gateway itself has this address"
            if ":" in address and not self._host.daemon.has_six():
                return "the gateway's interface has no IPv6"
            return ""

        return why

    def _named(self) -> dict[str, int]:
        epoch, generation = self.told.age
        return {"epoch": epoch, "generation": generation, "forwards": len(self.told.forwards)}

    def _said_left_out(self) -> None:
        """What is not served is said once, and then with every answer."""
        found = tuple(each for place in sorted(self.told.left_out) for each in self.told.left_out[place])
        for each in found[:MOST_LEFT_OUT]:
            if each not in self._left_out:
                told = {"service": each.service, "reason": each.reason, "message": each.message, "advice": each.advice}
                self._log.warning("not served", **told)
        self._left_out = found

    def _forget_strays(self) -> None:
        """What came before its address knows of no backend; what came before a death of ours, of one that is gone.

        Connections that may go on to such a backend are not told from others, and are left alone after a start.
        """
        new, self._new = self._new & self._addresses, set()
        protocols = self._choices.ended if self._restored else frozenset(elements.PROTOCOLS)
        self._restored = False
        if not new:
            return
        served = [each for each in self.told.forwards.values() if each.address in new]
        ways = [Way(*each.place, one.address, one.port) for each in served for one in each.backends]
        try:
            gone = self._host.connections.forget_strays(new, protocols, ways)
        except HostError as error:
            self._log.warning("flows to old backends may go on", error=str(error))
        else:
            if gone:
                self._log.info("flows forgotten that led nowhere", count=gone)

    def _forget_ways(self, ended: tuple[gateway_change.Flow, ...]) -> None:
        if not ended:
            return
        ways = [Way(each.address, each.protocol, each.port, each.backend.address, each.backend.port) for each in ended]
        try:
            self._host.connections.forget_ways(ways)
        except HostError as error:
            self._log.warning("flows to old backends go on", error=str(error))


def _age(new: Document | Delta) -> dict[str, int]:
    return {"epoch": new.epoch, "generation": new.generation}


def _reason(error: HostError) -> Reason:
    if isinstance(error, NftError):
        return Reason.RULES_REFUSED
    return Reason.DISK_REFUSED if isinstance(error, DiskError) else Reason.VRRP_REFUSED
