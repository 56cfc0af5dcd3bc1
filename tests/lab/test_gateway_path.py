"""Outside client -> address -> gateway -> pods of both nodes, in both families, and on after a fail-over."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mooring.lab import lifecycle, waiting
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from tests.lab import probe
from tests.lab.gateway_path import GatewayPath
from tests.lab.tenant import Tenant

ECHO = ("/bin/sh", "-c", "exec nc -ll -p 8080 -e cat")
CONNECTIONS = 20


@pytest.fixture(params=[4, 6], ids=["ipv4", "ipv6"])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@contextmanager
def served(tenant: Tenant, name: str, version: int) -> Iterator[GatewayPath]:
    """An address in front of a Deployment; afterwards all gateways are as before."""
    lab = tenant.lab
    path = GatewayPath(lab, version=version)
    path.create([(address, 8080) for address in tenant.pod_addresses(name, version=version)])
    try:
        yield path
    finally:
        for gateway in lab.spec.gateway_names:
            if not lab.processes.alive(f"keepalived-{gateway}"):
                lifecycle.restart(lab, f"keepalived-{gateway}", PlainProgress())
        path.delete()


def end_holder(lab: Lab, path: GatewayPath) -> None:
    """End VRRP on the gateway that has the address, and wait until another has it."""
    first = path.holder()
    lab.processes.stop(f"keepalived-{first}", seconds=10)
    waiting.until(lambda: path.holder() not in (None, first), seconds=15, what="the address to move")


def test_an_address_on_the_gateways_reaches_every_pod(lab: Lab, tenant: Tenant, version: int) -> None:
    tenant.deploy("web", replicas=4)
    with served(tenant, "web", version) as path:
        answers = [probe.get(lab, "client", path.outside) for _ in range(40)]
        assert len(set(answers)) == 4
        assert "" not in answers
        end_holder(lab, path)
        assert "" not in [probe.get(lab, "client", path.outside) for _ in range(20)]


def test_established_connections_outlive_their_gateway(lab: Lab, tenant: Tenant, version: int) -> None:
    """A stateless group, loose tracking, the VIP as source and one choice for all gateways: the world offers each."""
    tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
    with (
        served(tenant, "echo", version) as path,
        probe.Connections(lab, "client", path.outside, count=CONNECTIONS) as connections,
    ):
        assert connections.working(first=True) == CONNECTIONS
        end_holder(lab, path)
        assert connections.working() == CONNECTIONS
