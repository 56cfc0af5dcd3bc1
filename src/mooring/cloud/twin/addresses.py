"""Which addresses of a subnet are taken, and which is the next. Knows nothing of ports."""

import functools
import ipaddress

from mooring.cloud.twin.refusals import Refusal, bad_input
from mooring.model.cloud import AddressRange, Subnet

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@functools.lru_cache(maxsize=65536)
def number(text: str) -> int:
    return int(ipaddress.ip_address(text))


def text_of(value: int, *, version: int) -> str:
    if version == 4:  # noqa: PLR2004 - IPv4
        return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"
    return str(ipaddress.IPv6Address(value))


class AddressBook:
    """The addresses of one subnet. The lowest free one is always the next."""

    def __init__(self, subnet: Subnet) -> None:
        self.network = parsed(subnet.cidr)
        self.version = self.network.version
        self._first = int(self.network.network_address)
        self._last = int(self.network.broadcast_address)
        self._pools = sorted((number(pool.start), number(pool.end)) for pool in subnet.allocation_pools)
        self._taken: set[int] = set()
        self._low = self._pools[0][0] if self._pools else 0

    @property
    def in_use(self) -> bool:
        return bool(self._taken)

    def holds(self, address: str, *, router: bool = False) -> bool:
        """Can a port of this subnet have this address?"""
        if (":" in address) != (self.version == 6):  # noqa: PLR2004 - IPv6
            return False
        value = number(address)
        if not self._first <= value <= self._last:
            return False
        if self._last - self._first <= 1:
            return True
        if self.version == 6:  # noqa: PLR2004 - IPv6
            return router or value != self._first
        return value not in {self._first, self._last}

    def take(self, address: str) -> bool:
        """Take this address, unless it is taken."""
        value = number(address)
        if value in self._taken:
            return False
        self._taken.add(value)
        return True

    def take_lowest(self) -> str | None:
        """Take the lowest free address of the pools, if there is one."""
        for start, end in self._pools:
            value = max(start, self._low)
            while value <= end and value in self._taken:
                value += 1
            if value <= end:
                self._taken.add(value)
                self._low = value + 1
                return text_of(value, version=self.version)
        return None

    def release(self, address: str) -> None:
        value = number(address)
        self._taken.discard(value)
        self._low = min(self._low, value)


def parsed(cidr: str) -> Network:
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        raise bad_input(f"{cidr} is not in a CIDR format.") from None


def usual_gateway(network: Network) -> str:
    """The one that Neutron takes if nobody says which: in IPv6 it is the subnet-router anycast address."""
    first = int(network.network_address)
    return text_of(first + (network.version == 4), version=network.version)  # noqa: PLR2004 - IPv4


def usual_pools(network: Network, gateway: str | None) -> tuple[AddressRange, ...]:
    """All that hosts can have, without the gateway."""
    low = int(network.network_address) + 1
    high = int(network.broadcast_address) - (network.version == 4)  # noqa: PLR2004 - IPv4
    ranges = [(low, high)]
    if gateway is not None and low <= number(gateway) <= high:
        ranges = [(low, number(gateway) - 1), (number(gateway) + 1, high)]
    return tuple(
        AddressRange(text_of(start, version=network.version), text_of(end, version=network.version))
        for start, end in ranges
        if start <= end
    )


def check_pools(network: Network, pools: tuple[AddressRange, ...], gateway: str | None) -> None:
    for pool in pools:
        start, end = number(pool.start), number(pool.end)
        if start > end:
            text = f"The allocation pool {{'start': '{pool.start}', 'end': '{pool.end}'}} is not valid."
            raise Refusal(400, "InvalidAllocationPool", text)
        if start < int(network.network_address) or end > int(network.broadcast_address):
            text = f"The allocation pool {pool.start}-{pool.end} spans beyond the subnet cidr {network}."
            raise Refusal(400, "OutOfBoundsAllocationPool", text)
        if gateway is not None and start <= number(gateway) <= end:
            text = f"Gateway ip {gateway} conflicts with allocation pool {pool.start}-{pool.end}."
            raise Refusal(409, "GatewayConflictWithAllocationPools", text)


def from_mac(network: Network, mac: str) -> str:
    """The address that a host with this MAC gives itself in an IPv6 subnet (EUI-64)."""
    octets = [int(part, 16) for part in mac.split(":")]
    octets = [octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]]
    return text_of(int(network.network_address) + int.from_bytes(octets, "big"), version=6)
