"""Addresses as text that may stand in the configuration of others: an address and nothing behind it."""

import ipaddress
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def of_a_host(text: str) -> Address:
    """An address of one host in a network, in the one spelling that there is for it; ValueError says what is wrong."""
    try:
        found = parsed(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an address") from None
    if str(found) != text:
        raise ValueError(f"{text!r} has to be written {found}")
    if found.is_unspecified or found.is_loopback or found.is_multicast:
        raise ValueError(f"{text} is not an address of one host in a network")
    return found


@lru_cache(maxsize=1 << 15)  # the same backends stand behind many ports
def parsed(text: str) -> Address:
    """ValueError, if it is not an address. Python also takes an IPv6 address with a zone, which may be any text."""
    if "%" in text:
        raise ValueError(f"{text!r} is not an address: nothing may stand behind it")
    return ipaddress.ip_address(text)
