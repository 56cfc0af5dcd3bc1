"""Tags of the twin's objects. A change of them is a change of the object: it has the next revision."""

import urllib.parse
from typing import Any

import msgspec

from mooring.cloud.twin import attributes, forms, refusals
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import Caller, State
from mooring.cloud.twin.tables import Table
from mooring.wire.http import Request, Response


def handle(state: State, caller: Caller, table: Table[Any], request: Request, path: list[str]) -> Response:
    """A request for all tags of an object, or for one: `path` begins with the object's id."""
    row = table.rows.get(path[0])
    if row is None:
        # what the real one does: it fails over the owner of what is not there
        raise refusals.fault()
    if not state.writable(caller, row):
        raise refusals.forbidden(f"update_{table.kind.singular}:tags")
    if path[2:]:
        return _one(table, row, request.method, urllib.parse.unquote(path[2]))
    return _all(table, row, request)


def _one(table: Table[Any], row: Any, method: str, tag: str) -> Response:  # noqa: ANN401 - an object of any kind
    if method == "PUT":
        forms.tags("tag", [tag])
        if tag not in row.tags:
            table.change(row, tags=tuple(sorted((*row.tags, tag))))
        return Response(201, refusals.JSON, b"null")
    if tag not in row.tags:
        raise Refusal(404, "TagNotFound", f"Tag {tag} could not be found.")
    if method == "DELETE":
        table.change(row, tags=tuple(each for each in row.tags if each != tag))
    return Response(204)


def _all(table: Table[Any], row: Any, request: Request) -> Response:  # noqa: ANN401 - an object of any kind
    if request.method == "GET":
        return Response(200, refusals.JSON, msgspec.json.encode({"tags": row.tags}))
    given = attributes.decoded(request.body).get("tags") if request.method == "PUT" else []
    if not isinstance(given, list):
        raise refusals.bad_input("tags must be a list.")
    tags = forms.tags("tags", given)
    if tags != row.tags:
        table.change(row, tags=tags)
    if request.method == "DELETE":
        return Response(204)
    return Response(200, refusals.JSON, msgspec.json.encode({"tags": given}))
