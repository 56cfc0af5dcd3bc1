"""Outside client -> address -> gateway -> pods of both nodes, in both families, and on after a fail-over."""

from collections.abc import Iterator

import pytest

from mooring.lab import lifecycle, waiting
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from tests.lab import probe
from tests.lab.gateway_path import GatewayPath
from tests.lab.tenant import Tenant


@pytest.fixture(params=[4, 6], ids=["ipv4", "ipv6"])
def path(request: pytest.FixtureRequest, lab: Lab, tenant: Tenant) -> Iterator[GatewayPath]:
    tenant.deploy("web", replicas=4)
    made = GatewayPath(lab, version=request.param)
    made.create([(address, 8080) for address in tenant.pod_addresses("web", version=request.param)])
    yield made
    for gateway in lab.spec.gateway_names:
        if not lab.processes.alive(f"keepalived-{gateway}"):
            lifecycle.restart(lab, f"keepalived-{gateway}", PlainProgress())
    made.delete()


def test_an_address_on_the_gateways_reaches_every_pod(lab: Lab, path: GatewayPath) -> None:
    answers = [probe.get(lab, "client", path.outside) for _ in range(40)]
    assert len(set(answers)) == 4
    assert "" not in answers


def test_it_is_served_on_after_its_gateway_has_ended(lab: Lab, path: GatewayPath) -> None:
    first = path.holder()
    assert first is not None
    lab.processes.stop(f"keepalived-{first}", seconds=10)
    waiting.until(lambda: path.holder() not in (None, first), seconds=15, what="the address to move")
    answers = {probe.get(lab, "client", path.outside) for _ in range(20)}
    assert len(answers) >= 2
    assert "" not in answers
