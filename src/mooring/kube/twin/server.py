"""The API server in memory: requests in, answers out, watches that follow. One thread, no waiting, no surprises.

It knows no network and no time of its own: the clock is given, ids and addresses are counted, lists are in order. What
it does not do, and a cluster does: garbage collection by owners, endpoints of Services, defaults by other admission
plugins, server-side apply and managed fields, strategic merge patches, dry runs.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus

from mooring.kube.twin import (
    about,
    backups,
    cluster_kinds,
    definitions,
    endpoint_slices,
    listing,
    patches,
    plain_kinds,
    reading,
    services,
)
from mooring.kube.twin.answers import (
    HEADERS,
    Refusal,
    Tree,
    method_not_allowed,
    not_known_here,
    unsupported_media_type,
)
from mooring.kube.twin.backups import Backup
from mooring.kube.twin.ending import Endings
from mooring.kube.twin.fitting import Place
from mooring.kube.twin.paths import Paths
from mooring.kube.twin.reading import told
from mooring.kube.twin.resources import Resource, Served
from mooring.kube.twin.services import ServiceRules
from mooring.kube.twin.watching import Subscription
from mooring.kube.twin.writing import Ledger, Writer
from mooring.wire.http import Request, Response, Stream

ADMIN = ""
"""The user who may do everything."""
JSON = "application/json"
FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

Right = tuple[str, str]
"""A verb, and a kind as `group/plural`, with `/status` behind it for that part."""


class KubeTwin:
    """A Kubernetes API. `window`: how many changes of a kind are remembered at least."""

    def __init__(
        self,
        clock: Callable[[], datetime],
        *,
        window: int = 1000,
        service_ipv4: str = "10.96.0.0/16",
        service_ipv6: str = "fd00:96::/112",
    ) -> None:
        self._window = window
        self._ledger = Ledger()
        self._paths = Paths()
        self._endings = Endings(self._paths)
        self._sweeping = False
        self._writer = Writer(self._ledger, clock, self._changed)
        self._rights: dict[str, frozenset[Right]] = {}
        for resource in (*plain_kinds.ALL, *cluster_kinds.ALL, endpoint_slices.ENDPOINT_SLICES):
            self._serve(resource)
        self._serve(services.resource(ServiceRules(ipv4=service_ipv4, ipv6=service_ipv6)))
        self._definitions = self._serve(definitions.definitions(clock))
        self._namespaces = self._paths.place("/api/v1/namespaces").served
        self._begin()

    def _begin(self) -> None:
        """What every cluster has from its first moment."""
        for name in FIRST_NAMESPACES:
            self._make("/api/v1/namespaces", {"metadata": {"name": name}})
        ports = [{"name": "https", "port": 443, "targetPort": 6443}]
        api = {"metadata": {"name": "kubernetes"}, "spec": {"ports": ports}}
        self._make("/api/v1/namespaces/default/services", api)

    def _make(self, path: str, tree: Tree) -> None:
        self._writer.create_tree(self._paths.place(path), tree, check=lambda _: None)

    @property
    def version(self) -> int:
        """The newest version that there is."""
        return self._ledger.version

    def allow(self, user: str, rights: frozenset[Right]) -> None:
        """From now on this user may do this and nothing else."""
        self._rights[user] = rights

    def transport(self, user: str = ADMIN) -> "TwinTransport":
        return TwinTransport(self, user)

    def handle(self, request: Request, user: str = ADMIN) -> Response:
        """The answer to a request. A watch is answered with what it can say now."""
        if (said := about.answer(request, lambda verb, right: self._granted(user, verb, right))) is not None:
            return said
        try:
            place = self._paths.place(request.path)
            if user != ADMIN:
                self._check_right(request, place, user)
            return self._answer(request, place)
        except Refusal as refusal:
            return refusal.response()

    def handle_at(self, request: Request, versions_back: int, user: str = ADMIN) -> Response:
        """The answer to a GET or LIST as it would have been some versions ago, as far back as is remembered."""
        if request.method != "GET":
            raise ValueError("only what reads can look back")
        try:
            place = self._paths.place(request.path)
            if user != ADMIN:
                self._check_right(request, place, user)
            version = max(self._ledger.version - versions_back, place.served.collection.floor)
            return reading.read(place, dict(request.query), version)
        except Refusal as refusal:
            return refusal.response()

    def watch(self, request: Request, user: str = ADMIN) -> Subscription | Response:
        """Follow a collection; or the refusal."""
        try:
            place = self._paths.place(request.path)
            if user != ADMIN:
                self._check_right(request, place, user)
            return reading.watch(place, dict(request.query), self._ledger.version)
        except Refusal as refusal:
            return refusal.response()

    def compact(self, version: int | None = None) -> None:
        """Forget what led to a version (None: to the newest): who asks for what came before it is told Expired."""
        for served in self._paths.all():
            served.collection.compact(self._ledger.version if version is None else version)

    def bookmark(self) -> None:
        """Tell every watch that asked for bookmarks how far it is."""
        for served in self._paths.all():
            line = reading.bookmark(served, self._ledger.version, ends_initial=False)
            for follower in served.collection.followers:
                if isinstance(follower, Subscription) and follower.wants_bookmarks:
                    follower.push(line)

    def end_watches(self) -> None:
        """End every watch, as a server does that stops."""
        for served in self._paths.all():
            for follower in tuple(served.collection.followers):
                if isinstance(follower, Subscription):
                    follower.end()

    def backup(self) -> Backup:
        return backups.taken(self._paths.all(), self._ledger)

    def restore(self, backup: Backup) -> None:
        """Go back to what was: versions too, and every watch ends."""
        self.end_watches()
        backups.put_back(backup, self._paths.all(), self._ledger)

    def _answer(self, request: Request, place: Place) -> Response:
        method = request.method
        if method == "GET":
            if request.query or not place.name:
                return self._get(request, place)
            return reading.found(place)
        if any(name == "dryRun" for name, _ in request.query):
            raise not_known_here("dry runs")
        content = request.headers.get("content-type", JSON).partition(";")[0].strip()
        if method == "PATCH" and place.name:
            if content not in {patches.MERGE, patches.LIST}:
                raise unsupported_media_type()
            return told(place, self._writer.patch(place, content, request.body))
        if content != JSON and request.body:
            raise unsupported_media_type()
        if method == "DELETE" and not place.part:
            return self._delete(place, request) if place.name else self._delete_all(place, dict(request.query))
        return self._put_or_post(place, request)

    def _put_or_post(self, place: Place, request: Request) -> Response:
        check = self._namespace_check(place)
        if request.method == "POST" and not place.name and bool(place.namespace) is place.served.resource.namespaced:
            return told(place, self._writer.create(place, request.body, check=check), HTTPStatus.CREATED)
        if request.method == "PUT" and place.name:
            record, created = self._writer.put(place, request.body, check=check)
            return told(place, record, HTTPStatus.CREATED if created else HTTPStatus.OK)
        raise method_not_allowed()

    def _get(self, request: Request, place: Place) -> Response:
        query = dict(request.query)
        if not place.name and query.get("watch") in listing.TRUE:
            subscription = reading.watch(place, query, self._ledger.version)
            subscription.end()
            return Response(HTTPStatus.OK, HEADERS, subscription.take())
        return reading.read(place, query, self._ledger.version)

    def _delete(self, place: Place, request: Request) -> Response:
        record, gone = self._writer.delete(place, request.body)
        if gone and not place.served.resource.delete_answers_object:
            body = place.served.speaker.deleted(place.name, record.tree["metadata"]["uid"])
            return Response(HTTPStatus.OK, HEADERS, body)
        return told(place, record)

    def _delete_all(self, place: Place, query: Mapping[str, str]) -> Response:
        served = place.served
        if not served.resource.deletes_collections or bool(place.namespace) is not served.resource.namespaced:
            raise method_not_allowed()
        wanted = listing.scope(served.resource, place.namespace, query)
        meta = {"resourceVersion": str(self._ledger.version)}
        found = served.collection.at(self._ledger.version).below(wanted.prefix, "")
        records = [record for record in found if wanted.selects is None or wanted.selects(record)]
        for record in records:
            self._writer.end(served, record)
        return Response(HTTPStatus.OK, HEADERS, listing.body(served, meta, records))

    def _namespace_check(self, place: Place) -> Callable[[str], None]:
        """What refuses to make something in a namespace that is not there or is about to go."""

        def check(name: str) -> None:
            if not place.served.resource.namespaced:
                return
            namespace = self._namespaces.collection.records.get(place.namespace)
            if namespace is None:
                raise self._namespaces.speaker.not_found(place.namespace)
            if "deletionTimestamp" in namespace.tree["metadata"]:
                why = f"unable to create new content in namespace {place.namespace} because it is being terminated"
                cause = {"reason": "NamespaceTerminating", "message": why, "field": "metadata.namespace"}
                raise place.served.speaker.forbidden(name, why, [cause])

        return check

    def _check_right(self, request: Request, place: Place, user: str) -> None:
        verb = _verb(request, place)
        right = place.served.resource.right + (f"/{place.part}" if place.part else "")
        if not self._granted(user, verb, right):
            why = f'User "{user}" cannot {verb} resource "{right.partition("/")[2]}"'
            raise place.served.speaker.forbidden(place.name, f'{why} in API group "{place.served.resource.group}"')

    def _granted(self, user: str, verb: str, right: str) -> bool:
        return user not in self._rights or (verb, right) in self._rights[user]

    def _serve(self, resource: Resource) -> Served:
        served = Served(resource, since=self._ledger.version, window=self._window)
        self._paths.add(served)
        return served

    def _changed(self, served: Served, key: str) -> None:
        """Something is gone, or something that holds others has changed."""
        if served.resource.holds_others:
            if served is self._definitions:
                self._follow_definition(key)
            self._endings.note(served, key)
        if not self._sweeping:
            self._sweeping = True
            try:
                self._endings.sweep(self._writer)
            finally:
                self._sweeping = False

    def _follow_definition(self, key: str) -> None:
        record = self._definitions.collection.records.get(key)
        plural, _, group = key.partition(".")
        known = self._paths.find(plural, group)
        if record is None:
            if known is not None:
                self._paths.remove(known)
                for follower in tuple(known.collection.followers):
                    if isinstance(follower, Subscription):
                        follower.end()
            return
        resource = definitions.defined(record.tree)
        if known is None:
            self._serve(resource)
        else:
            known.resource = resource
            self._paths.add(known)


class TwinTransport:
    """The way to a twin, as one user."""

    def __init__(self, twin: KubeTwin, user: str) -> None:
        self._twin = twin
        self._user = user

    async def send(self, request: Request) -> Response:
        return self._twin.handle(request, self._user)

    async def open(self, request: Request) -> Stream:
        answer = self._twin.watch(request, self._user)
        return answer if isinstance(answer, Subscription) else Whole(answer)


class Whole:
    """An answer that came at once, read as a stream."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._body = response.body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    async def close(self) -> None:
        self._body = b""


def _verb(request: Request, place: Place) -> str:
    if request.method == "GET":
        if place.name:
            return "get"
        return "watch" if dict(request.query).get("watch") in listing.TRUE else "list"
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    verb = verbs.get(request.method, request.method.lower())
    return "deletecollection" if verb == "delete" and not place.name else verb
