"""How a gateway stands among the others: whether it is up to date, and what VRRP makes of that.

Who is stale gives way to others, and so does who is told to. An agent that is dead or hangs cannot say that it is: so
it tells VRRP once a second that it lives, and VRRP gives way by itself when it does not hear that for some seconds.

`observe` is for the thread that changes the host; the rest may be called by another one at any time.
"""

from collections.abc import Callable

from structlog.typing import FilteringBoundLogger

from mooring.agent.host import Connections, Daemon
from mooring.core import freshness, vrrp
from mooring.core.freshness import Heard
from mooring.core.vrrp import GIVE_WAY
from mooring.host.errors import HostError
from mooring.model.gateway import Heartbeat, Held, Vrrp

ALIVE_EVERY = 1.0


class Standing:
    def __init__(
        self,
        daemon: Daemon,
        connections: Connections,
        instances: int,
        *,
        log: FilteringBoundLogger,
        clock: Callable[[], float],
    ) -> None:
        self.vrrp = Vrrp.UNKNOWN
        self._instances = instances
        self._daemon = daemon
        self._connections = connections
        self._log = log
        self._clock = clock
        self._holding: frozenset[int] = frozenset()
        self._marked: float | None = None
        self._unmarked = ""
        self._heard = Heard(clock())
        self._lowered: tuple[bool, bool] | None = None  # whether it is stale, and whether it is drained

    @property
    def stale(self) -> bool:
        return self._lowered is not None and self._lowered[0]

    @property
    def drained(self) -> bool:
        return self._lowered is not None and self._lowered[1]

    @property
    def heartbeat_age(self) -> float:
        return self._clock() - self._heard.at

    def begin(self) -> None:
        """Who was just started with its host, or had given way before, gives way until it hears a leader."""
        if not self._daemon.running() or self._daemon.lowered():
            self._heard = freshness.never(self._clock())

    def heartbeat(self, beat: Heartbeat, held: Held) -> None:
        """A leader is there."""
        self._heard = freshness.after(self._heard, beat, held, now=self._clock())
        self.tick(held)

    def tick(self, held: Held) -> None:
        """Look at the clock, and give way to others or take one's place again."""
        self._mark_alive()
        stale = freshness.stale(self._heard, held, now=self._clock(), holding=self.vrrp is Vrrp.MASTER)
        drained = self._heard.drained
        if (stale, drained) == self._lowered:
            return
        try:
            self._daemon.lower(GIVE_WAY if stale or drained else 0)
        except HostError as error:
            self._log.error("priority not changed", stale=stale, drained=drained, error=str(error))
            return
        self._lowered = stale, drained
        told = {"held": held.age, "newest": self._heard.newest, "drained": drained}
        self._log.info("stale: gives way to others" if stale else "fresh", **told)

    def observe(self, addresses: frozenset[str]) -> None:
        """How VRRP is. Who no longer holds the addresses forgets the connections to them: they go on elsewhere."""
        before, held = self.vrrp, self._holding
        try:
            self.vrrp = self._daemon.state()
            if self.vrrp in {Vrrp.MASTER, Vrrp.BACKUP}:
                self._holding = self._daemon.holding()
        except HostError as error:
            self.vrrp = Vrrp.UNKNOWN
            self._log.error("vrrp cannot be observed", error=str(error))
        if self.vrrp is not before:
            self._marked = None  # for how long its word counts depends on that
        if (self.vrrp, self._holding) != (before, held):
            self._log.info("vrrp", state=self.vrrp.value, before=before.value, instances=sorted(self._holding))
        lost = held - self._holding
        if lost:
            self._forget(frozenset(each for each in addresses if vrrp.instance_of(each, self._instances) in lost))

    def holds(self, address: str) -> bool:
        """Whether packets to an address come here."""
        return vrrp.instance_of(address, self._instances) in self._holding

    def changes(self) -> int | None:
        """A descriptor that can be read, by `heard`, when VRRP has something to say; None, where it never does."""
        try:
            return self._daemon.changes()
        except HostError as error:
            self._log.warning("vrrp is looked at once a second only", error=str(error))
            return None

    def heard(self) -> None:
        """Take in what VRRP says."""
        try:
            self._daemon.heard()
        except HostError as error:
            self._log.warning("vrrp cannot be heard", error=str(error))

    def _mark_alive(self) -> None:
        """The same trouble is said once, however often it is tried."""
        now = self._clock()
        if self._marked is not None and now - self._marked < ALIVE_EVERY:
            return
        self._marked = now
        trouble = ""
        try:
            # Who does not know what it is, such as after a restart, may hold the addresses.
            self._daemon.mark_alive(freshness.alive(holding=self.vrrp is not Vrrp.BACKUP))
        except HostError as error:
            trouble = str(error)
        if trouble and trouble != self._unmarked:
            self._log.error("vrrp cannot be told that the agent lives, and will give way", error=trouble)
        self._unmarked = trouble

    def _forget(self, addresses: frozenset[str]) -> None:
        try:
            gone = self._connections.forget_addresses(addresses)
        except HostError as error:
            self._log.warning("connections not forgotten", error=str(error))
        else:
            self._log.info("connections forgotten", count=gone)
