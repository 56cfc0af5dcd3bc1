"""The connections that the kernel keeps track of: forgetting those that lead where nothing leads any more."""

import errno
import ipaddress
import socket
import struct
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from msgspec import Struct

from mooring.host.netlink import Netlink, NetlinkError, attribute, attributes

NETFILTER = 12
COUNT = Path("/proc/sys/net/netfilter/nf_conntrack_count")
LIMIT = Path("/proc/sys/net/netfilter/nf_conntrack_max")
GET, DELETE = 0x101, 0x102
ABOUT = struct.pack("=BBH", socket.AF_UNSPEC, 0, 0)

TUPLE_ORIGINAL, TUPLE_REPLY, ZONE, FILTER = 1, 2, 18, 25
BY_TARGET, BY_NUMBER, BY_TARGET_PORT = 1 << 1, 1 << 3, 1 << 5
IP, PROTOCOL = 1, 2
V4_SOURCE, V4_TARGET, V6_SOURCE, V6_TARGET = 1, 2, 3, 4
NUMBER, SOURCE_PORT, TARGET_PORT = 1, 2, 3
NESTED = 0x8000

Unwanted = Callable[[memoryview, memoryview], bool]
"""Of the two directions of an entry, in the kernel's words."""
NUMBERS = {"TCP": 6, "UDP": 17, "SCTP": 132}


class Way(Struct, frozen=True):
    """Where the client sent to, and who answers it."""

    address: str
    protocol: str
    port: int
    backend: str
    backend_port: int


FEW = 16
"""Of more things than that, each is not asked for by itself: all entries are looked at, a second for 60,000 of them."""


class Connections:
    """The kernel's table."""

    def count(self) -> int:
        """How many entries it has; 0, where the kernel does not follow connections."""
        return _number(COUNT)

    def limit(self) -> int:
        """How many it can have; 0, as above."""
        return _number(LIMIT)

    def forget_addresses(self, addresses: Collection[str]) -> int:
        """Forget what clients sent to any of these addresses; returns how many entries are gone."""
        targets = {ipaddress.ip_address(each).packed for each in addresses}

        def sent_there(original: memoryview, _: memoryview) -> bool:
            return _end(original, V4_TARGET, V6_TARGET, TARGET_PORT)[0] in targets

        return _forget(sent_there, _questions((each,) for each in addresses))

    def forget_ways(self, ways: Collection[Way]) -> int:
        """Forget what goes one of these ways."""
        return _forget(going(ways), _questions({(each.address, each.protocol, each.port) for each in ways}))

    def forget_strays(self, addresses: Collection[str], protocols: Collection[str], ways: Collection[Way]) -> int:
        """Forget what clients sent to these addresses by these protocols, and goes none of these ways."""
        targets = {ipaddress.ip_address(each).packed for each in addresses}
        numbers = {NUMBERS[each] for each in protocols}
        known = going(ways)

        def strays(original: memoryview, reply: memoryview) -> bool:
            target, number, _ = _end(original, V4_TARGET, V6_TARGET, TARGET_PORT)
            return target in targets and number in numbers and not known(original, reply)

        return _forget(strays, _questions((each,) for each in addresses))


def going(ways: Collection[Way]) -> Unwanted:
    """Tells of the two directions of an entry, in the kernel's words, whether it goes one of these ways."""
    wanted = {_packed(each) for each in ways}

    def goes(original: memoryview, reply: memoryview) -> bool:
        target, number, port = _end(original, V4_TARGET, V6_TARGET, TARGET_PORT)
        backend, _, backend_port = _end(reply, V4_SOURCE, V6_SOURCE, SOURCE_PORT)
        return (target, number, port, backend, backend_port) in wanted

    return goes


def _questions(wanted: Iterable[tuple[str] | tuple[str, str, int]]) -> tuple[bytes, ...]:
    """How the kernel is asked for the entries of some addresses, or addresses with protocol and port."""
    kept = tuple(wanted)
    return tuple(_question(*each) for each in kept) if len(kept) <= FEW else (ABOUT,)


def _question(address: str, protocol: str = "", port: int = 0) -> bytes:
    """The kernel looks for what clients sent there; nobody has to read the rest.

    Addresses of IPv6 it compares the wrong way round (seen in 6.18), so it is asked by protocol and port alone there.
    """
    four = ":" not in address
    about = struct.pack("=BBH", socket.AF_INET if four else socket.AF_INET6, 0, 0)
    original, flags = b"", 0
    if four:
        packed = ipaddress.ip_address(address).packed
        original, flags = attribute(IP | NESTED, attribute(V4_TARGET, packed)), BY_TARGET
    if protocol:
        number = attribute(NUMBER, bytes([NUMBERS[protocol]]))
        original += attribute(PROTOCOL | NESTED, number + attribute(TARGET_PORT, struct.pack(">H", port)))
        flags |= BY_NUMBER | BY_TARGET_PORT
    if not flags:
        return about
    wanted = attribute(1, struct.pack("=I", flags)) + attribute(2, struct.pack("=I", 0))
    return about + attribute(TUPLE_ORIGINAL | NESTED, original) + attribute(FILTER | NESTED, wanted)


def _forget(unwanted: Unwanted, questions: Iterable[bytes]) -> int:
    netlink = Netlink(NETFILTER, "connections cannot be forgotten")
    try:
        found = [
            bytes(entry)
            for question in questions
            for entry in netlink.listed(GET, question)
            if _matches(entry, unwanted)
        ]
        return sum(_delete(netlink, memoryview(entry)) for entry in found)
    finally:
        netlink.close()


def _matches(entry: memoryview, unwanted: Unwanted) -> bool:
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


def _number(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0
