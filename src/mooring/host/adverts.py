"""VRRP's adverts as they come in on an interface, so that somebody can tell who else uses our numbers.

Only those of IPv4, which ours are: the numbers of IPv6 are others. Knows nothing of whose adverts they are; those of
this host may be among them.
"""

import errno
import select
import socket
import struct
import time

from msgspec import Struct

from mooring.host.errors import HostError

PROTOCOL = 112
GROUP = "224.0.0.18"
VERSIONS = (2, 3)
ADVERTISEMENT = 1
SHORTEST = 8
SHORTEST_HEADER = 20
ADDRESS = 4
PACKET = 1 << 16


class AdvertsError(HostError):
    """Adverts cannot be listened to. The text says why."""


class Advert(Struct, frozen=True, order=True):
    source: str
    router_id: int
    priority: int
    address: str = ""
    """The first one that is advertised, if there is any."""


def parsed(packet: bytes) -> Advert | None:
    """The advert that is in a packet of IPv4, header and all; None, if there is none."""
    if len(packet) < SHORTEST_HEADER:
        return None
    length = (packet[0] & 0xF) * 4
    content = packet[length:]
    if length < SHORTEST_HEADER or len(content) < SHORTEST:
        return None
    if content[0] >> 4 not in VERSIONS or content[0] & 0xF != ADVERTISEMENT:
        return None
    return Advert(socket.inet_ntoa(packet[12:16]), content[1], content[2], _first_address(content))


def _first_address(content: bytes) -> str:
    """In both versions the fourth byte says how many there are."""
    first = content[SHORTEST : SHORTEST + ADDRESS]
    return socket.inet_ntoa(first) if content[3] and len(first) == ADDRESS else ""


def heard(interface: str, seconds: float) -> list[Advert]:
    """What comes in during so many seconds, each advert once, in order."""
    found: set[Advert] = set()
    deadline = time.monotonic() + seconds
    with _listening(interface) as listening:
        while (left := deadline - time.monotonic()) > 0:
            if select.select([listening], [], [], left)[0]:
                advert = parsed(listening.recv(PACKET))
                if advert is not None:
                    found.add(advert)
    return sorted(found)


def _listening(interface: str) -> socket.socket:
    """A socket that gets what is sent to all VRRP routers, besides what is sent to this host."""
    try:
        index = socket.if_nametoindex(interface)
        listening = socket.socket(socket.AF_INET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, PROTOCOL)
    except OSError as error:
        raise AdvertsError(_why(interface, error)) from error
    try:
        group = struct.pack("=4s4si", socket.inet_aton(GROUP), bytes(4), index)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        listening.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    except OSError as error:
        listening.close()
        raise AdvertsError(_why(interface, error)) from error
    return listening


def _why(interface: str, error: OSError) -> str:
    advice = "; it needs CAP_NET_RAW, which root has" if error.errno == errno.EPERM else ""
    return f"adverts on {interface} cannot be listened to: {error.strerror or error}{advice}"
