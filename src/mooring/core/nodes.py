"""Which nodes packets may be sent to. Of a node nothing else counts: that it lives is told every few seconds."""

from collections.abc import Iterable

from msgspec import Struct

from mooring.model import names
from mooring.model.kubernetes import Node


class Usable(Struct, frozen=True, order=True):
    """A node that takes packets from outside, and its addresses inside of the cluster."""

    name: str
    addresses: tuple[str, ...]


def usable(node: Node | None) -> Usable | None:
    """None, if there is nothing to be sent there.

    ready  label to exclude it  has an InternalIP  ->  usable
    -----  -------------------  -----------------      ------
    yes    no                   yes                    yes, whether new pods may be scheduled there or not
    -      -                    -                      no
    """
    if node is None or names.EXCLUDED in node.metadata.labels:
        return None
    if not any((each.type, each.status) == ("Ready", "True") for each in node.status.conditions):
        return None
    addresses = tuple(each.address for each in node.status.addresses if each.type == "InternalIP")
    return Usable(node.metadata.name, addresses) if addresses else None


def all_usable(nodes: Iterable[Node]) -> tuple[Usable, ...]:
    return tuple(sorted(found for each in nodes if (found := usable(each)) is not None))
