"""What an agent answers to each request: the whole interface, without the wire.

request              answer
-------              ------
PUT /v1/document     200 it is in force; 409 something newer is held, or another one of the same age;
                     422 it is nonsense; 500 it could not be applied, and everything is as before
GET /v1/state        200
POST /v1/heartbeat   200; 409 from a leader of an older epoch

200 and 409 tell how the gateway is, 422 and 500 why it refused.
"""

from http import HTTPStatus
from typing import TypeVar

import msgspec

from mooring.agent.gateway import Gateway, NotApplied, Outcome, Refused
from mooring.core.gateway_checks import Reason
from mooring.model.gateway import Document, Heartbeat, Refusal
from mooring.wire.http import Response

HEADERS = {"content-type": "application/json"}
TAKEN = frozenset({Outcome.APPLIED, Outcome.UNCHANGED})

Told = TypeVar("Told", Document, Heartbeat)


class Answer(msgspec.Struct, frozen=True):
    """An answer, and what became of the request, for counters."""

    response: Response
    outcome: str


def put_document(gateway: Gateway, body: bytes) -> Answer:
    try:
        document = _decoded(body, Document)
    except Refused as error:
        gateway.refuses(error.refusal)
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.refusal)
    try:
        outcome = gateway.put(document)
    except Refused as error:
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.refusal)
    except NotApplied as error:
        return refused(HTTPStatus.INTERNAL_SERVER_ERROR, error.refusal)
    status = HTTPStatus.OK if outcome in TAKEN else HTTPStatus.CONFLICT
    return Answer(_state(gateway, status), outcome.value)


def post_heartbeat(gateway: Gateway, body: bytes) -> Answer:
    try:
        heard = gateway.heartbeat(_decoded(body, Heartbeat))
    except Refused as error:
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.refusal)
    status, outcome = (HTTPStatus.OK, "heard") if heard else (HTTPStatus.CONFLICT, Outcome.OLDER.value)
    return Answer(_state(gateway, status), outcome)


def get_state(gateway: Gateway) -> Response:
    return _state(gateway, HTTPStatus.OK)


def refused(status: HTTPStatus, refusal: Refusal) -> Answer:
    return Answer(Response(status, HEADERS, msgspec.json.encode(refusal)), refusal.reason)


def _state(gateway: Gateway, status: HTTPStatus) -> Response:
    return Response(status, HEADERS, msgspec.json.encode(gateway.state()))


def _decoded(body: bytes, kind: type[Told]) -> Told:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        told = f"this is no {kind.__name__.lower()}: {error}"
        raise Refused(Refusal(Reason.NOT_UNDERSTOOD.value, told)) from error
