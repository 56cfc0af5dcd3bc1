"""All that the twin remembers, and the little that all kinds of objects share: ids, times, quotas, owners."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from mooring.cloud import kinds
from mooring.cloud.twin import refusals
from mooring.cloud.twin.addresses import AddressBook
from mooring.cloud.twin.tables import Table
from mooring.model import cloud
from mooring.model.cloud import Port, ProjectId

NO_LIMIT = -1
RESOURCES = ("network", "subnet", "port", "router", "floatingip", "security_group", "security_group_rule")


class Caller(Struct, frozen=True):
    """Who asks: a member of a project, or an administrator."""

    project: ProjectId
    admin: bool = False


def without_binding(port: Port) -> Port:
    """A port as those see it who are not administrators."""
    return msgspec.structs.replace(port, binding_host_id=None, binding_vif_type=None)


class State:
    """Tables of all kinds. `limits` hold for projects that have none of their own."""

    def __init__(
        self, ids: Iterator[str], clock: Callable[[], float], *, limits: Mapping[str, int], address_pairs: int
    ) -> None:
        self.networks = Table(kinds.NETWORKS)
        self.subnets = Table(kinds.SUBNETS)
        self.ports = Table(kinds.PORTS, without_binding)
        self.routers = Table(kinds.ROUTERS)
        self.floating_ips = Table(kinds.FLOATING_IPS)
        self.groups = Table(kinds.SECURITY_GROUPS)
        self.rules = Table(kinds.SECURITY_GROUP_RULES)
        self.books: dict[str, AddressBook] = {}
        self.macs: set[tuple[str, str]] = set()
        self.default_groups: dict[str, str] = {}
        self.limits: dict[str, dict[str, int]] = {}
        self.most_address_pairs = address_pairs
        self._usual_limits = {resource: limits.get(resource, NO_LIMIT) for resource in RESOURCES}
        self._ids = ids
        self._clock = clock
        self._second = (-1, "")
        self._last_mac = 0

    def new(self, kind: type[Any], project: str, **fields: Any) -> Any:  # noqa: ANN401 - a struct of that kind
        """An object of that kind, not stored yet."""
        return kind(id=next(self._ids), project_id=project, created_at=self.now(), **fields)

    def now(self) -> str:
        second = int(self._clock())
        if self._second[0] != second:
            self._second = (second, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return self._second[1]

    def new_mac(self, network: str) -> str:
        while True:
            self._last_mac += 1
            low = self._last_mac
            mac = f"fa:16:3e:{low >> 16 & 255:02x}:{low >> 8 & 255:02x}:{low & 255:02x}"
            if (network, mac) not in self.macs:
                return mac

    def limits_of(self, project: str) -> dict[str, int]:
        return self._usual_limits | self.limits.get(project, {})

    def used(self, project: str) -> dict[str, int]:
        tables = (
            self.networks,
            self.subnets,
            self.ports,
            self.routers,
            self.floating_ips,
            self.groups,
            self.rules,
        )
        return {table.kind.singular: table.used[project] for table in tables}

    def check_quota(self, project: str, table: Table[Any], wanted: int) -> None:
        """Refuse what would be too many."""
        resource = table.kind.singular
        limit = self.limits.get(project, self._usual_limits).get(resource, self._usual_limits[resource])
        if 0 <= limit < table.used[project] + wanted:
            raise refusals.over_quota(resource)

    def visible(self, caller: Caller, row: cloud.Resource) -> bool:
        """May this caller know that this object exists?"""
        if caller.admin or row.project_id == caller.project:
            return True
        if isinstance(row, cloud.Network):
            return row.shared or row.external
        if isinstance(row, cloud.Subnet):
            return self.visible(caller, self.networks.rows[row.network_id])
        if isinstance(row, Port):
            return self.networks.rows[row.network_id].project_id == caller.project
        return False

    def writable(self, caller: Caller, row: cloud.Resource) -> bool:
        """May this caller change or delete this object that it sees? Whoever owns a network rules what is on it."""
        if caller.admin or row.project_id == caller.project:
            return True
        if isinstance(row, cloud.Subnet | Port):
            return self.networks.rows[row.network_id].project_id == caller.project
        return False
