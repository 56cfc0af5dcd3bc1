"""What only looks: an object, a list, a watch, as they are or were at a version."""

from collections.abc import Mapping
from http import HTTPStatus

from mooring.kube.twin import listing, watching
from mooring.kube.twin.answers import HEADERS, expired, fault_of_server, method_not_allowed, too_new
from mooring.kube.twin.fitting import Place
from mooring.kube.twin.resources import Served
from mooring.kube.twin.storage import Record
from mooring.kube.twin.watching import Subscription
from mooring.wire.http import Response


def told(place: Place, record: Record, status: int = HTTPStatus.OK) -> Response:
    return Response(int(status), HEADERS, place.served.body(record))


def found(place: Place) -> Response:
    """The object of a place, as it is."""
    record = place.served.collection.records.get(place.key)
    if record is None:
        raise place.served.speaker.not_found(place.name)
    return told(place, record)


def read(place: Place, query: Mapping[str, str], version: int) -> Response:
    """The object or list of a place, as it was at a version that is taken for the newest."""
    if not place.name:
        wanted = listing.scope(place.served.resource, place.namespace, query)
        return Response(int(HTTPStatus.OK), HEADERS, listing.answer(place.served, wanted, query, version))
    asked = query.get("resourceVersion", "")
    if asked and not asked.isdecimal():
        raise fault_of_server(f'resourceVersion: Invalid value: "{asked}"')
    if asked and int(asked) > version:
        raise too_new(int(asked), version)
    record = place.served.collection.at(version).records.get(place.key)
    if record is None:
        raise place.served.speaker.not_found(place.name)
    return told(place, record)


def watch(place: Place, query: Mapping[str, str], now: int) -> Subscription:
    """Follow the objects of a place. A version that is forgotten is an error on the stream, not in its head."""
    if place.name:
        raise method_not_allowed()
    collection = place.served.collection
    wanted = listing.scope(place.served.resource, place.namespace, query)
    version = listing.watched_version(query, now)
    bookmarks = query.get("allowWatchBookmarks") in listing.TRUE
    subscription = Subscription(
        wanted, since=now if version is None else version, wants_bookmarks=bookmarks, on_end=collection.followers.remove
    )
    if version is not None and version < collection.floor:
        collection.followers.append(subscription)
        subscription.push(watching.error_line(expired(f"too old resource version: {version} ({now})")))
        subscription.end()
        return subscription
    watching.begin(collection, subscription, wanted, version=version, now=now)
    if bookmarks and query.get("sendInitialEvents") in listing.TRUE:
        subscription.push(bookmark(place.served, now, ends_initial=True))
    return subscription


def bookmark(served: Served, version: int, *, ends_initial: bool) -> bytes:
    resource = served.resource
    return watching.bookmark_line(resource.head, dict(resource.blank), version, ends_initial=ends_initial)
