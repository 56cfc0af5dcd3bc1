"""Ways to lose a gateway that only a cloud has, through our own daemons, with both kinds of floating IPs.

Given 20 open connections and a client that calls all the time, when the cables of the gateway that holds the addresses
are pulled, or the Open vSwitch of its host dies, then all connections go on.
"""

import signal
from collections.abc import Callable, Iterator

import pytest

from mooring.lab import callers, faults, lifecycle, waiting
from mooring.lab.lab import Lab, open_lab
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec
from tests.lab import moored, probe
from tests.lab.gateway_path import ECHO
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

NAME = "moves"
COUNT = 20
CHASSIS = {"gw1": "n1", "gw2": "n2"}


@pytest.fixture(params=["centralized", "distributed"])
def product(request: pytest.FixtureRequest) -> Iterator[Moored]:
    lifecycle.down(NAME)
    spec = Spec(name=NAME, distributed_fips=request.param == "distributed", without=("octavia",))
    lifecycle.up(spec, PlainProgress())
    lifecycle.deploy(open_lab(NAME), "host", PlainProgress())
    yield Moored(open_lab(NAME))
    lifecycle.down(NAME)


def cables_pulled(lab: Lab, gateway: str) -> None:
    for link in ("eth0", "eth1"):
        faults.cut(lab, gateway, link)


def chassis_dead(lab: Lab, gateway: str) -> None:
    for part in ("vswitchd", "ovn-controller"):
        faults.kill(lab, f"{part}-{CHASSIS[gateway]}", signal.SIGKILL)


EVENTS: dict[str, Callable[[Lab, str], None]] = {"cables pulled": cables_pulled, "chassis dead": chassis_dead}


def test_connections_outlive_what_happens_to_their_gateway(product: Moored, request: pytest.FixtureRequest) -> None:
    lab = product.lab
    tenant = Tenant(lab, "moved")
    tenant.create()
    tenant.deploy("web", replicas=2)
    tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
    moored.expose(tenant, "web", port=80)
    moored.expose(tenant, "echo", port=81)
    given = moored.address(tenant, "web")
    assert moored.address(tenant, "echo") == given
    probe.first_answer(lab, "client", given)
    port = tenant.get("service", "web")["metadata"]["annotations"]["openstack.org/mooring-port"]
    for what, event in EVENTS.items():
        first = product.holder()
        with (
            callers.Connections(lab, "client", given, count=COUNT, port=81) as connections,
            callers.Caller(lab, "client", given) as caller,
        ):
            assert connections.working(first=True) == COUNT
            event(lab, first)
            moved_from(product, port, first)
            probe.first_answer(lab, "client", given)
            kept, went = connections.working(), caller.end()
        print(f"{request.node.name}, {what}: {kept} of {COUNT} kept, {went.longest} s of silence")  # noqa: T201 - figures
        assert kept == COUNT
        faults.heal(lab)
        lifecycle.up(lab.spec, PlainProgress())
        assert product.holder()


def moved_from(product: Moored, port: str, first: str) -> None:
    waiting.until(lambda: product.virtual_parent(port) not in ("", first), seconds=20, what="the address to move")
