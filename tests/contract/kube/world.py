"""What a case of the Kubernetes contract is given: an API, a namespace of its own, and short ways to speak to them.

A case does not know whether the API is a server or its twin.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from mooring.kube.api import Api
from mooring.wire.http import Request, Response, Stream, Transport

GROUP = "contract.mooring.test"
MERGE = "application/merge-patch+json"
LIST_PATCH = "application/json-patch+json"
JSON = "application/json"
SECONDS = 10.0
"""How long a case waits for what must come."""

Tree = dict[str, Any]
Case = Callable[["World"], Awaitable[None]]
Rights = frozenset[tuple[str, str]]


class Answer(Struct, frozen=True):
    """An answer as a case sees it."""

    status: int
    body: Any

    @property
    def reason(self) -> str:
        reason: str = self.body.get("reason", "")
        return reason

    @property
    def fields(self) -> set[str]:
        """The fields that a refusal blames."""
        return {cause.get("field", "") for cause in self.body.get("details", {}).get("causes", ())}

    @property
    def meta(self) -> Tree:
        meta: Tree = self.body["metadata"]
        return meta

    @property
    def version(self) -> str:
        version: str = self.meta["resourceVersion"]
        return version

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


class Host(Protocol):
    """What stands behind a world: the real thing or the twin."""

    transport: Transport

    async def compact(self) -> None:
        """Make the API forget its first versions, if it has not done so by itself."""

    async def as_user(self, rights: Rights) -> Transport:
        """A way to the API for somebody who may do only this."""


class World:
    """An API with a fresh namespace."""

    def __init__(self, host: Host, namespace: str) -> None:
        self.host = host
        self.transport = host.transport
        self.api = Api(host.transport)
        self.namespace = namespace
        self.services = f"/api/v1/namespaces/{namespace}/services"
        self.leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self.events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self.slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        self.policies = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"
        self.ports = f"/apis/{GROUP}/v1/contractports"
        self._watchers: list[Watcher] = []
        self.plains = f"/apis/{GROUP}/v1/namespaces/{namespace}/contractplains"

    def unique(self, name: str) -> str:
        """A name for a cluster-scoped object that nobody else uses."""
        return f"{self.namespace}-{name}"

    async def call(self, method: str, path: str, body: Any = None, *, content: str = JSON) -> Answer:  # noqa: ANN401
        """One request; what follows a question mark is its query."""
        return _answer(await self.transport.send(request(method, path, body, content=content)))

    async def get(self, path: str) -> Answer:
        return await self.call("GET", path)

    async def post(self, path: str, body: Any) -> Answer:  # noqa: ANN401 - whatever can be JSON, or bytes
        return await self.call("POST", path, body)

    async def made(self, path: str, body: Tree) -> Answer:
        """What was created, which must succeed."""
        answer = await self.post(path, body)
        assert answer.status == 201, answer.body
        return answer

    async def patch(self, path: str, change: Any, *, content: str = MERGE) -> Answer:  # noqa: ANN401 - as above
        return await self.call("PATCH", path, change, content=content)

    async def put(self, path: str, body: Tree) -> Answer:
        return await self.call("PUT", path, body)

    async def delete(self, path: str, **options: Any) -> Answer:  # noqa: ANN401 - fields of DeleteOptions
        return await self.call("DELETE", path, options or None)

    async def watch(self, path: str) -> "Watcher":
        query = "&watch=1" if "?" in path else "?watch=1"
        watcher = Watcher(await self.transport.open(request("GET", path + query, None)))
        self._watchers.append(watcher)
        return watcher

    async def close(self) -> None:
        """End the watches that a case left open, perhaps because it failed."""
        for watcher in self._watchers:
            await watcher.close()

    async def version_of(self, path: str) -> str:
        """The version of a collection now."""
        return (await self.get(path)).version


class Watcher:
    """The events of a watch, as they come."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._rest = b""
        self._events: list[Tree] = []
        self._ended = False

    async def next(self) -> Tree:
        """The next event that is no bookmark on the way."""
        while True:
            event = await self._any()
            if event["type"] != "BOOKMARK" or "annotations" in event["object"]["metadata"]:
                return event

    async def several(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def rest(self) -> list[Tree]:
        """What comes until the watch ends by itself."""
        async with asyncio.timeout(SECONDS):
            while not self._ended:
                await self._more()
        return self._events

    async def is_silent(self) -> bool:
        """Does nothing come for a moment?"""
        try:
            async with asyncio.timeout(0.5):
                await self._more()
        except TimeoutError:
            return not self._events
        return False

    async def close(self) -> None:
        await self.stream.close()

    async def _any(self) -> Tree:
        async with asyncio.timeout(SECONDS):
            while not self._events:
                assert not self._ended, "the watch ended"
                await self._more()
        return self._events.pop(0)

    async def _more(self) -> None:
        piece = await self.stream.read()
        self._ended = not piece
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in filter(None, lines):
            event = msgspec.json.decode(line)
            self._events.append(event | {"object": _told(event["object"])})


def request(method: str, path: str, body: Any, *, content: str = JSON) -> Request:  # noqa: ANN401 - as above
    place, _, query = path.partition("?")
    sent = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
    pairs = tuple(parse_qsl(query, keep_blank_values=True))
    return Request(f"contract {method}", method, place, pairs, {"content-type": content}, sent)


def _answer(response: Response) -> Answer:
    try:
        return Answer(response.status, _told(msgspec.json.decode(response.body)))
    except msgspec.DecodeError:
        return Answer(response.status, {"text": response.body})


def _told(tree: Tree) -> Tree:
    """An object without the record of who wrote which field: that is no part of the contract."""
    tree.get("metadata", {}).pop("managedFields", None)
    return tree


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so, which a cluster's controllers see to in their own time."""
    async with asyncio.timeout(3 * SECONDS):
        while not await look():  # noqa: ASYNC110 - nobody tells us when
            await asyncio.sleep(0.2)


def without(tree: Mapping[str, Any], *names: str) -> Tree:
    return {key: value for key, value in tree.items() if key not in names}
