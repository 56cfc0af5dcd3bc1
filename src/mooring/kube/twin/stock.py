"""What an API server gives out from limited stock: Services' addresses and nodes' ports, always in the same order."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network


class Addresses:
    """The addresses of one range, given out one after the other; a freed one comes round again."""

    def __init__(self, cidr: str) -> None:
        network: IPv4Network | IPv6Network = ip_network(cidr)
        self._network = network
        self._size = min(network.num_addresses, 1 << 16) - 1
        self._next = 1
        self._taken: set[str] = set()

    def __contains__(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return parsed.version == self._network.version and parsed in self._network

    def is_free(self, address: str) -> bool:
        return address not in self._taken

    def take(self, address: str) -> None:
        self._taken.add(address)

    def give(self) -> str | None:
        """A free address; None if there is none."""
        for _ in range(self._size):
            address = str(self._network[self._next])
            self._next = self._next % (self._size - 1) + 1
            if address not in self._taken:
                self._taken.add(address)
                return address
        return None

    def free(self, address: str) -> None:
        self._taken.discard(address)


class NodePorts:
    """The ports that nodes open for Services."""

    def __init__(self, first: int = 30000, last: int = 32767) -> None:
        self.first = first
        self.last = last
        self._next = first
        self._taken: set[int] = set()

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last

    def is_free(self, port: int) -> bool:
        return port not in self._taken

    def take(self, port: int) -> None:
        self._taken.add(port)

    def give(self) -> int | None:
        """A free port; None if there is none."""
        for _ in range(self.first, self.last + 1):
            port = self._next
            self._next = self.first if port == self.last else port + 1
            if port not in self._taken:
                self._taken.add(port)
                return port
        return None

    def free(self, ports: Iterable[int]) -> None:
        self._taken.difference_update(ports)
