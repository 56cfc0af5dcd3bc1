"""Which addresses an interface has, from the kernel."""

import errno
import ipaddress
import socket
import struct

from mooring.host.netlink import Netlink, NetlinkError, attribute, attributes

ROUTE = 0
GET_ADDRESSES = 22
ADDRESS, LOCAL = 1, 2
ABOUT = struct.Struct("=BBBBI")
GET_ROUTE = 26
TARGET = 1
WAY = struct.Struct("=BBBBBBBBI")
KIND, LOCAL_KIND = 7, 2
NO_WAY = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EINVAL})
"""Nobody is there, or a route says that nobody shall be."""


def is_here(address: str) -> bool:
    """Whether this host has an address, on whichever interface. Costs the same, however many it has."""
    packed = ipaddress.ip_address(address).packed
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    netlink = Netlink(ROUTE, f"it cannot be seen whether {address} is here")
    try:
        about = WAY.pack(family, 8 * len(packed), 0, 0, 0, 0, 0, 0, 0)
        answer = netlink.asked(GET_ROUTE, about + attribute(TARGET, packed))
    except NetlinkError as error:
        if error.number in NO_WAY:
            return False
        raise
    finally:
        netlink.close()
    return answer is not None and WAY.unpack_from(answer)[KIND] == LOCAL_KIND


def held(interface: str | None = None) -> frozenset[str]:
    """All of both families that an interface has, or the host; none, if there is no such interface."""
    what = f"the addresses of {interface or 'the host'} cannot be read"
    try:
        index = socket.if_nametoindex(interface) if interface is not None else None
    except OSError:
        return frozenset()
    netlink = Netlink(ROUTE, what)
    found: set[str] = set()
    try:
        for message in netlink.listed(GET_ADDRESSES, ABOUT.pack(socket.AF_UNSPEC, 0, 0, 0, 0)):
            family, _, _, _, at = ABOUT.unpack_from(message)
            if index in {None, at} and family in {socket.AF_INET, socket.AF_INET6}:
                values = dict(attributes(message[ABOUT.size :]))
                found.add(str(ipaddress.ip_address(bytes(values.get(LOCAL) or values[ADDRESS]))))
    finally:
        netlink.close()
    return frozenset(found)
