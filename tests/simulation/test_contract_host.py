"""The twins of a gateway's host keep the contract of the real parts."""

import pytest

from mooring.agent.host import Filter
from mooring.host.disk import Disk
from tests.contract.agent.suite import *  # noqa: F403 - the suite is one list, and this is where it is played
from tests.simulation import disk as twin
from tests.simulation.host import Kernel, PointedDisk


@pytest.fixture
def packet_filter() -> Filter:
    return Kernel(lambda _: None)


@pytest.fixture
def disk() -> Disk:
    return PointedDisk(twin.Disk(), lambda _: None)
