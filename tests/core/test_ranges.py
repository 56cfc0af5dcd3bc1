"""Lists of addresses as people write them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.core import ranges
from mooring.core.ranges import Range


@pytest.mark.parametrize(
    ("text", "told", "count"),
    [
        ("192.0.2.10", "192.0.2.10", 1),
        ("192.0.2.10-192.0.2.40", "192.0.2.10-192.0.2.40", 31),
        (" 192.0.2.10 - 192.0.2.40 ", "192.0.2.10-192.0.2.40", 31),
        ("192.0.2.0-192.0.2.255", "192.0.2.0-192.0.2.255", 256),  # who says so means it: they may be routed
        ("192.0.2.0/24", "192.0.2.1-192.0.2.254", 254),
        ("192.0.2.8/30", "192.0.2.9-192.0.2.10", 2),
        ("192.0.2.8/31", "192.0.2.8-192.0.2.9", 2),
        ("192.0.2.8/32", "192.0.2.8", 1),
        ("2001:db8::/120", "2001:db8::1-2001:db8::ff", 255),
        ("2001:db8::/127", "2001:db8::-2001:db8::1", 2),
        ("2001:db8::5/128", "2001:db8::5", 1),
        ("2001:DB8::5", "2001:db8::5", 1),
    ],
)
def test_what_is_written_and_what_it_holds(text: str, told: str, count: int) -> None:
    found = ranges.read(text)
    assert (str(found), found.count) == (told, count)
    assert ranges.read(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "192.0.2.10-", "web", "192.0.2.300", "192.0.2.1/24", "192.0.2.0/33", "192.0.2.40-192.0.2.10"),
        *("192.0.2.1-2001:db8::1", "192.0.2.1-192.0.2.2-192.0.2.3", "192.0.2.0/30-192.0.2.8", "fe80::1%eth0"),
        *("0.0.0.1", "0.0.0.0/0", "126.0.0.0-128.0.0.0", "127.0.0.1", "169.254.169.254", "224.0.0.1"),
        *("240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "ff02::1", "::ffff:192.0.2.1", "::/0"),
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ranges.read(text)


@given(st.ip_addresses(), st.integers(0, 300))
def test_it_holds_what_it_lists_and_nothing_else(first: ipaddress.IPv4Address, more: int) -> None:
    found = Range(first.version, int(first), min(int(first) + more, (1 << first.max_prefixlen) - 1))
    listed = [*found.addresses()]
    assert len(listed) == found.count
    assert all(each in found for each in listed)
    for beside in (found.first - 1, found.last + 1):
        if 0 <= beside < 1 << first.max_prefixlen:
            assert str(type(first)(beside)) not in found


@given(st.ip_addresses(), st.ip_addresses())
def test_two_meet_where_an_address_is_of_both(one: ipaddress.IPv4Address, other: ipaddress.IPv4Address) -> None:
    first, second = (Range(each.version, int(each), int(each)) for each in (one, other))
    assert first.meets(second) is second.meets(first) is (one == other)
