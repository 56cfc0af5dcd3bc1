"""Requests and answers as data, and the narrow door through which they pass.

A transport knows one outside thing: a server behind TLS, a twin in memory, or another transport that it delays, counts
or breaks. It decides nothing: every status is an answer. Only what never became an answer is an error, and there the
one thing that matters is told apart: was the request certainly not carried out, or may it have been?
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

NO_HEADERS: Mapping[str, str] = {}


class Request(Struct, frozen=True):
    """One request. `what` names its kind for counters and for people: few values, no names of objects."""

    what: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = NO_HEADERS
    body: bytes = b""
    seconds: float = 30.0

    @property
    def writes(self) -> bool:
        return self.method not in {"GET", "HEAD"}


class Response(Struct, frozen=True):
    """An answer that arrived whole. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = NO_HEADERS
    body: bytes = b""


class NotSent(Exception):
    """The request did not reach the server: nothing happened there."""


class NoAnswer(Exception):
    """The request was sent and no whole answer came back: it may have happened."""


class Stream(Protocol):
    """An answer that arrives in pieces, for as long as both sides like."""

    status: int
    headers: Mapping[str, str]

    async def read(self) -> bytes:
        """The next piece, cut anywhere; nothing at the end. A broken connection raises NoAnswer."""

    async def close(self) -> None: ...


class Sender(Protocol):
    """The half of a transport that is enough where nothing arrives in pieces."""

    async def send(self, request: Request) -> Response: ...


class Transport(Sender, Protocol):
    async def open(self, request: Request) -> Stream:
        """Send a request whose answer is read piece by piece. `seconds` bounds only the wait for its head."""
