"""Lists of addresses as people write them: `192.0.2.10`, `192.0.2.10-192.0.2.40`, `2001:db8::/120`.

A prefix stands for its hosts: the address of the network itself and, of IPv4, the broadcast address are left out.
"""

import ipaddress
from collections.abc import Iterable, Iterator

from msgspec import Struct

from mooring.core import plain_address

V4, V6 = 4, 6
NO_HOSTS = {V4: 31, V6: 127}
"""From this length on all addresses of a prefix are of hosts."""


class Range(Struct, frozen=True):
    """From the first to the last address, both included, as numbers; of IPv4 or IPv6."""

    version: int
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        first, last = self._text(self.first), self._text(self.last)
        return first if first == last else f"{first}-{last}"

    def __contains__(self, address: str) -> bool:
        found = plain_address.parsed(address)
        return found.version == self.version and self.first <= int(found) <= self.last

    def addresses(self) -> Iterator[str]:
        return map(self._text, range(self.first, self.last + 1))

    def meets(self, other: "Range") -> bool:
        """Whether they have an address in common."""
        return self.version == other.version and self.first <= other.last and other.first <= self.last

    def _text(self, number: int) -> str:
        return str(ipaddress.IPv4Address(number) if self.version == V4 else ipaddress.IPv6Address(number))


def read(text: str) -> Range:
    """What a person wrote. ValueError says what is wrong with it."""
    first, dash, last = (part.strip() for part in text.partition("-"))
    found = _hosts(text.strip()) if "/" in text else _between(first, last if dash else first)
    if met := next((name for name, each in NOBODYS.items() if found.meets(each)), None):
        raise ValueError(f"it has addresses of {met}, which no Service can have")
    return found


def read_all(texts: Iterable[str]) -> tuple[Range, ...]:
    return tuple(map(read, texts))


def hold(ranges: Iterable[Range], address: str) -> bool:
    """Whether one of them has an address."""
    return any(address in each for each in ranges)


def nobodys(address: str) -> bool:
    """Whether no Service can have it: it is of no single host, of one link only, or IPv4 in disguise."""
    return hold(NOBODYS.values(), address)


def _hosts(prefix: str) -> Range:
    network = ipaddress.ip_network(prefix)
    own = network.prefixlen < NO_HOSTS[network.version]
    return Range(network.version, int(network[0]) + own, int(network[-1]) - (own and network.version == V4))


def _between(first: str, last: str) -> Range:
    low, high = plain_address.parsed(first), plain_address.parsed(last)
    if low.version != high.version or int(low) > int(high):
        raise ValueError(f"{first} does not come before {last}")
    return Range(low.version, int(low), int(high))


def _whole(prefix: str) -> Range:
    network = ipaddress.ip_network(prefix)
    return Range(network.version, int(network[0]), int(network[-1]))


NOBODYS = {
    each: _whole(each)
    for each in (
        *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/127", "::ffff:0:0/96", "fe80::/10", "ff00::/8"),
    )
}
