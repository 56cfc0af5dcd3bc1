"""The kernel's packet filter, in this process: no program is started for a change.

Rules are text for libnftables; elements of maps and sets are told to the kernel in its own words. Either is one
transaction: all of it is in force, or nothing. Knows nothing of what rules and elements mean.
"""

import ctypes
import errno
import hashlib
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from mooring.host import nft_messages as messages
from mooring.host.errors import HostError
from mooring.host.netlink import ATTRIBUTE, TYPE_MASK, Netlink, NetlinkError, attribute, attributes
from mooring.model.rules import Element, Recalled, Transaction

NETFILTER = 12
AT_ONCE = 20_000
"""Elements in one transaction of many that need not be one."""

AT_ONE_TIME, MOST_FAILED = 500, 24
"""Of elements that packets may be quicker to put there: in one transaction, and how many of those may fail."""

LIBRARY = "libnftables.so.1"


class NftError(HostError):
    """The kernel or the library refused a text; nothing of it is in force. The text says why."""


class NftGone(NftError):
    """What was to be changed is not there."""


class NftMissing(NftError):
    """There is no libnftables: on Debian, install the package libnftables1."""


class Nftables:
    """A context of the library. For one thread at a time; opened with the first text."""

    def __init__(self, library: str = LIBRARY) -> None:
        self._name = library
        self._library: ctypes.CDLL | None = None
        self._context: ctypes.c_void_p | None = None
        self._netlink: Netlink | None = None

    def run(self, text: str) -> str:
        """Carry out a text and give back what it lists."""
        library, context = self._opened()
        failed = library.nft_run_cmd_from_buffer(context, text.encode())
        output = _text(library.nft_ctx_get_output_buffer(context))
        error = _text(library.nft_ctx_get_error_buffer(context))
        if failed:
            raise NftError(error.strip() or "nftables refused the rules and does not say why")
        return output

    def change(self, table: str, change: Transaction, chains: dict[int, str]) -> None:
        """Change elements of a table, in one transaction. `chains`: those to make first, by how long they remember."""
        told = [
            message
            for family in messages.FAMILIES
            for seconds, chain in sorted(chains.items())
            for message in messages.memory(family, table, chain, seconds)
        ]
        told += [*messages.removed(table, change.removed), *messages.added(table, change.added)]
        if told:
            self._carried_out(told, f"the rules of {table} cannot be changed")

    def fill(self, table: str, elements: Iterable[Element]) -> None:
        """Add many elements, in as many transactions as it takes."""
        rest = iter(elements)
        while some := tuple(islice(rest, AT_ONCE)):
            self._carried_out(list(messages.added(table, some)), f"{table} cannot be filled")

    def switch(self, on: str, off: str) -> None:
        """Wake one table up and remove another, if it is there, in one step."""
        there = self.tables()
        if any((family, on) not in there for family in messages.FAMILIES):  # the kernel would make an empty one
            raise NftGone(f"{on} cannot take the place of {off}: it is gone")
        told = [messages.awake(family, on) for family in messages.FAMILIES]
        told += [messages.deleted(family, off) for family in messages.FAMILIES if (family, off) in there]
        self._carried_out(told, f"{on} cannot take the place of {off}")

    def tables(self) -> dict[tuple[str, str], bool]:
        """Families and names of all tables, and whether each is in force."""
        with self._asking("the kernel does not say which tables it has") as netlink:
            found = {}
            for family in messages.FAMILIES:
                for message in netlink.listed(messages.GET_TABLE, messages.about(family)):
                    values = dict(attributes(message[messages.ABOUT :]))
                    name = bytes(values[messages.TABLE_NAME]).rstrip(b"\0").decode()
                    flags = int.from_bytes(values[messages.TABLE_FLAGS], "big")
                    found[family, name] = not flags & messages.DORMANT
            return found

    def elements(self, family: str, table: str, name: str) -> Iterator[Element]:
        """What a map or set holds now."""
        with self._asking(f"the kernel does not list {name} of {table}") as netlink:
            for message in netlink.listed(messages.GET_ELEMENTS, messages.within(family, table, name)):
                for item in messages.items(message):
                    yield messages.parsed(family, name, item)

    def copy(self, family: str, old: str, new: str, name: str, wanted: Callable[[Element], bool]) -> list[Element]:
        """Let a map or set of one table have elements of another's, with what they count and how long they last.

        Returns which.
        """
        found, items = [], []
        with self._asking(f"the kernel does not list {name} of {old}") as netlink:
            for message in netlink.listed(messages.GET_ELEMENTS, messages.within(family, old, name)):
                for item in messages.items(message):
                    element = messages.parsed(family, name, item)
                    if wanted(element):
                        found.append(element)
                        items.append(messages.nested(messages.LIST_ITEM, _lasting(item)))
        told = list(messages.lists(messages.NEW_ELEMENTS, messages.CREATE, messages.within(family, new, name), items))
        if items:
            self._carried_out(told, f"{name} of {new} cannot be filled")
        return found

    def forget(self, family: str, table: str, name: str, unwanted: Callable[[Element], bool]) -> int:
        """Remove what packets put there, one by one: it may have gone by itself meanwhile. Returns how many."""
        gone = 0
        for each in [each for each in self.elements(family, table, name) if unwanted(each)]:
            try:
                self._carried_out(list(messages.removed(table, [each])), f"{name} of {table} cannot be changed")
                gone += 1
            except NftGone:
                continue
        return gone

    def remember(self, table: str, recalled: Sequence[Recalled]) -> int:
        """Put elements where packets put theirs, for a time. Returns in how many transactions.

        What packets put there meanwhile stays, and what there is no room for is left out: where something is refused it
        is tried with half as many, until too much was.
        """
        rest = [recalled[at : at + AT_ONE_TIME] for at in range(0, len(recalled), AT_ONE_TIME)][::-1]
        done = failed = 0
        while rest and failed < MOST_FAILED:
            part = rest.pop()
            replaced = (each.element for each in part if each.there)
            told = [*messages.removed(table, replaced), *messages.lasting(table, part)]
            try:
                self._carried_out(told, f"{table} cannot remember clients")
                done += 1
            except NftError:
                failed += 1
                middle = len(part) // 2
                rest += [part[middle:], part[:middle]] if middle else []
        return done

    def remembered(self, family: str, table: str, name: str) -> Iterator[tuple[Element, float]]:
        """What packets put into a map, and for how many seconds longer it is there."""
        with self._asking(f"the kernel does not list {name} of {table}") as netlink:
            for message in netlink.listed(messages.GET_ELEMENTS, messages.within(family, table, name)):
                for item in messages.items(message):
                    yield messages.parsed(family, name, item), messages.seconds_left(item)

    def counted(self, family: str, table: str, name: str) -> Iterator[tuple[Element, int, int]]:
        """Packets and bytes of each element of a map or set whose elements count."""
        with self._asking(f"the kernel does not list {name} of {table}") as netlink:
            for message in netlink.listed(messages.GET_ELEMENTS, messages.within(family, table, name)):
                for item in messages.items(message):
                    yield messages.parsed(family, name, item), *messages.count(item)

    def fingerprint(self, table: str) -> str:
        """Of the rules of a table in both families, as they are now: of who added, removed or changed one, another."""
        found = hashlib.sha256()
        with self._asking(f"the kernel does not list the rules of {table}") as netlink:
            for family in messages.FAMILIES:
                about = messages.about(family) + messages.text(messages.RULE_TABLE, table)
                for message in netlink.listed(messages.GET_RULE, about):
                    found.update(message[messages.ABOUT :])  # before that stands a number of the transaction
        return found.hexdigest()

    def generation(self) -> int:
        """A number that grows with every transaction of anybody. To ask for it costs nothing."""
        with self._asking("the kernel does not say whether rules have changed") as netlink:
            answer = netlink.asked(messages.GET_GENERATION, struct.pack("=BBH", socket.AF_UNSPEC, 0, 0))
        if answer is None:
            raise NftError("the kernel does not say whether rules have changed")
        return int.from_bytes(dict(attributes(answer[messages.ABOUT :]))[1], "big")

    def close(self) -> None:
        if self._library is not None and self._context is not None:
            self._library.nft_ctx_free(self._context)
        self._library = self._context = None
        self._hang_up()

    def _hang_up(self) -> None:
        if self._netlink is not None:
            self._netlink.close()
        self._netlink = None

    @contextmanager
    def _asking(self, what: str) -> Iterator[Netlink]:
        """One socket for all: when one is closed, the kernel waits until everybody has seen the last change."""
        try:
            if self._netlink is None:
                self._netlink = Netlink(NETFILTER, "the kernel's packet filter")
            yield self._netlink
        except NetlinkError as error:
            self._hang_up()
            raise (NftGone if error.number == errno.ENOENT else NftError)(f"{what}: {error}") from error

    def _carried_out(self, told: list[messages.Message], what: str) -> None:
        with self._asking(what) as netlink:
            first = netlink.reserved(len(told) + 2)
            netlink.transaction(messages.batch(told, first), first=first, last=first + len(told))

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


def _lasting(item: memoryview) -> bytes:
    """An element that the kernel takes back. One that was remembered again for longer lasts longer than it may."""
    parts = dict(attributes(item))
    left, whole = parts.get(messages.EXPIRATION), parts.get(messages.TIMEOUT)
    if left is None or whole is None or bytes(left) <= bytes(whole):
        return bytes(item)
    found, rest = b"", item
    while len(rest) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(rest)
        value = left if kind & TYPE_MASK == messages.TIMEOUT else rest[ATTRIBUTE.size : length]
        found += attribute(kind, value)
        rest = rest[(length + 3) & ~3 :]
    return found


def _text(buffer: bytes | None) -> str:
    return (buffer or b"").decode(errors="replace")
