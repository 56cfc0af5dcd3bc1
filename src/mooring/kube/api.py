"""The verbs of the Kubernetes API, typed. One call here is one request there, and every failure is one of `errors`.

A list carries no resourceVersion, so it is consistent: it shows everything that was written before it was asked for.
Writes carry the version that the decision was made on; a Conflict means that the world has moved on.
"""

import asyncio
import functools
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from mooring.kube import errors
from mooring.kube.kinds import Kind
from mooring.model.kubernetes import Name, Patch, Resource
from mooring.wire import patient
from mooring.wire.http import NoAnswer, NotSent, Request, Response, Stream, Transport

T = TypeVar("T", bound=Resource)
Decoded = TypeVar("Decoded")

PAGE = 500
REFUSAL_SECONDS = 10.0
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)
JSON = {"content-type": "application/json"}
MERGE = {"content-type": "application/merge-patch+json"}
WATCH = (("watch", "1"), ("allowWatchBookmarks", "true"))
WATCH_LIST = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
METHODS = {"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "patch": "PATCH", "delete": "DELETE"}

FAILURES: Mapping[int, type[errors.KubeError]] = {
    HTTPStatus.UNAUTHORIZED: errors.Unauthorized,
    HTTPStatus.FORBIDDEN: errors.Forbidden,
    HTTPStatus.NOT_FOUND: errors.NotFound,
    HTTPStatus.CONFLICT: errors.Conflict,
    HTTPStatus.GONE: errors.Gone,
    HTTPStatus.TOO_MANY_REQUESTS: errors.TooManyRequests,
}


class Listing(Struct, Generic[T], frozen=True):
    """A collection as it was at one version."""

    version: str
    items: tuple[T, ...]


class WatchEvent(Struct, Generic[T], frozen=True):
    """ADDED, MODIFIED, DELETED, or a BOOKMARK whose object has nothing but a version."""

    type: str
    object: T

    @property
    def ends_initial_events(self) -> bool:
        return self.type == "BOOKMARK" and INITIAL_EVENTS_END in self.object.metadata.annotations


class About(Struct, frozen=True):
    """What a server says of itself: its version, and the time by its clock, as HTTP writes it; empty: it does not."""

    version: str
    date: str


class _Version(Struct, frozen=True, rename="camel"):
    git_version: str = ""


class _PageMeta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(Struct, Generic[T], frozen=True):
    metadata: _PageMeta
    items: tuple[T, ...] | None


class _Details(Struct, frozen=True, rename="camel"):
    retry_after_seconds: float | None = None


class _Status(Struct, frozen=True):
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None

    @property
    def retry_after(self) -> float | None:
        return self.details.retry_after_seconds if self.details else None


class _ErrorEvent(Struct, frozen=True, tag_field="type", tag="ERROR"):
    object: _Status


class Api:
    """The API server that a transport leads to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, kind: Kind[T], name: Name) -> T:
        return await self._asked(kind.type, _request("get", kind, name))

    async def about(self) -> About:
        request = Request("get version", "GET", "/version")
        response = await self._send(request)
        return About(_decoded(_Version, request, response).git_version, response.headers.get("date", ""))

    async def list(
        self,
        kind: Kind[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        known: Callable[[T], T] = lambda each: each,
    ) -> Listing[T]:
        """Every object of a kind, read in pages that belong to one version.

        `known` may give back what is held of an object already, so that no page is kept for its sake.
        """
        where = (("limit", str(PAGE)), *_selectors(labels, fields))
        request = _request("list", kind, Name(namespace, ""), query=where)
        items: list[T] = []
        while True:
            page = await self._asked(_Page[kind.type], request)  # type: ignore[name-defined]
            items += map(known, page.items or ())
            if not page.metadata.continue_:
                return Listing(page.metadata.resource_version, tuple(items))
            request = msgspec.structs.replace(request, query=(*where, ("continue", page.metadata.continue_)))

    async def create(self, kind: Kind[T], wanted: T) -> T:
        """Make an object; its struct's defaults are left to the API server."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind} | msgspec.to_builtins(wanted)
        where = Name(wanted.metadata.namespace, "")
        return await self._asked(kind.type, _request("create", kind, where, body=body))

    async def patch(self, kind: Kind[T], name: Name, change: Patch, *, version: str | None, subresource: str = "") -> T:
        """Change fields of an object, provided that it still has this version; None asks for nothing."""
        body = dict(change)
        if version is not None:
            body["metadata"] = {**change.get("metadata", {}), "resourceVersion": version}
        request = _request("patch", kind, name, subresource=subresource, headers=MERGE, body=body)
        return await self._asked(kind.type, request)

    async def delete(self, kind: Kind[T], name: Name, *, uid: str, version: str | None = None) -> None:
        """Delete this very object, not one that has its name by now."""
        preconditions = {"uid": uid} if version is None else {"uid": uid, "resourceVersion": version}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        await self._send(_request("delete", kind, name, body=body))

    async def watch(  # noqa: PLR0913 - each is a parameter of the request
        self,
        kind: Kind[T],
        *,
        version: str | None,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        seconds: int = 300,
    ) -> "Watch[T]":
        """Follow a kind from a version on; from None, the objects that there are come first (a watch-list)."""
        start = WATCH_LIST if version is None else (("resourceVersion", version),)
        length = ("timeoutSeconds", str(seconds))
        query = (*WATCH, length, *_selectors(labels, fields), *start)
        request = _request("watch", kind, Name(namespace, ""), query=query)
        try:
            stream = await self._transport.open(request)
        except (NotSent, NoAnswer) as error:
            raise errors.Unreachable(f"{_told(request)}: {error}") from error
        if stream.status != HTTPStatus.OK:
            raise _refusal(request, await _whole(stream))
        return Watch(kind, stream, _told(request))

    async def _asked(self, kind: type[Decoded], request: Request) -> Decoded:
        return _decoded(kind, request, await self._send(request))

    async def _send(self, request: Request) -> Response:
        try:
            response = await self._transport.send(request)
        except NotSent as error:
            raise errors.Unreachable(f"{_told(request)}: {error}") from error
        except NoAnswer as error:
            kind = errors.Unknown if request.writes else errors.Unreachable
            raise kind(f"{_told(request)}: {error}") from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise _refusal(request, response)
        return response


class Watch(Generic[T]):
    """An open watch. Whoever opened it closes it."""

    def __init__(self, kind: Kind[T], stream: Stream, told: str) -> None:
        self._decode = _decoder(WatchEvent[kind.type]).decode  # type: ignore[name-defined]
        self._stream = stream
        self._told = told
        self._rest = b""

    async def read(self) -> "list[WatchEvent[T]]":
        """The events that came since; none at the stream's end."""
        while True:
            try:
                piece = await self._stream.read()
            except NoAnswer as error:
                raise errors.Unreachable(f"{self._told}: {error}") from error
            if not piece:
                if self._rest:
                    raise errors.Unreachable(f"{self._told}: cut in the middle of an event")
                return []
            *lines, self._rest = (self._rest + piece).split(b"\n")
            if lines:
                return [self._event(line) for line in lines if line]

    async def close(self) -> None:
        await self._stream.close()

    def _event(self, line: bytes) -> WatchEvent[T]:
        try:
            event: WatchEvent[T] = self._decode(line)
        except UNREADABLE as error:
            raise _event_error(line, self._told) from error
        if event.type == "ERROR":
            raise _event_error(line, self._told)
        return event


def _event_error(line: bytes, told: str) -> errors.KubeError:
    """What an event that holds no object of the kind means: the server's own error, or nonsense."""
    try:
        status = _decoder(_ErrorEvent).decode(line).object
    except UNREADABLE:
        return errors.BadAnswer(f"{told}: an event cannot be read")
    kind = _failure(status.code, status.reason)
    text = f"{told}: {status.code} {status.message}"
    return errors.TooManyRequests(text, status.retry_after) if kind is errors.TooManyRequests else kind(text)


def _request(  # noqa: PLR0913 - the parts of a request, in one place
    verb: str,
    kind: Kind[Any],
    name: Name,
    *,
    subresource: str = "",
    query: tuple[tuple[str, str], ...] = (),
    headers: Mapping[str, str] = JSON,
    body: Any = None,  # noqa: ANN401 - whatever can be JSON
) -> Request:
    what = f"{verb} {kind.plural}/{subresource}" if subresource else f"{verb} {kind.plural}"
    path = kind.path(name.namespace, name.name, subresource)
    return Request(what, METHODS[verb], path, query, headers, b"" if body is None else msgspec.json.encode(body))


def _selectors(labels: str, fields: str) -> tuple[tuple[str, str], ...]:
    pairs = (("labelSelector", labels), ("fieldSelector", fields))
    return tuple(pair for pair in pairs if pair[1])


@functools.cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a type; the checker finds generic ones unhashable
    return msgspec.json.Decoder(kind)


def _decoded(kind: type[Decoded], request: Request, response: Response) -> Decoded:
    try:
        answer: Decoded = _decoder(kind).decode(response.body)  # type: ignore[arg-type]
    except UNREADABLE as error:
        told = f"{_told(request)}: the answer cannot be read: {error}"
        raise (errors.Unknown if request.writes else errors.BadAnswer)(told) from error
    return answer


def _refusal(request: Request, response: Response) -> errors.KubeError:
    """The error that an answer stands for. Not every server on the way speaks JSON."""
    try:
        status = _decoder(_Status).decode(response.body)
    except UNREADABLE:
        status = _Status(message=response.body[:200].decode(errors="replace"))
    told = f"{_told(request)}: {response.status} {status.message}"
    kind = _failure(response.status, status.reason)
    if kind is errors.TooManyRequests:
        asked = patient.retry_after(response)
        return errors.TooManyRequests(told, status.retry_after if asked is None else asked)
    return kind(told)


def _failure(code: int, reason: str) -> type[errors.KubeError]:
    if code == HTTPStatus.CONFLICT and reason == "AlreadyExists":
        return errors.AlreadyExists
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.ServerFault
    return FAILURES.get(code, errors.Invalid)


def _told(request: Request) -> str:
    return f"{request.what} ({request.path})"


async def _whole(stream: Stream) -> Response:
    """What a refused stream says, as far as it says it soon."""
    pieces = []
    try:
        async with asyncio.timeout(REFUSAL_SECONDS):
            while piece := await stream.read():
                pieces.append(piece)
    except (NoAnswer, TimeoutError):
        pass
    finally:
        await stream.close()
    return Response(stream.status, stream.headers, b"".join(pieces))
