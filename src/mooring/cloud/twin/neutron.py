"""The twin itself: requests in, answers out. Which function serves which request, and what is checked for all alike."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from mooring.cloud.twin import attributes, listing, quotas, refusals, routers, security_groups, tags
from mooring.cloud.twin.refusals import JSON, Refusal
from mooring.cloud.twin.state import Caller, State
from mooring.cloud.twin.verbs import Verbs, all_verbs
from mooring.model.cloud import PortId, ProjectId
from mooring.wire.http import Request, Response

ADMIN = Caller(ProjectId("ad" * 16), admin=True)
NEUTRONS_OWN_LIMIT_OF_PAIRS = 10
NO_LIMITS: Mapping[str, int] = {}
EXTENSIONS = (
    "allowed-address-pairs",
    "external-net",
    "pagination",
    "port-security",
    "quota_details",
    "quotas",
    "revision-if-match",
    "router",
    "security-group",
    "standard-attr-description",
    "standard-attr-revisions",
    "standard-attr-tag",
    "stateful-security-group",
    "tag-creation",
)


def counted_ids() -> Iterator[str]:
    """Ids that look like Neutron's and sort in the order in which they were given."""
    return (f"{number:08x}-0000-4000-8000-000000000000" for number in itertools.count(1))


class Door:
    """A transport to the twin, for one caller."""

    def __init__(self, twin: "NeutronTwin", caller: Caller) -> None:
        self._twin = twin
        self._caller = caller

    async def send(self, request: Request) -> Response:
        return self._twin.handle(request, self._caller)


