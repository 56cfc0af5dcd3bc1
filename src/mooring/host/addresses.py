"""Which addresses an interface has, from the kernel."""

import ipaddress
import socket
import struct

from mooring.host.netlink import Netlink, attributes

ROUTE = 0
GET_ADDRESSES = 22
ADDRESS, LOCAL = 1, 2
ABOUT = struct.Struct("=BBBBI")


def held(interface: str) -> frozenset[str]:
    """All of both families; none, if there is no such interface."""
    what = f"the addresses of {interface} cannot be read"
    try:
        index = socket.if_nametoindex(interface)
    except OSError:
        return frozenset()
    netlink = Netlink(ROUTE, what)
    found: set[str] = set()
    try:
        for message in netlink.listed(GET_ADDRESSES, ABOUT.pack(socket.AF_UNSPEC, 0, 0, 0, 0)):
            family, _, _, _, at = ABOUT.unpack_from(message)
            if at == index and family in {socket.AF_INET, socket.AF_INET6}:
                values = dict(attributes(message[ABOUT.size :]))
                found.add(str(ipaddress.ip_address(bytes(values.get(LOCAL) or values[ADDRESS]))))
    finally:
        netlink.close()
    return frozenset(found)
