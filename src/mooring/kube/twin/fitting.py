"""Does what was sent fit the place that it was sent to? Kinds, names, types, preconditions, and how far paths reach."""

import msgspec
from msgspec import Struct

from mooring.kube.twin import metadata
from mooring.kube.twin.answers import Json, Mistyped, Tree, bad_request, not_fitting_patch
from mooring.kube.twin.resources import Resource, Served, shaped
from mooring.kube.twin.storage import Record


class Place(Struct, frozen=True):
    """Where a request wants something done: a kind, perhaps a namespace, perhaps an object or a part of it."""

    served: Served
    namespace: str
    name: str
    part: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.served.resource.namespaced else self.name


def sent_object(resource: Resource, body: bytes) -> Tree:
    """The object in a body, provided that it is of the kind."""
    try:
        whole: Json = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"the object provided is unrecognized: json parse error: {error}") from None
    if not isinstance(whole, dict):
        raise bad_request("the object provided is unrecognized: couldn't get version/kind")
    kind, version = whole.get("kind", ""), whole.get("apiVersion", "")
    if resource.custom:
        if not kind or not version:
            raise bad_request("the object provided is unrecognized: Object 'Kind' is missing")
        if version != resource.api_version:
            raise bad_request(f"the API version in the data ({version}) does not match {resource.api_version}")
        _check_custom_kind(resource, whole)
    elif (kind or resource.kind, version or resource.api_version) != (resource.kind, resource.api_version):
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}')
    return whole


def _check_custom_kind(resource: Resource, whole: Tree) -> None:
    if whole["kind"] != resource.kind:
        meta = whole.get("metadata")
        name = meta.get("name", "") if isinstance(meta, dict) else ""
        details = {"name": name, "group": resource.group, "kind": whole["kind"]}
        refusal = not_fitting_patch(f"must be {resource.kind}")
        refusal.details = details | {"causes": [{"reason": "FieldValueInvalid", "field": "kind", "message": ""}]}
        raise refusal


def check_patched_head(resource: Resource, whole: Tree) -> None:
    if resource.custom and whole.get("kind") and whole.get("apiVersion") == resource.api_version:
        _check_custom_kind(resource, whole)
    elif {name: whole.get(name) for name in resource.head} != resource.head:
        raise not_fitting_patch("kind and apiVersion may not change")


def typed_object(resource: Resource, whole: Tree) -> Tree:
    """What was sent, held by the kind's own types."""
    try:
        return shaped(resource, whole, None)
    except Mistyped as error:
        raise bad_request(f'{resource.kind} in version "{resource.version}" cannot be handled: {error}') from None


def check_namespace(place: Place, meta: Tree) -> None:
    if place.served.resource.namespaced and meta.get("namespace", place.namespace) != place.namespace:
        message = "the namespace of the provided object does not match the namespace sent on the request"
        raise bad_request(message)


def check_name(place: Place, meta: Tree) -> None:
    name = meta.get("name", "")
    if not name:
        raise bad_request(f"the name of the object ({place.name} based on URL) was undeterminable")
    if name != place.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({place.name})")
    check_namespace(place, meta)


def reachable(place: Place, new: Tree, before: Tree) -> Tree:
    """What this path may change of an object: all but its status, or its status alone."""
    resource, asked = place.served.resource, new["metadata"]
    meta = asked if asked is before["metadata"] else metadata.kept(asked, before["metadata"])
    if place.part:
        tree = {**before, "metadata": meta if resource.status_path_writes_metadata else before["metadata"]}
        source = new
    elif resource.has_status:
        tree = {**new, "metadata": meta}
        source = before
    else:
        return {**new, "metadata": meta}
    if "status" in source:
        tree["status"] = source["status"]
    else:
        tree.pop("status", None)
    return tree


def check_preconditions(place: Place, old: Record, body: bytes) -> None:
    if not body:
        return
    try:
        options: Json = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(options, dict) or options.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request("the body is not of kind DeleteOptions")
    wanted = options.get("preconditions") or {}
    meta = old.tree["metadata"]
    for name, told in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(name) is not None and wanted[name] != meta[name]:
            why = f"the {told} in the precondition ({wanted[name]}) does not match the {told} in record ({meta[name]})"
            raise place.served.speaker.conflict(place.name, why)
