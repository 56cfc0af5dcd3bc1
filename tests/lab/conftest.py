"""One lab for all tests that need the real world, and for each test a namespace and a project of its own."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.lab import faults, lifecycle
from mooring.lab.lab import Lab, open_lab
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

NAME = os.environ.get("MOORING_TEST_LAB", "test")
"""Another name lets two runs go side by side."""


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A lab of its own name; what an earlier run left is removed first."""
    lifecycle.down(NAME)
    lifecycle.up(Spec(name=NAME), PlainProgress())
    yield open_lab(NAME)
    lifecycle.down(NAME)


@pytest.fixture(scope="module")
def product(lab: Lab) -> Iterator[Moored]:
    """The lab with Mooring in it, for the tests of one file."""
    lifecycle.deploy(lab, "host", PlainProgress())
    yield Moored(open_lab(lab.spec.name))
    lifecycle.deploy(open_lab(lab.spec.name), "", PlainProgress())


@pytest.fixture
def tenant(lab: Lab) -> Iterator[Tenant]:
    """A Kubernetes namespace and an OpenStack project with an ordinary member, both removed afterwards."""
    tenant = Tenant(lab, f"t-{uuid.uuid4().hex[:8]}")
    tenant.create()
    yield tenant
    tenant.delete()


@pytest.fixture
def nothing_is_left(product: Moored, tenant: Tenant) -> Iterator[None]:
    """Each test begins without Services of ours; the next one does not wait for what this one leaves in the cloud."""
    yield
    faults.heal(product.lab)
    tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=60s")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of all brings the lab up, perhaps on an empty machine: a limit for real deadlocks only."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(2400))
