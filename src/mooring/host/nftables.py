"""The kernel's packet filter through libnftables, in this process: no program is started for a change.

A text is one transaction: all of it is in force, or nothing. Knows nothing of what the text says.
"""

import ctypes
import socket
import struct

from mooring.host.errors import HostError
from mooring.host.netlink import Netlink, attribute, attributes

NETFILTER = 12
GET_TABLE = 0xA01
NAME, HANDLE = 1, 4
FAMILIES = (socket.AF_INET, socket.AF_INET6)

LIBRARY = "libnftables.so.1"


class NftError(HostError):
    """The kernel or the library refused a text; nothing of it is in force. The text says why."""


class NftMissing(NftError):
    """There is no libnftables: on Debian, install the package libnftables1."""


class Nftables:
    """A context of the library. For one thread at a time; opened with the first text."""

    def __init__(self, library: str = LIBRARY) -> None:
        self._name = library
        self._library: ctypes.CDLL | None = None
        self._context: ctypes.c_void_p | None = None

    def run(self, text: str) -> str:
        """Carry out a text and give back what it lists."""
        library, context = self._opened()
        failed = library.nft_run_cmd_from_buffer(context, text.encode())
        output = _text(library.nft_ctx_get_output_buffer(context))
        error = _text(library.nft_ctx_get_error_buffer(context))
        if failed:
            raise NftError(error.strip() or "nftables refused the rules and does not say why")
        return output

    def handles(self, table: str) -> tuple[int, ...]:
        """The kernel's numbers of the tables of that name, for IPv4 and IPv6; 0: there is none.

        A table that was removed and made again has another number. To ask for it costs nothing, however full it is.
        """
        netlink = Netlink(NETFILTER, "the kernel does not say which tables it has")
        try:
            return tuple(_handle(netlink, family, table) for family in FAMILIES)
        finally:
            netlink.close()

    def close(self) -> None:
        if self._library is not None and self._context is not None:
            self._library.nft_ctx_free(self._context)
        self._library = self._context = None

    def _opened(self) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
        if self._library is None or self._context is None:
            self._library = _load(self._name)
            self._context = ctypes.c_void_p(self._library.nft_ctx_new(0))
            self._library.nft_ctx_buffer_output(self._context)
            self._library.nft_ctx_buffer_error(self._context)
        return self._library, self._context


def _load(name: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise NftMissing(f"{name} cannot be loaded ({error}); on Debian, install the package libnftables1") from error
    library.nft_ctx_new.restype = ctypes.c_void_p
    for buffer in (library.nft_ctx_get_output_buffer, library.nft_ctx_get_error_buffer):
        buffer.restype = ctypes.c_char_p
        buffer.argtypes = [ctypes.c_void_p]
    library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    for function in (library.nft_ctx_free, library.nft_ctx_buffer_output, library.nft_ctx_buffer_error):
        function.argtypes = [ctypes.c_void_p]
    return library


def _handle(netlink: Netlink, family: int, table: str) -> int:
    about = struct.pack("=BBH", family, 0, 0)
    answer = netlink.asked(GET_TABLE, about + attribute(NAME, table.encode() + b"\0"))
    return 0 if answer is None else int.from_bytes(dict(attributes(answer[len(about) :]))[HANDLE], "big")


def _text(buffer: bytes | None) -> str:
    return (buffer or b"").decode(errors="replace")
