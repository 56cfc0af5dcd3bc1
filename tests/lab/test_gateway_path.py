"""Outside client -> address -> gateway -> pods of both nodes, in both families, and on after a fail-over."""

import pytest

from mooring.lab.lab import Lab
from tests.lab import probe
from tests.lab.gateway_path import connections_kept, end_holder, served
from tests.lab.tenant import Tenant

CONNECTIONS = 20


@pytest.fixture(params=[4, 6], ids=["ipv4", "ipv6"])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_an_address_on_the_gateways_reaches_every_pod(lab: Lab, tenant: Tenant, version: int) -> None:
    tenant.deploy("web", replicas=4)
    with served(tenant, "web", version) as path:
        answers = [probe.get(lab, "client", path.outside) for _ in range(40)]
        assert len(set(answers)) == 4
        assert "" not in answers
        end_holder(lab, path)
        assert "" not in [probe.get(lab, "client", path.outside) for _ in range(20)]


def test_established_connections_outlive_their_gateway(tenant: Tenant, version: int) -> None:
    """A stateless group, loose tracking, the VIP as source and one choice for all gateways: the world offers each."""
    assert connections_kept(tenant, version, count=CONNECTIONS) == CONNECTIONS
