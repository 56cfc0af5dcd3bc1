"""What the audit logs of Kubernetes and Neutron say of the controllers, and how that compares with their rights."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from mooring.controller.permissions import Permission
from mooring.lab.lab import Lab

USER = "system:serviceaccount:mooring-system:mooring"
"""Who the controllers are."""
READS = ("get", "list", "watch")
NEUTRON = re.compile(r"^audit (?P<at>\S+) (?P<address>\S+) (?P<what>\S+ \S+) (?P<status>\d+)$", re.MULTILINE)


class Asked(Struct, frozen=True, order=True):
    """A request, as far as rights go. What is no resource has its path for a name."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    refused: bool = False

    def __str__(self) -> str:
        """As a person would say it."""
        group = f".{self.group}" if self.group else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group} {self.name}{where}".replace("  ", " ").strip()


class AuditLog:
    """What has been written into a lab's audit log since this was made."""

    def __init__(self, lab: Lab) -> None:
        self._file = lab.place.log / "audit.log"
        self._begin = self._file.stat().st_size

    def asked(self) -> Counter[Asked]:
        """All that the controllers have asked for."""
        with self._file.open("rb") as file:
            file.seek(self._begin)
            whole, _, _ = file.read().rpartition(b"\n")
        return requests(json.loads(line) for line in whole.splitlines())

    def has(self, verb: str, resource: str) -> bool:
        return any((each.verb, each.resource) == (verb, resource) for each in self.asked())


class Write(Struct, frozen=True, order=True):
    """A request that was to change something: when it came, from which address, and how it was answered."""

    at: datetime
    address: str
    what: str
    status: int

    @property
    def passed(self) -> bool:
        return self.status < HTTPStatus.MULTIPLE_CHOICES


def writes(lab: Lab, host: str, since: datetime) -> list[Write]:
    """What the controller on a host wrote since, to Kubernetes or Neutron; its attempts to be elected apart."""
    address = lab.spec.management(host)
    every = (*_kubernetes_writes(lab), *_neutron_writes(lab))
    return sorted(each for each in every if each.address == address and each.at >= since)


def _kubernetes_writes(lab: Lab) -> Iterator[Write]:
    whole, _, _ = (lab.place.log / "audit.log").read_bytes().rpartition(b"\n")
    for entry in map(json.loads, whole.splitlines()):
        asked = _asked(entry)
        if entry["user"]["username"] == USER and asked.verb not in READS and asked.resource != "leases":
            at = datetime.fromisoformat(entry["requestReceivedTimestamp"])
            yield Write(at, entry["sourceIPs"][0], str(asked), entry["responseStatus"]["code"])


def _neutron_writes(lab: Lab) -> Iterator[Write]:
    text = lab.place.log_of("neutron").read_text(errors="replace")
    for each in NEUTRON.finditer(text):
        yield Write(datetime.fromisoformat(each["at"]), each["address"], each["what"], int(each["status"]))


def requests(entries: Iterable[Mapping[str, Any]]) -> Counter[Asked]:
    """What the controllers asked for, how often. A watch is written down when it begins, and again when it ends."""
    ours = (each for each in entries if each["user"]["username"] == USER)
    return Counter(_asked(each) for each in ours)


def _asked(entry: Mapping[str, Any]) -> Asked:
    about = entry.get("objectRef") or {"name": entry["requestURI"]}
    part = f"/{about['subresource']}" if "subresource" in about else ""
    return Asked(
        entry["verb"],
        about.get("apiGroup", ""),
        f"{about.get('resource', '')}{part}",
        about.get("namespace", ""),
        about.get("name", ""),
        refused=entry["responseStatus"].get("code") == HTTPStatus.FORBIDDEN,
    )


def complaints(table: Collection[Permission], asked: Collection[Asked]) -> list[str]:
    """What the table has too much or too little, a sentence each; none when it is exactly what was asked for."""
    refused = [f"refused: {each}; grant it in permissions.py, or do not ask for it" for each in asked if each.refused]
    beyond = [
        f"not in the table: {each}; somebody else has granted it"
        for each in asked
        if not each.refused and not any(allows(row, each) for row in table)
    ]
    unused = [
        f"never asked for: {verb} {row.resource} {name}; take it out of permissions.py".replace(" ;", ";")
        for row in table
        for verb in row.verbs
        for name in row.names or ("",)
        if not any(allows(row, each) for each in asked if each.verb == verb and name in ("", each.name))
    ]
    return sorted((*refused, *beyond, *unused))


def allows(row: Permission, asked: Asked) -> bool:
    """Whether RBAC lets it pass: who lists or watches one object by name has it in the log too."""
    return (
        asked.verb in row.verbs
        and (asked.group, asked.resource) == (row.kind.group, row.resource)
        and row.namespace in ("", asked.namespace)
        and (not row.names or asked.name in row.names)
    )
