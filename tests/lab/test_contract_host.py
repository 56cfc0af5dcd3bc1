"""The contract suite of a gateway's host, played to the real kernel, in a network of its own, and to a real folder."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.agent.host import Filter
from mooring.host.disk import Disk, Folder
from mooring.host.nftables import Nftables
from tests.contract.agent.suite import *  # noqa: F403 - the suite is one list, and this is where it is played
from tests.lab.doomed import LIBC, NETWORK

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables


@pytest.fixture
def packet_filter() -> Iterator[Filter]:
    """One of a network that this thread is in, and that ends with the test."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    filter_ = Nftables()
    try:
        assert LIBC.unshare(NETWORK) == 0, os.strerror(ctypes.get_errno())
        yield filter_
    finally:
        filter_.close()
        assert LIBC.setns(own, NETWORK) == 0, os.strerror(ctypes.get_errno())
        os.close(own)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Folder(tmp_path / "state")
