"""What the twin says of itself and of its users: its version, and what somebody may do. Nothing of it is stored."""

from collections.abc import Callable
from http import HTTPStatus

import msgspec

from mooring.kube.twin.answers import HEADERS, Tree
from mooring.wire.http import Request, Response

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

Allowed = Callable[[str, str], bool]
"""Whether a verb on a kind, as rights name it, is granted to who asks."""


def answer(request: Request, allowed: Allowed) -> Response | None:
    """The answer to a question of this kind; None: it is another."""
    match request.method, request.path:
        case "GET", "/version":
            return Response(HTTPStatus.OK, HEADERS, msgspec.json.encode(VERSION))
        case "POST", path if path == REVIEWS:
            return _reviewed(msgspec.json.decode(request.body), allowed)
        case _:
            return None


def _reviewed(review: Tree, allowed: Allowed) -> Response:
    wanted = review["spec"]["resourceAttributes"]
    part = f"/{wanted['subresource']}" if wanted.get("subresource") else ""
    granted = allowed(wanted["verb"], f"{wanted.get('group', '')}/{wanted['resource']}{part}")
    body = {"metadata": {}, **review, "status": {"allowed": granted}}
    return Response(HTTPStatus.CREATED, HEADERS, msgspec.json.encode(body))
