"""What the twin answers instead of doing what was asked: Neutron's own types and texts."""

from typing import Any

import msgspec

from mooring.cloud.kinds import Kind
from mooring.wire.http import Response

JSON = {"content-type": "application/json"}
NAMES = {
    "network": "Network {} could not be found.",
    "subnet": "Subnet {} could not be found.",
    "port": "Port {} could not be found.",
    "router": "Router {} could not be found",
    "floatingip": "Floating IP {} could not be found",
    "security_group": "Security group {} does not exist",
    "security_group_rule": "Security group rule {} does not exist",
}
TYPES = {"floatingip": "FloatingIP"}


class Refusal(Exception):
    """Nothing was changed, and this is why."""

    def __init__(self, status: int, type: str, message: str) -> None:  # noqa: A002 - Neutron's word
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message

    def response(self) -> Response:
        body = {"NeutronError": {"type": self.type, "message": self.message, "detail": ""}}
        return Response(self.status, JSON, msgspec.json.encode(body))


def not_found(kind: Kind[Any, Any], which: str) -> Refusal:
    name = TYPES.get(kind.singular) or "".join(part.capitalize() for part in kind.singular.split("_"))
    return Refusal(404, f"{name}NotFound", NAMES[kind.singular].format(which))


def no_such_page() -> Refusal:
    return Refusal(404, "HTTPNotFound", "The resource could not be found.")


def fault() -> Refusal:
    text = "Request Failed: internal server error while processing your request."
    return Refusal(500, "HTTPInternalServerError", text)


def forbidden(rule: str, attribute: str = "") -> Refusal:
    told = f"(rule:{rule} and rule:{rule}:{attribute})" if attribute else f"rule:{rule}"
    return Refusal(403, "PolicyNotAuthorized", f"{told} is disallowed by policy")


def bad_request(message: str) -> Refusal:
    return Refusal(400, "HTTPBadRequest", message)


def bad_input(message: str) -> Refusal:
    return Refusal(400, "InvalidInput", f"Invalid input for operation: {message}")


def bad(resource: str, message: str) -> Refusal:
    return Refusal(400, "BadRequest", f"Bad {resource} request: {message}")


def over_quota(resource: str) -> Refusal:
    return Refusal(409, "OverQuota", f"Quota exceeded for resources: ['{resource}'].")


def revision(wanted: int, current: int) -> Refusal:
    text = f"Constrained to {wanted}, but current revision is {current}"
    return Refusal(412, "RevisionNumberConstraintFailed", text)
