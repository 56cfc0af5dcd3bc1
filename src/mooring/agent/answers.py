"""What an agent answers to each request: the whole interface, without the wire.

request              answer
-------              ------
PUT /v1/document     200 it is in force; 409 something newer is held, or another one of the same age;
                     422 it is nonsense; 500 it could not be applied, and everything is as before
PATCH /v1/document   what differs from what was told last: the same; 409 also if it differs from something else
GET /v1/state        200
POST /v1/heartbeat   200; 409 from a leader of an older epoch
GET /v1/clients      200 clients that others have to know of
PUT /v1/clients      200 those of another gateway are remembered, as far as they can be; 422 it is nonsense
GET /v1/counters     200 what each Service was asked for; 500 the kernel does not say
PUT /v1/probes       200 these are asked from now on whether they answer; 422 it is nonsense

200 and 409 tell how the gateway is, if nothing else was asked for, 422 and 500 why it refused.
"""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TypeVar

import msgspec

from mooring.agent.counting import Counting
from mooring.agent.gateway import Gateway, NotApplied, Outcome
from mooring.core.gateway_checks import Reason
from mooring.core.told import Refused
from mooring.host.errors import HostError
from mooring.model.gateway import Clients, Counters, Delta, Document, Heartbeat, Probes, Refusal
from mooring.model.rules import Element
from mooring.wire.http import Response

HEADERS = {"content-type": "application/json"}
TAKEN = frozenset({Outcome.APPLIED, Outcome.UNCHANGED})
LONGEST = 512
"""Characters of a name or an address. Kubernetes' own are shorter; those that are not served stand in every answer."""

Told = TypeVar("Told", Document, Delta, Heartbeat, Clients, Probes)


class Answer(msgspec.Struct, frozen=True):
    """An answer, and what became of the request, for counters."""

    response: Response
    outcome: str


class Age(msgspec.Struct, frozen=True):
    """As much of a document or a delta as tells how new it is."""

    epoch: int = 0
    generation: int = 0


def age(body: bytes) -> tuple[int, int]:
    """How new it is; what nobody understands is older than all."""
    try:
        found = msgspec.json.decode(body, type=Age)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0, 0
    return found.epoch, found.generation


def put_document(gateway: Gateway, body: bytes) -> Answer:
    return _take(gateway, lambda: _decoded(body, Document))


def patch_document(gateway: Gateway, body: bytes) -> Answer:
    return _take(gateway, lambda: _decoded(body, Delta))


def _take(gateway: Gateway, decoded: Callable[[], Document | Delta]) -> Answer:
    try:
        new = decoded()
    except Refused as error:
        gateway.refuses(error.refusal)
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.refusal)
    if isinstance(new, Delta) and not new.base.digest:  # of one that holds nothing; the journal begins with a document
        return Answer(_state(gateway, HTTPStatus.CONFLICT), Outcome.BASE.value)
    try:
        outcome = gateway.put(new)
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
    return Answer(Response(status, HEADERS, msgspec.json.encode(gateway.state(whole=False))), outcome)


def get_clients(gateway: Gateway) -> Response:
    return Response(HTTPStatus.OK, HEADERS, msgspec.json.encode(gateway.memory.clients()))


class Recall(msgspec.Struct, frozen=True):
    """Clients of another gateway, and what is remembered here of any."""

    told: Clients
    here: dict[Element, float]


def heard_clients(gateway: Gateway, body: bytes) -> Recall | Answer:
    """Look what is remembered, in peace, before clients of another gateway are; or say why they are not."""
    try:
        told = _decoded(body, Clients)
        return Recall(told, gateway.memory.here(told))
    except Refused as error:
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.refusal)
    except HostError as error:
        return _kernel_refuses(error)


def put_clients(gateway: Gateway, recall: Recall) -> Answer:
    try:
        gateway.memory.take(recall.told, recall.here)
    except HostError as error:
        return _kernel_refuses(error)
    return Answer(Response(HTTPStatus.OK, HEADERS, msgspec.json.encode(gateway.state(whole=False))), "heard")


def put_probes(gateway: Gateway, body: bytes) -> Answer:
    try:
        gateway.probing.tell(_decoded(body, Probes))
    except Refused as error:
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY, error.refusal)
    return Answer(Response(HTTPStatus.OK, HEADERS, msgspec.json.encode(gateway.state(whole=False))), "heard")


def get_counters(counting: Counting) -> Response:
    try:
        counted = counting.everything()
    except HostError as error:
        return _kernel_refuses(error).response
    return Response(HTTPStatus.OK, HEADERS, msgspec.json.encode(Counters(counted)))


def _kernel_refuses(error: HostError) -> Answer:
    return refused(HTTPStatus.INTERNAL_SERVER_ERROR, Refusal(Reason.RULES_REFUSED.value, str(error)))


def superseded(gateway: Gateway) -> Answer:
    """Somebody who came later is served instead."""
    return Answer(_state(gateway, HTTPStatus.CONFLICT), Reason.SUPERSEDED.value)


def get_state(gateway: Gateway) -> Response:
    return _state(gateway, HTTPStatus.OK)


def refused(status: HTTPStatus, refusal: Refusal) -> Answer:
    return Answer(Response(status, HEADERS, msgspec.json.encode(refusal)), refusal.reason)


def _state(gateway: Gateway, status: HTTPStatus) -> Response:
    return Response(status, HEADERS, msgspec.json.encode(gateway.state()))


def _decoded(body: bytes, kind: type[Told]) -> Told:
    try:
        found = msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = f"this is no {kind.__name__.lower()}: {error}"
        raise Refused(Refusal(Reason.NOT_UNDERSTOOD.value, told)) from error
    if any(len(each) > LONGEST for each in _texts(found)):
        told = f"a text in this {kind.__name__.lower()} is longer than {LONGEST} characters"
        raise Refused(Refusal(Reason.NOT_UNDERSTOOD.value, told))
    return found


def _texts(told: Document | Delta | Heartbeat | Clients | Probes) -> Iterator[str]:
    """All that is no number, and may be said again."""
    if isinstance(told, Heartbeat | Clients):
        return
    if isinstance(told, Probes):
        yield from (each.address for each in told.targets)
        return
    yield told.digest
    if isinstance(told, Delta):
        yield told.base.digest
        for address, protocol, _ in told.removed:
            yield from (address, protocol)
    for forward in told.forwards if isinstance(told, Document) else told.put:
        yield from (forward.service, forward.address, forward.protocol, *forward.sources)
        for backend in forward.backends:
            yield backend.address
