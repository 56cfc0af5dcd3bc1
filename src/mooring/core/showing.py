"""Which addresses Services show in their status, and by address who of ours does. Knows nothing of ports."""

import itertools
from collections.abc import Set as AbstractSet

from mooring.core import mapping
from mooring.model.kubernetes import Name, Service


class Showing:
    """Mutable, owned by one task."""

    def __init__(self) -> None:
        self._shown: dict[Name, tuple[str, ...]] = {}
        self._by: dict[str, set[Name]] = {}

    def see(self, service: Service) -> None:
        self.forget(service.name)
        shown = self._shown[service.name] = tuple(each.ip for each in service.status.load_balancer.ingress)
        for address in shown if mapping.addressed_to_us(service) else ():
            self._by.setdefault(address, set()).add(service.name)

    def forget(self, name: Name) -> None:
        for address in self._shown.pop(name, ()):
            showing = self._by.get(address, set())
            showing.discard(name)
            if not showing:
                self._by.pop(address, None)

    def of(self, name: Name) -> tuple[str, ...]:
        """What a Service shows."""
        return self._shown.get(name, ())

    def by(self, address: str) -> AbstractSet[Name]:
        """The Services of ours that show an address."""
        return self._by.get(address, frozenset())

    def everything(self) -> frozenset[str]:
        """What any Service shows, ours or not."""
        return frozenset(itertools.chain.from_iterable(self._shown.values()))
