"""Addresses as text that may stand in the configuration of others: an address and nothing behind it."""

import ipaddress
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@lru_cache(maxsize=1 << 15)  # the same backends stand behind many ports
def parsed(text: str) -> Address:
    """ValueError, if it is not an address. Python also takes an IPv6 address with a zone, which may be any text."""
    if "%" in text:
        raise ValueError(f"{text!r} is not an address: nothing may stand behind it")
    return ipaddress.ip_address(text)
