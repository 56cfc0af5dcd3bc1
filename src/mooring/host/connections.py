"""The connections that the kernel keeps track of: forgetting those that lead where nothing leads any more."""

import errno
import ipaddress
import socket
import struct
from collections.abc import Callable, Collection

from msgspec import Struct

from mooring.host.netlink import Netlink, NetlinkError, attribute, attributes

NETFILTER = 12
GET, DELETE = 0x101, 0x102
ABOUT = struct.pack("=BBH", socket.AF_UNSPEC, 0, 0)

TUPLE_ORIGINAL, TUPLE_REPLY, ZONE = 1, 2, 18
IP, PROTOCOL = 1, 2
V4_SOURCE, V4_TARGET, V6_SOURCE, V6_TARGET = 1, 2, 3, 4
NUMBER, SOURCE_PORT, TARGET_PORT = 1, 2, 3
NESTED = 0x8000

NUMBERS = {"TCP": 6, "UDP": 17, "SCTP": 132}


class Way(Struct, frozen=True):
    """Where the client sent to, and who answers it."""

    address: str
    protocol: str
    port: int
    backend: str
    backend_port: int


class Connections:
    """The kernel's table. Each call reads all of it: a second for a hundred thousand entries."""

    def forget_addresses(self, addresses: Collection[str]) -> int:
        """Forget what clients sent to any of these addresses; returns how many entries are gone."""
        targets = {ipaddress.ip_address(each).packed for each in addresses}
        return _forget(lambda original, _: _end(original, V4_TARGET, V6_TARGET, TARGET_PORT)[0] in targets)

    def forget_ways(self, ways: Collection[Way]) -> int:
        """Forget what goes one of these ways."""
        return _forget(going(ways))

    def forget_strays(self, addresses: Collection[str], protocols: Collection[str], ways: Collection[Way]) -> int:
        """Forget what clients sent to these addresses by these protocols, and goes none of these ways."""
        targets = {ipaddress.ip_address(each).packed for each in addresses}
        numbers = {NUMBERS[each] for each in protocols}
        known = going(ways)

        def strays(original: memoryview, reply: memoryview) -> bool:
            target, number, _ = _end(original, V4_TARGET, V6_TARGET, TARGET_PORT)
            return target in targets and number in numbers and not known(original, reply)

        return _forget(strays)


def going(ways: Collection[Way]) -> Callable[[memoryview, memoryview], bool]:
    """Tells of the two directions of an entry, in the kernel's words, whether it goes one of these ways."""
    wanted = {_packed(each) for each in ways}

    def goes(original: memoryview, reply: memoryview) -> bool:
        target, number, port = _end(original, V4_TARGET, V6_TARGET, TARGET_PORT)
        backend, _, backend_port = _end(reply, V4_SOURCE, V6_SOURCE, SOURCE_PORT)
        return (target, number, port, backend, backend_port) in wanted

    return goes


def _forget(unwanted: Callable[[memoryview, memoryview], bool]) -> int:
    netlink = Netlink(NETFILTER, "connections cannot be forgotten")
    try:
        found = [bytes(entry) for entry in netlink.listed(GET, ABOUT) if _matches(entry, unwanted)]
        return sum(_delete(netlink, memoryview(entry)) for entry in found)
    finally:
        netlink.close()


def _matches(entry: memoryview, unwanted: Callable[[memoryview, memoryview], bool]) -> bool:
    values = dict(attributes(entry[len(ABOUT) :]))
    return unwanted(values[TUPLE_ORIGINAL], values[TUPLE_REPLY])


def _delete(netlink: Netlink, entry: memoryview) -> bool:
    """The entry is named by the kernel's own words for it. It may have ended meanwhile."""
    values = dict(attributes(entry[len(ABOUT) :]))
    named = attribute(TUPLE_ORIGINAL | NESTED, values[TUPLE_ORIGINAL])
    if ZONE in values:
        named += attribute(ZONE, values[ZONE])
    try:
        netlink.do(DELETE, bytes(entry[:1]) + ABOUT[1:] + named)
    except NetlinkError as error:
        if error.number == errno.ENOENT:
            return False
        raise
    return True


def _end(half: memoryview, four: int, six: int, port: int) -> tuple[bytes, int, int]:
    """One end of one direction: address, number of the protocol, port."""
    parts = dict(attributes(half))
    places, protocol = dict(attributes(parts[IP])), dict(attributes(parts[PROTOCOL]))
    address = places.get(four) or places.get(six) or b""
    return bytes(address), protocol[NUMBER][0], int.from_bytes(protocol.get(port) or b"", "big")


def _packed(way: Way) -> tuple[bytes, int, int, bytes, int]:
    address, backend = (ipaddress.ip_address(each).packed for each in (way.address, way.backend))
    return address, NUMBERS[way.protocol], way.port, backend, way.backend_port
