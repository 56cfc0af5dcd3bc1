"""Which ports a Service has, by what it says."""

import msgspec
import pytest

from mooring.core import having
from mooring.core.addresses import Addresses, Place
from mooring.model.cloud import NetworkId, SubnetId
from mooring.model.kubernetes import Service
from tests.core.test_picture import A, B, port, service

BOGUS = "bogus"


def known() -> Addresses:
    addresses = Addresses(Place("c", NetworkId("n"), SubnetId("s")))
    addresses.replace([port("a", "10.0.0.5"), port("b", "10.0.0.6")], [], [])
    return addresses


def deleting(given: Service) -> Service:
    gone = msgspec.structs.replace(given.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(given, metadata=gone)


@pytest.mark.parametrize(
    ("given", "ports", "mapped"),
    [
        (service("web", 80), (), False),
        (service("web", 80, on="a"), (A,), True),
        (service("web", 80, on="a", shown="10.0.0.6"), (A,), True),
        (service("web", 80, shown="10.0.0.6"), (B,), True),
        (service("web", 80, shown="198.51.100.7"), (), False),
        (service("web", 80, on=BOGUS), (BOGUS,), True),
        (service("web", 80, on=BOGUS, shown="10.0.0.6"), (B,), True),
        (service("web", 80, on=BOGUS, shown="198.51.100.7"), (BOGUS,), True),
        (deleting(service("web", 80, on="a")), (A,), False),
        (deleting(service("web", 80, shown="10.0.0.6")), (), False),
    ],
)
def test_each_way_to_say_it(given: Service, ports: tuple[str, ...], mapped: bool) -> None:  # noqa: FBT001 - a column of the table
    assert having.ports_of(given, known()) == ports
    assert having.mapped(given, known()) is mapped
