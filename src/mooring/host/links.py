"""Whether an interface can send, from the kernel."""

import fcntl
import socket
import struct

GET_FLAGS = 0x8913
UP, RUNNING = 0x1, 0x40
REQUEST = struct.Struct("=16sH22x")


def up(interface: str) -> bool:
    """Switched on, with a cable in it. False also, if there is no such interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            answer = fcntl.ioctl(asking, GET_FLAGS, REQUEST.pack(interface.encode(), 0))
        except OSError:
            return False
    flags: int = REQUEST.unpack(answer)[1]
    return bool(flags & UP and flags & RUNNING)
