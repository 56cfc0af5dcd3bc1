"""Which nodes packets may be sent to."""

import pytest

from mooring.core import nodes
from mooring.core.nodes import Usable
from mooring.model import names
from mooring.model.kubernetes import Meta, Node, NodeAddress, NodeCondition, NodeStatus

BOTH = (NodeAddress("InternalIP", "172.30.0.11"), NodeAddress("InternalIP", "fd00::11"))

TWO = ("172.30.0.11", "fd00::11")


def node(
    name: str = "n1",
    ready: str | None = "True",
    addresses: tuple[NodeAddress, ...] = BOTH,
    labels: dict[str, str] | None = None,
) -> Node:
    conditions = (NodeCondition("MemoryPressure", "False"), *((NodeCondition("Ready", ready),) if ready else ()))
    return Node(Meta(name=name, labels=labels or {}), NodeStatus(conditions, addresses))


@pytest.mark.parametrize(
    ("found", "addresses"),
    [
        (node(), TWO),
        (node(addresses=(NodeAddress("Hostname", "n1"), *BOTH, NodeAddress("ExternalIP", "203.0.113.1"))), TWO),
        (node(labels={"kubernetes.io/hostname": "n1"}), TWO),
        (node(ready="False"), ()),
        (node(ready="Unknown"), ()),
        (node(ready=None), ()),
        (node(labels={names.EXCLUDED: ""}), ()),
        (node(labels={names.EXCLUDED: "false"}), ()),  # that it is there counts, not what it says
        (node(addresses=(NodeAddress("ExternalIP", "203.0.113.1"),)), ()),
        (Node(), ()),
        (None, ()),
    ],
)
def test_each_row(found: Node | None, addresses: tuple[str, ...]) -> None:
    usable = nodes.usable(found)
    assert (usable.addresses if usable else ()) == addresses


def test_all_of_them_in_a_fixed_order() -> None:
    found = (node("n2"), node("n3", ready="False"), node("n1"))
    assert [each.name for each in nodes.all_usable(found)] == ["n1", "n2"]
    assert nodes.all_usable(reversed(found)) == nodes.all_usable(found)
    assert nodes.usable(node()) == Usable("n1", TWO)
