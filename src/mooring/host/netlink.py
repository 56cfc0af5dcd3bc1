"""The kernel's netlink, as much of it as we need: ask for a list or for one thing, delete one. No process, no library.

A list of 500 addresses takes a millisecond this way; it is asked for once a second.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator

from mooring.host.errors import HostError

HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")
TYPE_MASK = 0x3FFF  # the two highest bits are flags: nested, network byte order

REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
ERROR, DONE = 0x2, 0x3
BUFFER = 1 << 18
SEND_BUFFER_FORCE = 32
SECONDS = 3.0

Message = tuple[int, memoryview]


class NetlinkError(HostError):
    """The kernel refused a question or did not answer it. `number` is its errno."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what}: {os.strerror(number)}")
        self.number = number


class Netlink:
    """A socket of one netlink family, for one thread at a time."""

    def __init__(self, family: int, what: str) -> None:
        self._what = what
        self._number = 0
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
        except OSError as error:
            raise NetlinkError(what, error.errno or 0) from error
        self._socket.settimeout(SECONDS)

    def close(self) -> None:
        self._socket.close()

    def listed(self, kind: int, body: bytes) -> Iterator[memoryview]:
        """The bodies of all messages of an answer."""
        self._send(kind, REQUEST | DUMP, body)
        while True:
            for answer, content in self._received():
                if answer == DONE:
                    return
                if answer == ERROR:
                    self._raise(content)
                else:
                    yield content

    def asked(self, kind: int, body: bytes) -> memoryview | None:
        """The one message of an answer; None, if what was asked for is not there."""
        self._send(kind, REQUEST, body)
        for answer, content in self._received():
            if answer != ERROR:
                return content
            try:
                self._raise(content)
            except NetlinkError as error:
                if error.number == errno.ENOENT:
                    return None
                raise
        return None

    def do(self, kind: int, body: bytes) -> None:
        """Have something done; returns when it is."""
        self._send(kind, REQUEST | ACK, body)
        for answer, content in self._received():
            if answer == ERROR:
                self._raise(content)

    def reserved(self, numbers: int) -> int:
        """The first of so many numbers for messages that are sent together."""
        first = self._number + 1
        self._number += numbers
        return first

    def transaction(self, batch: bytes, *, first: int, last: int) -> None:
        """Send messages with numbers of their own, of which the last one is answered; the first that failed is told."""
        self._socket.setsockopt(socket.SOL_SOCKET, SEND_BUFFER_FORCE, max(BUFFER, 2 * len(batch)))
        try:
            self._socket.send(batch)
        except OSError as error:
            raise NetlinkError(self._what, error.errno or 0) from error
        failed = 0
        while True:
            for number, content in self._answers():
                (code,) = struct.unpack_from("=i", content)
                failed = failed or (code if first <= number <= last else 0)
                if number in {first, last}:
                    if failed:
                        raise NetlinkError(self._what, -failed)
                    return

    def _answers(self) -> Iterator[Message]:
        """Numbers and contents of answers to messages that were sent together."""
        return ((number, content) for kind, number, content in self._messages() if kind == ERROR)

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._number += 1
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, flags, self._number, 0) + body)

    def _received(self) -> Iterator[Message]:
        """Kinds and contents of what answers the last question."""
        return ((kind, content) for kind, number, content in self._messages() if number == self._number)

    def _messages(self) -> Iterator[tuple[int, int, memoryview]]:
        """Kinds, numbers and contents of what has come in."""
        try:
            data = memoryview(self._socket.recv(BUFFER))
        except OSError as error:
            raise NetlinkError(self._what, error.errno or 0) from error
        while len(data) >= HEADER.size:
            length, kind, _, number, _ = HEADER.unpack_from(data)
            yield kind, number, data[HEADER.size : length]
            data = data[_aligned(length) :]

    def _raise(self, content: memoryview) -> None:
        (code,) = struct.unpack_from("=i", content)
        if code:
            raise NetlinkError(self._what, -code)


def attributes(data: memoryview) -> Iterator[Message]:
    """What follows a message's own header: kinds and values."""
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        if length < ATTRIBUTE.size:
            return
        yield kind & TYPE_MASK, data[ATTRIBUTE.size : length]
        data = data[_aligned(length) :]


def attribute(kind: int, value: bytes | memoryview) -> bytes:
    length = ATTRIBUTE.size + len(value)
    return ATTRIBUTE.pack(length, kind) + bytes(value) + bytes(_aligned(length) - length)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
