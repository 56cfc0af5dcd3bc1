"""The verbs of Neutron's API, typed. One call here is one request there, and every failure is one of `errors`.

Only a list may take several requests, one for each page.

Writes carry the revision that the decision was made on; a RevisionMismatch means that the world has moved on. Neutron
bumps revisions by itself, too: a port's when it is bound or its tags change, a floating IP's when its status does.
"""

import urllib.parse
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec

from mooring.cloud import answers, errors
from mooring.cloud.kinds import Kind
from mooring.model.cloud import (
    Attributes,
    Extension,
    ProjectId,
    Quota,
    Resource,
)
from mooring.wire.http import NO_HEADERS, NoAnswer, NotSent, Request, Response, Sender

T = TypeVar("T", bound=Resource)
Id = TypeVar("Id", bound=str)

PAGE = 1000
BEGINNINGS = 5
JSON = {"content-type": "application/json", "accept": "application/json"}
SPELLING = {
    "external": "router:external",
    "fixed_ip": "fixed_ips",
    "tags_any": "tags-any",
    "not_tags": "not-tags",
    "not_tags_any": "not-tags-any",
}
METHODS = {
    "get": "GET",
    "list": "GET",
    "create": "POST",
    "update": "PUT",
    "delete": "DELETE",
    "tag": "PUT",
    "untag": "DELETE",
}

QUESTION = Request("list networks", "GET", "/v2.0/networks", (("limit", "1"),), JSON, seconds=5.0)
"""A read that costs Neutron next to nothing, and is answered only if it and its database work."""

Filter = str | bool | int | Iterable[str]


class Cloud:
    """The Neutron that a transport leads to."""

    def __init__(self, transport: Sender, *, page: int = PAGE) -> None:
        self._transport = transport
        self._page = page

    async def get(self, kind: Kind[T, Id], which: Id) -> T:
        request = _request("get", kind, which)
        return answers.one(kind, request, await self._send(request))

    async def list(self, kind: Kind[T, Id], **filters: Filter) -> tuple[T, ...]:
        """Every object that we may see and that passes all filters; of several values of a filter, any will do.

        Tags are the exception: `tags` must all be there (`tags_any`: one of them), and `not_tags` must not all be. A
        `fixed_ip` is an address. Pages belong to no common version: what is made meanwhile may be missing, what stood
        there all the time is not.
        """
        where = _query(filters)
        for _ in range(BEGINNINGS):
            try:
                return await self._pages(kind, where)
            except _MarkerGone:
                continue
        raise errors.BadAnswer(f"list {kind.plural}: they are deleted faster than they can be read")

    async def create(self, kind: Kind[T, Id], wanted: Attributes) -> T:
        request = _request("create", kind, body={kind.singular: wanted})
        return answers.one(kind, request, await self._send(request))

    async def create_many(self, kind: Kind[T, Id], wanted: Iterable[Attributes]) -> tuple[T, ...]:
        """Make several, or none of them if one is refused. Neutron offers no bulk for routers and floating IPs."""
        request = _request("create", kind, body={kind.plural: list(wanted)})
        request = msgspec.structs.replace(request, what=f"create many {kind.plural}")
        return answers.several(kind, request, await self._send(request)).items

    async def update(self, kind: Kind[T, Id], which: Id, changes: Attributes, *, revision: int | None) -> T:
        """Change attributes, provided that the object still has this revision; None asks for nothing.

        An empty change of a floating IP takes its port away: that is how Neutron reads it.
        """
        request = _request("update", kind, which, headers=_if_match(revision), body={kind.singular: changes})
        return answers.one(kind, request, await self._send(request))

    async def delete(self, kind: Kind[T, Id], which: Id, *, revision: int | None) -> None:
        """Delete an object, provided that it still has this revision; None asks for nothing.

        Routers are deleted without one only. Neutron compares it after it has taken the router's gateway away, which is
        a revision of its own: it refuses every one, and the gateway is lost all the same.
        """
        if revision is not None and not kind.deleted_by_revision:
            raise errors.Refused(f"delete {kind.plural} ({which}): Neutron cannot do that by revision")
        await self._send(_request("delete", kind, which, headers=_if_match(revision)))

    async def tag(self, kind: Kind[T, Id], which: Id, tag: str) -> None:
        """Add a tag, of ASCII: Neutron may misread others here. Again is no error; what is gone is a ServerFault."""
        await self._send(_request("tag", kind, which, "tags", _quoted(tag)))

    async def untag(self, kind: Kind[T, Id], which: Id, tag: str) -> None:
        """Take a tag away; NotFound if it was not there."""
        await self._send(_request("untag", kind, which, "tags", _quoted(tag)))

    async def quota(self, project: ProjectId) -> Quota:
        request = Request("get quotas", "GET", f"/v2.0/quotas/{_quoted(project)}/details.json", headers=JSON)
        return answers.decoded(_Quota, request, await self._send(request)).quota

    async def extensions(self) -> tuple[Extension, ...]:
        request = Request("list extensions", "GET", "/v2.0/extensions", headers=JSON)
        return answers.decoded(_Extensions, request, await self._send(request)).extensions

    async def _pages(self, kind: Kind[T, Id], where: tuple[tuple[str, str], ...]) -> tuple[T, ...]:
        items: list[T] = []
        marker: tuple[tuple[str, str], ...] = ()
        while True:
            request = _request("list", kind, query=(*where, ("limit", str(self._page)), *marker))
            try:
                page = answers.several(kind, request, await self._send(request))
            except errors.NotFound as error:
                if not marker:
                    raise
                raise _MarkerGone from error
            items += page.items
            if not page.more or not page.items:
                return tuple(items)
            marker = (("marker", page.items[-1].id),)

    async def _send(self, request: Request) -> Response:
        try:
            response = await self._transport.send(request)
        except NotSent as error:
            raise errors.Unreachable(f"{answers.told(request)}: {error}") from error
        except NoAnswer as error:
            kind = errors.Unknown if request.writes else errors.Unreachable
            raise kind(f"{answers.told(request)}: {error}") from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise answers.refusal(request, response)
        return response


class _MarkerGone(Exception):
    """The object that the next page should begin after was deleted meanwhile."""


class _Quota(msgspec.Struct, frozen=True):
    quota: Quota


class _Extensions(msgspec.Struct, frozen=True):
    extensions: tuple[Extension, ...]


def _request(
    verb: str,
    kind: Kind[Any, Any],
    *below: str,
    query: tuple[tuple[str, str], ...] = (),
    headers: Mapping[str, str] = NO_HEADERS,
    body: Attributes | None = None,
) -> Request:
    encoded = b"" if body is None else msgspec.json.encode(body)
    return Request(f"{verb} {kind.plural}", METHODS[verb], kind.path(*below), query, {**JSON, **headers}, encoded)


def _if_match(revision: int | None) -> Mapping[str, str]:
    return NO_HEADERS if revision is None else {"if-match": f"revision_number={revision}"}


def _query(filters: Mapping[str, Filter]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for name, value in filters.items():
        values = [str(value)] if isinstance(value, str | bool | int) else list(value)
        if "tags" in name:
            values = [",".join(values)]
        elif name == "fixed_ip":
            values = [f"ip_address={each}" for each in values]
        pairs += [(SPELLING.get(name, name), each) for each in values]
    return tuple(pairs)


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")
