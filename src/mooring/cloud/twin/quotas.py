"""Quotas of the twin: what projects may have. Only administrators change them."""

import msgspec

from mooring.cloud.twin import attributes, refusals
from mooring.cloud.twin.refusals import Refusal
from mooring.cloud.twin.state import RESOURCES, Caller, State
from mooring.wire.http import Request, Response


def handle(state: State, caller: Caller, request: Request, path: list[str]) -> Response:
    """A request for a project's quota: `path` begins with the project."""
    if not path:
        raise refusals.forbidden("get_quota")
    project = path[0]
    if request.method == "GET":
        return _read(state, caller, project, details=path[1:] == ["details.json"])
    if not caller.admin:
        raise refusals.forbidden("update_quota" if request.method == "PUT" else "delete_quota")
    if request.method == "DELETE":
        if state.limits.pop(project, None) is None:
            raise Refusal(404, "TenantQuotaNotFound", f"Quota for project {project} could not be found.")
        return Response(204)
    [given], _ = attributes.objects(request.body, "quota", "quotas")
    _check(state, project, {name: int(value) for name, value in given.items()})
    state.limits[project] = state.limits.get(project, {}) | {name: int(value) for name, value in given.items()}
    return _answer(state.limits_of(project))


def _read(state: State, caller: Caller, project: str, *, details: bool) -> Response:
    if not caller.admin and project != caller.project:
        if details:
            text = "Only admin is authorized to access quotas for another project."
            raise Refusal(403, "AdminRequired", f"User does not have admin privileges: {text}")
        raise refusals.forbidden("get_quota")
    if not details:
        return _answer(state.limits_of(project))
    used = state.used(project)
    limits = state.limits_of(project)
    return _answer({name: {"limit": limits[name], "used": used[name], "reserved": 0} for name in RESOURCES})


def _answer(quota: object) -> Response:
    return Response(200, refusals.JSON, msgspec.json.encode({"quota": quota}))


def _check(state: State, project: str, wanted: dict[str, int]) -> None:
    used = state.used(project)
    for name, limit in wanted.items():
        if name not in RESOURCES:
            raise refusals.bad_request(f"Unrecognized attribute(s) '{name}'")
        if 0 <= limit < used[name]:
            text = f"Quota limit {limit} for {name} must be greater than or equal to already used {used[name]}"
            raise refusals.bad_request(text)
