"""Which connections are forgotten, in the kernel's own words for them."""

import ipaddress

import pytest

from mooring.host import connections
from mooring.host.connections import (
    IP,
    NUMBER,
    NUMBERS,
    PROTOCOL,
    SOURCE_PORT,
    TARGET_PORT,
    V4_SOURCE,
    V4_TARGET,
    V6_SOURCE,
    V6_TARGET,
    Way,
)
from mooring.host.netlink import attribute

End = tuple[str, int]


def direction(protocol: str, source: End, target: End) -> memoryview:
    """One direction of an entry, as the kernel tells it."""
    kinds = (V6_SOURCE, V6_TARGET) if ":" in source[0] else (V4_SOURCE, V4_TARGET)
    places = [
        attribute(kind, ipaddress.ip_address(end[0]).packed) for kind, end in zip(kinds, (source, target), strict=True)
    ]
    numbers = attribute(NUMBER, bytes([NUMBERS[protocol]]))
    numbers += attribute(SOURCE_PORT, source[1].to_bytes(2, "big")) + attribute(
        TARGET_PORT, target[1].to_bytes(2, "big")
    )
    return memoryview(attribute(IP, b"".join(places)) + attribute(PROTOCOL, numbers))


@pytest.mark.parametrize(
    ("way", "goes"),
    [
        (Way("10.0.0.5", "UDP", 53, "10.1.0.7", 5353), True),
        (Way("10.0.0.6", "UDP", 53, "10.1.0.7", 5353), False),
        (Way("10.0.0.5", "TCP", 53, "10.1.0.7", 5353), False),
        (Way("10.0.0.5", "UDP", 54, "10.1.0.7", 5353), False),
        (Way("10.0.0.5", "UDP", 53, "10.1.0.8", 5353), False),
        (Way("10.0.0.5", "UDP", 53, "10.1.0.7", 5354), False),
    ],
)
def test_only_what_goes_exactly_that_way(way: Way, goes: bool) -> None:  # noqa: FBT001 - a table
    original = direction("UDP", ("192.0.2.9", 4000), ("10.0.0.5", 53))
    reply = direction("UDP", ("10.1.0.7", 5353), ("10.0.0.5", 4000))
    assert connections.going([way])(original, reply) is goes


def test_both_families() -> None:
    original = direction("UDP", ("2001:db8::9", 4000), ("fd00::5", 53))
    reply = direction("UDP", ("fd00:1::7", 5353), ("fd00::5", 4000))
    assert connections.going([Way("fd00::5", "UDP", 53, "fd00:1::7", 5353)])(original, reply)
    assert not connections.going([Way("fd00::5", "UDP", 53, "fd00:1::7", 5354)])(original, reply)
