"""What the API server says when it refuses, in its own words: a Status with a reason, a code and what caused it.

Texts are close to the server's, not always equal; codes, reasons and the fields that are to blame are equal.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from mooring.wire.http import Response

Json: TypeAlias = Any
"""Whatever JSON can say."""
Tree: TypeAlias = dict[str, Json]
"""An object of the API as JSON says it. What is stored is never changed, only replaced."""

HEADERS: Mapping[str, str] = {"content-type": "application/json"}
NO_SUCH_RESOURCE = "the server could not find the requested resource"


class Fault(Struct, frozen=True):
    """One thing that is wrong with an object, and where."""

    reason: str
    field: str
    text: str

    @property
    def message(self) -> str:
        return f"{self.field}: {self.text}"


def required(field: str) -> Fault:
    return Fault("FieldValueRequired", field, "Required value")


def invalid(field: str, value: Json, why: str) -> Fault:
    return Fault("FieldValueInvalid", field, f"Invalid value: {msgspec.json.encode(value).decode()}: {why}")


def forbidden(field: str, why: str) -> Fault:
    return Fault("FieldValueForbidden", field, f"Forbidden: {why}")


def duplicate(field: str, value: Json) -> Fault:
    return Fault("FieldValueDuplicate", field, f"Duplicate value: {msgspec.json.encode(value).decode()}")


def unsupported(field: str, value: Json, known: Sequence[str]) -> Fault:
    words = ", ".join(f'"{word}"' for word in known)
    shown = msgspec.json.encode(value).decode()
    return Fault("FieldValueNotSupported", field, f"Unsupported value: {shown}: supported values: {words}")


class Refusal(Exception):
    """The request is answered with a Status that says no."""

    def __init__(self, code: int, reason: str, message: str, details: Tree | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.details = details

    def status(self) -> Tree:
        status: Tree = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": str(self)}
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        status["code"] = int(self.code)
        return status

    def response(self) -> Response:
        return Response(int(self.code), HEADERS, msgspec.json.encode(self.status()))


class Mistyped(Exception):
    """A value does not fit into the kind's own types; what follows depends on the verb."""


def bad_request(message: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def fault_of_server(message: str) -> Refusal:
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)


def not_known_here(message: str) -> Refusal:
    """The server could do this, the twin cannot: say so aloud instead of doing something else."""
    return Refusal(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", f"the twin does not know {message}")


def no_such_resource() -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, "NotFound", NO_SUCH_RESOURCE)


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message)


def unsupported_media_type() -> Refusal:
    message = "the body of the request was in an unknown format"
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def expired(message: str) -> Refusal:
    return Refusal(HTTPStatus.GONE, "Expired", message)


def too_new(version: int, current: int) -> Refusal:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    return Refusal(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


def not_fitting_patch(why: str) -> Refusal:
    """A patch whose outcome is no object of the kind."""
    causes = [{"reason": "FieldValueInvalid", "message": why, "field": "patch"}]
    message = f' "" is invalid: patch: Invalid value: {why}'
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, {"causes": causes})


def unworkable_patch() -> Refusal:
    message = "the server rejected our request due to an error in our request"
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message)


def invalid_options(fault: Fault) -> Refusal:
    message = f'ListOptions.meta.k8s.io "" is invalid: {fault.message}'
    details = {"group": "meta.k8s.io", "kind": "ListOptions", "causes": [_cause(fault)]}
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def _cause(fault: Fault) -> Tree:
    return {"reason": fault.reason, "message": fault.text, "field": fault.field}


class Speaker(Struct, frozen=True):
    """The words about objects of one kind."""

    group: str
    kind: str
    plural: str

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def details(self, name: str, **more: Json) -> Tree:
        return _filled(name=name, group=self.group, kind=self.plural) | more

    def not_found(self, name: str) -> Refusal:
        return Refusal(HTTPStatus.NOT_FOUND, "NotFound", f'{self.resource} "{name}" not found', self.details(name))

    def already_exists(self, name: str, *, deleting: bool) -> Refusal:
        begin = "object is being deleted: " if deleting else ""
        message = f'{begin}{self.resource} "{name}" already exists'
        return Refusal(HTTPStatus.CONFLICT, "AlreadyExists", message, self.details(name))

    def conflict(self, name: str, why: str) -> Refusal:
        message = f'Operation cannot be fulfilled on {self.resource} "{name}": {why}'
        return Refusal(HTTPStatus.CONFLICT, "Conflict", message, self.details(name))

    def modified(self, name: str) -> Refusal:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return self.conflict(name, why)

    def forbidden(self, name: str, why: str, causes: Sequence[Tree] = ()) -> Refusal:
        subject = f'{self.resource} "{name}"' if name else self.resource
        details = self.details(name) | ({"causes": list(causes)} if causes else {})
        return Refusal(HTTPStatus.FORBIDDEN, "Forbidden", f"{subject} is forbidden: {why}", details)

    def invalid(self, name: str, faults: Sequence[Fault]) -> Refusal:
        texts = [fault.message for fault in faults]
        told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        details = _filled(name=name, group=self.group, kind=self.kind)
        details["causes"] = [_cause(fault) for fault in faults]
        return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", f'{kind} "{name}" is invalid: {told}', details)

    def deleted(self, name: str, uid: str) -> bytes:
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return msgspec.json.encode(status | {"details": self.details(name, uid=uid)})


def _filled(**texts: str) -> Tree:
    return {name: text for name, text in texts.items() if text}
