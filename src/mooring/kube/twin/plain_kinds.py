"""Namespaces, Leases and Events: their fields, defaults and rules."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from mooring.kube.twin import names
from mooring.kube.twin.answers import Fault, Json, Mistyped, Tree, invalid, required
from mooring.kube.twin.metadata import fitted
from mooring.kube.twin.resources import Resource, Rules, Shape, anything
from mooring.kube.twin.selectors import OF_EVERY_KIND, field

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
NAME_LABEL = "kubernetes.io/metadata.name"
LONGEST_NOTE = 1024
LONGEST_WORD = 128
FEWEST_REPEATS = 2


def micro_time(value: Json) -> Json:
    """A time with exactly six digits after the point, in UTC."""
    if value is None:
        return None
    if not isinstance(value, str) or not MICRO_TIME.fullmatch(value):
        raise Mistyped(f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00"')
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise Mistyped(f'parsing time "{value}": {error}') from None
    return value if value.endswith("Z") else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def text(value: Json) -> Json:
    if value is not None and not isinstance(value, str):
        raise Mistyped(f"cannot unmarshal {type(value).__name__} into Go struct field of type string")
    return value or None


def _number(value: Json) -> Json:
    return value or None


def held_by(shape: type[Struct]) -> Shape:
    return lambda value: None if value is None else fitted(value, shape)


class _NamespaceRules(Rules):
    def completed(self, new: Tree, old: Tree | None) -> Tree:
        meta = new["metadata"]
        name = meta.get("name", "")
        if name and meta.get("labels", {}).get(NAME_LABEL) != name:
            new = new | {"metadata": meta | {"labels": meta.get("labels", {}) | {NAME_LABEL: name}}}
        if old is None:
            return new | {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        return new | {"spec": old["spec"]}


NAMESPACES = Resource(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    fields={"spec": anything, "status": anything},
    blank={"spec": {}, "status": {}},
    rules=_NamespaceRules(),
    has_status=True,
    dotted_names=False,
    delete_answers_object=True,
    deletes_collections=False,
    holds_others=True,
    selectable={**OF_EVERY_KIND, "status.phase": field("status", "phase")},
)


class _LeaseSpec(Struct, rename="camel", omit_defaults=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


def _lease_spec(value: Json) -> Json:
    spec = fitted(value or {}, _LeaseSpec)
    for name in ("acquireTime", "renewTime"):
        if name in spec:
            spec[name] = micro_time(spec[name])
    return spec


class _LeaseRules(Rules):
    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        del old
        spec = new["spec"]
        if spec.get("leaseDurationSeconds", 1) <= 0:
            yield invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
        if spec.get("leaseTransitions", 0) < 0:
            yield invalid("spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0")


LEASES = Resource(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    fields={"spec": _lease_spec},
    blank={"spec": {}},
    rules=_LeaseRules(),
    finalizers_have_domain=False,
    created_by_put=True,
    needs_version=True,
)


class Reference(Struct, rename="camel", omit_defaults=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class _Series(Struct, rename="camel", omit_defaults=True):
    count: int = 0
    last_observed_time: str | None = None


def _series(value: Json) -> Json:
    if value is None:
        return None
    series = fitted(value, _Series)
    if "lastObservedTime" in series:
        series["lastObservedTime"] = micro_time(series["lastObservedTime"])
    return series


def _reference(value: Json) -> Json:
    return fitted(value or {}, Reference)


EVENT_WORDS = ("reportingInstance", "action", "reason")
EVENT_FIXED = ("eventTime", "reportingController", *EVENT_WORDS, "regarding", "related", "note", "type")


class _EventRules(Rules):
    """Only the series of an event, and its metadata, may change."""

    def faults(self, new: Tree, old: Tree | None) -> Iterator[Fault]:
        yield from _event_faults(new)
        series = new.get("series")
        if series is not None and series.get("count", 0) < FEWEST_REPEATS:
            yield invalid("series.count", "", "should be at least 2")
        if series is not None and "lastObservedTime" not in series:
            yield required("series.lastObservedTime")
        for name in EVENT_FIXED if old is not None else ():
            if new.get(name) != (old or {}).get(name):
                yield invalid({"note": "message", "regarding": "involvedObject"}.get(name, name), "", "is immutable")


def _event_faults(new: Tree) -> Iterator[Fault]:
    for name in ("eventTime", "reportingController", *EVENT_WORDS):
        if not new.get(name):
            yield required(name)
    if not names.is_qualified(new.get("reportingController", "")):
        yield invalid("reportingController", new.get("reportingController", ""), names.BAD_WORD)
    for name in EVENT_WORDS:
        if len(new.get(name, "").encode()) > LONGEST_WORD:  # it says characters, and counts bytes
            yield invalid(name, "", f"can have at most {LONGEST_WORD} characters")
    if len(new.get("note", "").encode()) > LONGEST_NOTE:
        yield invalid("message", "", f"can have at most {LONGEST_NOTE} characters")
    if new.get("type") not in {"Normal", "Warning"}:
        yield invalid("type", "", f"has invalid value: {new.get('type', '')}")
    if not new["regarding"].get("namespace") and new["metadata"].get("namespace") not in {"default", "kube-system"}:
        yield invalid("involvedObject.namespace", "", "does not match event.namespace")


EVENTS = Resource(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    fields={
        "eventTime": micro_time,
        "series": _series,
        "regarding": _reference,
        "related": held_by(Reference),
        "deprecatedSource": anything,
        "deprecatedFirstTimestamp": anything,
        "deprecatedLastTimestamp": anything,
        "deprecatedCount": _number,
        **dict.fromkeys(("reportingController", *EVENT_WORDS, "note", "type"), text),
    },
    blank={
        "eventTime": None,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    },
    rules=_EventRules(),
    created_by_put=True,
    selectable={
        **OF_EVERY_KIND,
        "reason": field("reason"),
        "type": field("type"),
        "reportingController": field("reportingController"),
        **{f"regarding.{name}": field("regarding", name) for name in ("kind", "namespace", "name", "uid")},
    },
)


ALL = (NAMESPACES, LEASES, EVENTS)
