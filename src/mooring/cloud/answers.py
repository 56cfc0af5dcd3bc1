"""Neutron's answers read: bodies become structs, refusals become our errors. Knows nothing of how they came."""

import functools
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from mooring.cloud import errors
from mooring.cloud.kinds import Kind
from mooring.model.cloud import Resource
from mooring.wire import patient
from mooring.wire.http import Request, Response

T = TypeVar("T", bound=Resource)
Decoded = TypeVar("Decoded")

BY_STATUS: dict[int, type[errors.CloudError]] = {
    HTTPStatus.UNAUTHORIZED: errors.Unauthorized,
    HTTPStatus.FORBIDDEN: errors.Forbidden,
    HTTPStatus.NOT_FOUND: errors.NotFound,
    HTTPStatus.CONFLICT: errors.Conflict,
    HTTPStatus.PRECONDITION_FAILED: errors.RevisionMismatch,
}
NO_ANSWER_BEHIND = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)
"""What stands before Neutron had no answer of it: a write may still be carried out."""
BY_TYPE: dict[str, type[errors.CloudError]] = {
    "OverQuota": errors.QuotaExceeded,
    "IpAddressGenerationFailure": errors.NoMoreAddresses,
    # a 404, though nothing that the request names is missing: no router connects the port with the outside
    "ExternalGatewayForFloatingIPNotFound": errors.Conflict,
}


class Link(Struct, frozen=True):
    rel: str


class Page(Struct, Generic[T], frozen=True):
    """A part of a collection, and whether more of it follows."""

    items: tuple[T, ...]
    more: bool


class _NeutronError(Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Refusal(Struct, frozen=True):
    error: _NeutronError = msgspec.field(name="NeutronError")


def one(kind: Kind[T, Any], request: Request, response: Response) -> T:
    """The object that an answer holds."""
    wrapped = decoded(dict[str, kind.type], request, response)  # type: ignore[name-defined]
    found: T | None = wrapped.get(kind.singular)
    if found is None:
        raise _unreadable(request, f"it has no {kind.singular!r}")
    return found


def several(kind: Kind[T, Any], request: Request, response: Response) -> Page[T]:
    """The objects that an answer holds."""
    page: Any = decoded(_page_type(kind), request, response)
    return Page(page.items, any(link.rel == "next" for link in page.links))


def decoded(shape: type[Decoded], request: Request, response: Response) -> Decoded:
    try:
        found: Decoded = _decoder(shape).decode(response.body)  # type: ignore[arg-type]
    except msgspec.DecodeError as error:
        raise _unreadable(request, str(error)) from error
    return found


def refusal(request: Request, response: Response) -> errors.CloudError:
    """The error that an answer without success is."""
    said = _said(response)
    text = f"{told(request)}: {response.status} {said.message or 'without a reason'}"
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return errors.TooManyRequests(text, said.type, retry_after=patient.retry_after(response))
    error = BY_TYPE.get(said.type) or BY_STATUS.get(response.status) or _otherwise(request, response.status)
    return error(text, said.type)


def told(request: Request) -> str:
    return f"{request.what} ({request.path})"


def _otherwise(request: Request, status: int) -> type[errors.CloudError]:
    if status in NO_ANSWER_BEHIND:
        return errors.Unknown if request.writes else errors.ServerFault
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.ServerFault
    # redirects are not followed: what answers them is no Neutron
    return errors.Refused if status >= HTTPStatus.BAD_REQUEST else errors.BadAnswer


def _said(response: Response) -> _NeutronError:
    """What Neutron says about a refusal; what stands before it (a proxy, its token check) says it otherwise or not."""
    try:
        said: _Refusal = _decoder(_Refusal).decode(response.body)
    except msgspec.DecodeError:
        return _NeutronError()
    return said.error


def _unreadable(request: Request, why: str) -> errors.CloudError:
    error = errors.Unknown if request.writes else errors.BadAnswer
    return error(f"{told(request)}: the answer cannot be read: {why}")


@functools.cache
def _decoder(shape: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - any type is a shape
    return msgspec.json.Decoder(shape)


@functools.cache
def _page_type(kind: Kind[Any, Any]) -> type[Struct]:
    links = msgspec.field(default=(), name=f"{kind.plural}_links")
    items = msgspec.field(name=kind.plural)
    fields = [("items", tuple[kind.type, ...], items), ("links", tuple[Link, ...], links)]  # type: ignore[name-defined]
    return msgspec.defstruct(f"{kind.type.__name__}Page", fields, frozen=True)
