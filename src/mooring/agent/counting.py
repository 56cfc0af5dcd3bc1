"""What the kernel has counted of each Service, read by a way of its own: for any thread, one at a time."""

import threading

from mooring.agent.host import Filter
from mooring.agent.rules import Rules
from mooring.model.gateway import Backend, Counted, Forward, Place

CONNECTIONS = "counted"
RECEIVED = "received"
SENT = "sent"


class Counting:
    """Raises HostError where the kernel does not say."""

    def __init__(self, rules: Rules, reader: Filter) -> None:
        self._rules = rules
        self._reader = reader
        self._turn = threading.Lock()

    def counted(self, name: str) -> list[tuple[Forward, int, int]]:
        """Packets and bytes by one of the sets that count; nothing, if it does not."""
        if name not in self._rules.counters:
            return []
        with self._turn:
            return list(self._rules.counted(name, self._reader))

    def endpoints(self) -> list[tuple[Forward, Backend, int]]:
        if not self._rules.counts_endpoints:
            return []
        with self._turn:
            return list(self._rules.counted_endpoints(self._reader))

    def everything(self) -> tuple[Counted, ...]:
        """All of it, by Service and port."""
        received, sent = (_octets(self.counted(name)) for name in (RECEIVED, SENT))
        return tuple(
            Counted(
                each.service,
                each.address,
                each.protocol,
                each.port,
                connections,
                received.get(each.place),
                sent.get(each.place),
            )
            for each, connections, _ in self.counted(CONNECTIONS)
        )


def _octets(counted: list[tuple[Forward, int, int]]) -> dict[Place, int]:
    return {forward.place: octets for forward, _, octets in counted}