class NeutronTwin:
    """A Neutron in memory. `limits` are quotas of projects that have none of their own; without them there are none."""

    def __init__(
        self,
        ids: Iterator[str],
        clock: Callable[[], float],
        *,
        limits: Mapping[str, int] = NO_LIMITS,
        address_pairs: int = NEUTRONS_OWN_LIMIT_OF_PAIRS,
    ) -> None:
        self._state = state = State(ids, clock, limits=limits, address_pairs=address_pairs)
        self._verbs = {verbs.table.kind.collection: verbs for verbs in all_verbs(state)}

    def transport(self, caller: Caller) -> Door:
        return Door(self, caller)

    @property
    def as_admin(self) -> Door:
        """The operator's own way in."""
        return Door(self, ADMIN)

    def bump(self, port: PortId) -> None:
        """A new revision out of nothing that anybody asked for, as a report about a port's binding makes one."""
        self._state.ports.change(self._state.ports.get(port))

    def handle(self, request: Request, who: Caller) -> Response:
        """Answer one request."""
        try:
            return self._route(request, who)
        except Refusal as refusal:
            return refusal.response()

    def _route(self, request: Request, caller: Caller) -> Response:
        _, _, collection, *path = request.path.split("/")
        verbs = self._verbs.get(collection)
        if verbs is None:
            return self._other(request, caller, collection, path)
        if not path:
            return self._collection(verbs, request, caller)
        if len(path) == 1:
            return self._object(verbs, request, caller, path[0])
        if path[1] == "tags" and verbs.table.kind.taggable:
            return tags.handle(self._state, caller, verbs.table, request, path)
        if collection == "routers" and path[1] in INTERFACES:
            router = self._seen(verbs, caller, path[0])
            given = attributes.decoded(request.body)
            return Response(200, JSON, INTERFACES[path[1]](self._state, caller, router, given))
        raise refusals.no_such_page()

    def _other(self, request: Request, caller: Caller, collection: str, path: list[str]) -> Response:
        if collection == "quotas":
            return quotas.handle(self._state, caller, request, path)
        if collection == "extensions" and not path:
            found = [{"alias": alias, "name": alias, "links": []} for alias in EXTENSIONS]
            return Response(200, JSON, msgspec.json.encode({"extensions": found}))
        raise refusals.no_such_page()

    def _collection(self, verbs: Verbs, request: Request, caller: Caller) -> Response:
        if request.method == "GET":
            if verbs.table is self._state.groups and not caller.admin:
                security_groups.ensure_default(self._state, caller.project)
            return Response(200, JSON, listing.body(self._state, verbs.table, verbs.known, request, caller))
        if request.method != "POST":
            raise verbs.table.not_found("None")
        return self._create(verbs, request, caller)

    def _object(self, verbs: Verbs, request: Request, caller: Caller, which: str) -> Response:
        if request.method == "GET":
            row = self._seen(verbs, caller, which)
            return Response(200, JSON, verbs.table.one(row, admin=caller.admin))
        if request.method == "PUT":
            return self._update(verbs, request, caller, which)
        if request.method == "DELETE":
            return self._delete(verbs, request, caller, which)
        raise Refusal(405, "HTTPMethodNotAllowed", "The server could not comply with the request.")

    def _create(self, verbs: Verbs, request: Request, caller: Caller) -> Response:
        """One object, or all of a list, or none of it."""
        kind = verbs.table.kind
        wanted, many = attributes.objects(request.body, kind.singular, kind.plural)
        if many and not verbs.bulk:
            raise refusals.bad_request("Bulk operation not supported")
        values = [attributes.read(verbs.known, each, method="POST") for each in wanted]
        projects = [self._project(verbs, caller, each) for each in values]
        for project in sorted(set(projects)):
            self._state.check_quota(project, verbs.table, projects.count(project))
        made: list[Any] = []
        try:
            for project, each in zip(projects, values, strict=True):
                made.append(verbs.create(self._state, caller, project, each))
        except Refusal:
            for row in reversed(made):
                verbs.delete(self._state, verbs.table.get(row.id))
            raise
        if not many:
            return Response(201, JSON, verbs.table.one(made[0], admin=caller.admin))
        items = b",".join(verbs.table.encoded(row, admin=caller.admin) for row in made)
        return Response(201, JSON, f'{{"{kind.plural}":['.encode() + items + b"]}")

    def _update(self, verbs: Verbs, request: Request, caller: Caller, which: str) -> Response:
        kind = verbs.table.kind
        [given], _ = attributes.objects(request.body, kind.singular, "")
        changes = attributes.read(verbs.known, given, method="PUT")
        if verbs.update is None:
            raise refusals.fault()
        row = self._seen(verbs, caller, which)
        self._check_writable(verbs, caller, row, verb="update")
        _check_admin(verbs, caller, given, "PUT")
        _check_revision(request, row)
        if kind.singular not in SEE_FOR_THEMSELVES and all(
            getattr(row, name) == value for name, value in changes.items()
        ):
            return Response(200, JSON, verbs.table.one(row, admin=caller.admin))
        return Response(200, JSON, verbs.table.one(verbs.update(self._state, caller, row, changes), admin=caller.admin))

    def _delete(self, verbs: Verbs, request: Request, caller: Caller, which: str) -> Response:
        """What stands in the way comes first, the revision second."""
        row = self._seen(verbs, caller, which)
        self._check_writable(verbs, caller, row, verb="delete")
        if verbs.check is not None:
            verbs.check(self._state, caller, row)
        if "if-match" in request.headers and verbs.table is self._state.routers:
            row = routers.before_delete(self._state, row)
        _check_revision(request, row)
        verbs.delete(self._state, row)
        return Response(204)

    def _project(self, verbs: Verbs, caller: Caller, values: dict[str, Any]) -> str:
        """Whose the new object is; takes it out of the values. What only administrators set is refused here."""
        project: str = values.pop("project_id", "") or values.pop("tenant_id", "") or caller.project
        if project != caller.project and not caller.admin:
            text = "Specifying 'project_id' other than the authenticated project in request is not allowed"
            raise refusals.bad_request(f"{text} for the current user.")
        network = self._state.networks.rows.get(values.get("network_id", ""))
        if network is not None and not self._state.visible(caller, network) and verbs.table is self._state.ports:
            raise self._state.networks.not_found(network.id)
        names = {attribute.field or name: name for name, attribute in verbs.known.items()}
        _check_admin(verbs, caller, {names[name]: value for name, value in values.items()}, "POST")
        return project

    def _seen(self, verbs: Verbs, caller: Caller, which: str) -> Any:  # noqa: ANN401 - an object of any kind
        row = verbs.table.rows.get(which)
        if row is None or not self._state.visible(caller, row):
            raise verbs.table.not_found(which)
        return row

    def _check_writable(self, verbs: Verbs, caller: Caller, row: Any, *, verb: str) -> None:  # noqa: ANN401 - as above
        if not self._state.writable(caller, row):
            raise refusals.forbidden(f"{verb}_{verbs.table.kind.singular}")


INTERFACES = {"add_router_interface": routers.add_interface, "remove_router_interface": routers.remove_interface}
SEE_FOR_THEMSELVES = frozenset({"port", "floatingip", "router"})
"""Kinds that know better what counts as a change; of the others, what is the same already does not."""


def _check_revision(request: Request, row: Any) -> None:  # noqa: ANN401 - an object of any kind
    """Does an object have the revision that the caller thinks? Other etags are passed over, as the real one does."""
    match = request.headers.get("if-match", "")
    if not match.startswith("revision_number="):
        return
    wanted = match.partition("=")[2]
    if not wanted.isdigit():
        text = "Revision number etag must be in the format of revision_number=<int>."
        raise refusals.bad("if-match", text)
    if int(wanted) != row.revision_number:
        raise refusals.revision(int(wanted), row.revision_number)


def _check_admin(verbs: Verbs, caller: Caller, given: Mapping[str, Any], method: str) -> None:
    if caller.admin:
        return
    for name in given:
        if method in verbs.known[name].admin:
            verb = "create" if method == "POST" else "update"
            raise refusals.forbidden(f"{verb}_{verbs.table.kind.singular}", name)
