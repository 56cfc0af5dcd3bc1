"""etcd as it was: everything that a cluster holds, kept aside, and put back together with its versions.

What else a server knows is not kept: who watches is cut off, and no change that led there is remembered. Ids go on, as
no two objects ever get the same one. Kinds that were defined since stay, without objects.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from mooring.kube.twin.resources import Served
from mooring.kube.twin.storage import Record
from mooring.kube.twin.writing import Ledger


class Backup(Struct, frozen=True):
    version: int
    records: Mapping[str, Mapping[str, Record]]
    """By kind, as rights name it, then by key."""


def taken(every: Iterable[Served], ledger: Ledger) -> Backup:
    return Backup(ledger.version, {each.resource.right: dict(each.collection.records) for each in every})


def put_back(backup: Backup, every: Iterable[Served], ledger: Ledger) -> None:
    ledger.version = backup.version
    for served in every:
        rules, before = served.resource.rules, served.collection.records
        for record in before.values():
            rules.released(record.tree)
        served.collection.restore(backup.records.get(served.resource.right, {}), backup.version)
        for record in served.collection.records.values():
            rules.restored(record.tree)
