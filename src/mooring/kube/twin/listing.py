"""Lists, page by page, at one version; and the parameters that lists and watches have in common."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from mooring.kube.twin import selectors
from mooring.kube.twin.answers import (
    Tree,
    bad_request,
    expired,
    fault_of_server,
    forbidden,
    invalid_options,
    too_new,
    unsupported,
)
from mooring.kube.twin.resources import Resource, Served
from mooring.kube.twin.storage import Record
from mooring.kube.twin.watching import Scope

TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105 - a version, no secret
TRUE = frozenset({"1", "true", "True", "t", "T", "TRUE"})
MATCHES = ("Exact", "NotOlderThan")


class Token(Struct, rename={"format": "v", "version": "rv"}):
    """Where the next page begins, and of which version it is."""

    format: str
    version: int
    start: str


def scope(resource: Resource, namespace: str, query: Mapping[str, str]) -> Scope:
    """Which objects a request asks for."""
    prefix = f"{namespace}/" if namespace else ""
    labels, fields = query.get("labelSelector", "").strip(), query.get("fieldSelector", "").strip()
    tests: list[Callable[[Record], bool]] = []
    if labels:
        by_label = selectors.label_test(labels)
        tests.append(lambda record: by_label(record.labels))
    if fields:
        by_field = selectors.field_test(fields, resource.selectable)
        tests.append(lambda record: by_field(record.tree))
    if not tests:
        return Scope(prefix)
    if len(tests) == 1:
        return Scope(prefix, tests[0])
    return Scope(prefix, lambda record: all(test(record) for test in tests))


def answer(served: Served, wanted: Scope, query: Mapping[str, str], now: int) -> bytes:
    """A list, or a page of one."""
    limit = _number(query.get("limit", "0"))
    token = _token(query)
    version = _version(query, now, limit=limit) if token is None else token.version
    if version < served.collection.floor and version != now:
        raise expired("The provided continue parameter is too old, or the resourceVersion for the provided list is")
    if query.get("resourceVersion") == "0":
        limit = 0
    snapshot = served.collection.at(version)
    start = "" if token is None else wanted.prefix + token.start
    items: list[Record] = []
    more = False
    for record in snapshot.below(wanted.prefix, start):
        if wanted.selects is not None and not wanted.selects(record):
            continue
        if limit and len(items) == limit:
            more = True
            break
        items.append(record)
    meta: Tree = {"resourceVersion": str(version)}
    if more:
        last = items[-1].key
        following = Token(TOKEN_VERSION, version, last[len(wanted.prefix) :] + "\0")
        meta["continue"] = base64.urlsafe_b64encode(msgspec.json.encode(following)).decode().rstrip("=")
        if wanted.selects is None:
            meta["remainingItemCount"] = snapshot.count_below(wanted.prefix, last)
    return body(served, meta, items)


def body(served: Served, meta: Tree, items: Sequence[Record]) -> bytes:
    if served.resource.custom:
        meta.setdefault("continue", "")
    head = {"kind": f"{served.resource.kind}List", "apiVersion": served.resource.api_version, "metadata": meta}
    return msgspec.json.encode(head)[:-1] + b',"items":[' + b",".join(map(served.item, items)) + b"]}"


def _token(query: Mapping[str, str]) -> Token | None:
    text = query.get("continue", "")
    if not text:
        return None
    if query.get("resourceVersion", "0") not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Token)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from None


def _version(query: Mapping[str, str], now: int, *, limit: int) -> int:
    """The version that a list is to be of."""
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if match and not asked:
        raise invalid_options(forbidden("resourceVersionMatch", "is forbidden unless resourceVersion is provided"))
    if match and match not in MATCHES:
        raise invalid_options(unsupported("resourceVersionMatch", match, MATCHES))
    if match == "Exact" and asked == "0":
        raise invalid_options(forbidden("resourceVersionMatch", '"exact" is forbidden for resourceVersion "0"'))
    if not asked:
        return now
    if not asked.isdecimal():
        raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{asked}"')
    version = int(asked)
    if version > now:
        raise too_new(version, now)
    return version if match == "Exact" or (not match and limit and version) else now


def _number(text: str) -> int:
    try:
        return int(text or "0")
    except ValueError as error:
        raise bad_request(f"strconv.ParseInt: {error}") from None


def watched_version(query: Mapping[str, str], now: int) -> int | None:
    """The version after which a watch begins; None if all that there is comes first."""
    match, initial = query.get("resourceVersionMatch", ""), query.get("sendInitialEvents")
    if match and initial is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise invalid_options(forbidden("resourceVersionMatch", why))
    if initial is not None and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid_options(forbidden("resourceVersionMatch", why))
    asked = query.get("resourceVersion", "")
    if asked and not asked.isdecimal():
        raise fault_of_server(f'resourceVersion: Invalid value: "{asked}"')
    if initial in TRUE or (initial is None and asked in {"", "0"}):
        return None
    return int(asked) if asked else now
