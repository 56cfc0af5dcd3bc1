"""Gateways come and go, under traffic: one is drained, one hangs, one leaves the configuration and comes back."""

import json
import signal
import time

import pytest

from mooring.lab import callers, faults, lifecycle, topology, waiting
from mooring.lab import product as deployed
from mooring.lab.errors import CommandError
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from tests.lab import moored, probe
from tests.lab.gateway_path import ECHO
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

pytestmark = pytest.mark.usefixtures("nothing_is_left")

COUNT = 20
SOON = 5.0
"""Much less than what one waits for the answer to a document."""
GRACE = 3.0


@pytest.fixture
def served(product: Moored, tenant: Tenant) -> str:
    """A web server on port 80 and an echo on port 81 of one address."""
    tenant.deploy("web", replicas=2)
    tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
    moored.expose(tenant, "web", port=80)
    moored.expose(tenant, "echo", port=81)
    given = moored.address(tenant, "web")
    assert moored.address(tenant, "echo") == given
    probe.first_answer(product.lab, "client", given)
    return given


def listed(product: Moored) -> dict[str, dict[str, object]]:
    """What `mooring gateway list` says of each."""
    code, text = product.mooring("gateway", "list", "-o", "json")
    assert code == 0, text
    return {each["name"]: each for each in json.loads(text)["gateways"]}


def other_than(product: Moored, gateway: str) -> str:
    (other,) = (each for each in product.lab.spec.gateway_names if each != gateway)
    return other


def await_holder(product: Moored, gateway: str) -> None:
    waiting.until(lambda: product.holder() == gateway, seconds=20, what=f"{gateway} to hold the addresses")


def test_a_drained_gateway_gives_its_connections_to_the_other(product: Moored, served: str) -> None:
    lab, first = product.lab, product.holder()
    other = other_than(product, first)
    with (
        callers.Connections(lab, "client", served, count=COUNT, port=81) as connections,
        callers.Caller(lab, "client", served) as caller,
    ):
        assert connections.working(first=True) == COUNT
        assert product.mooring("gateway", "drain", first)[0] == 0
        begin = time.monotonic()
        await_holder(product, other)
        moved = time.monotonic() - begin
        kept, went = connections.working(), caller.end()
    print(f"drained: moved after {moved:.1f} s, {kept} of {COUNT} kept, {went.longest} s of silence, {went}")  # noqa: T201 - figures
    assert kept == COUNT
    told = listed(product)
    assert (told[first]["drained"], told[first]["current"], told[first]["vrrp"]) == (True, True, "backup")
    assert (told[other]["drained"], told[other]["vrrp"]) == (False, "master")
    code, text = product.mooring("gateway", "drain", other)
    assert code == 1
    assert "--force" in text
    for part in (f"agent-{first}", "controller-gw1", "controller-gw2"):
        lab.processes.stop(part, seconds=10)
    lifecycle.up(lab.spec, PlainProgress())
    waiting.until(lambda: not listed(product)[first]["stale"], seconds=20, what="the agent to hear a leader")
    assert product.holder() == other, "whatever is started again, it stays so"
    assert product.mooring("gateway", "undrain", first)[0] == 0
    assert product.mooring("gateway", "drain", other)[0] == 0
    await_holder(product, first)
    assert product.mooring("gateway", "undrain", other)[0] == 0
    assert probe.get(lab, "client", served)


def test_an_agent_that_hangs_delays_nobody(product: Moored, tenant: Tenant) -> None:
    lab = product.lab
    for name in ("one", "two"):
        tenant.deploy(name, replicas=1)
    moored.expose(tenant, "web", app="one")
    given = moored.address(tenant, "web")
    probe.first_answer(lab, "client", given)

    def turned(app: str) -> float:
        begin = time.monotonic()
        tenant.kubectl("patch", "service", "web", f'--patch={{"spec": {{"selector": {{"app": "{app}"}}}}}}')
        waiting.until(
            lambda: probe.get(lab, "client", given).startswith(app),
            seconds=SOON,
            what=f"{app} to answer",
            interval=0.05,
        )
        return round(time.monotonic() - begin, 2)

    usual = [turned(app) for app in ("two", "one", "two", "one")]
    frozen = other_than(product, product.holder())
    faults.freeze(lab, f"agent-{frozen}", signal.SIGSTOP)
    try:
        hanging = [turned(app) for app in ("two", "one", "two", "one")]
        begin = time.monotonic()
        moored.expose(tenant, "late", port=81, app="one")
        waiting.until(lambda: bool(moored.addresses(tenant, "late")), seconds=SOON + GRACE, what="its address")
        published = time.monotonic() - begin
    finally:
        faults.freeze(lab, f"agent-{frozen}", signal.SIGCONT)
    print(f"endpoints: usually {usual} s, one agent hangs: {hanging} s; published after {published:.1f} s")  # noqa: T201 - figures
    waiting.until(lambda: listed(product)[frozen]["current"] is True, seconds=20, what=f"{frozen} to have caught up")


def test_a_gateway_leaves_the_configuration_and_comes_back(product: Moored, served: str) -> None:
    lab = product.lab
    leaves = product.holder()
    stays = other_than(product, leaves)
    whole = deployed.configuration(lab.place).read_text()
    table = f'[gateways.{leaves}]\nagent = "{lab.spec.management(leaves)}:{deployed.AGENT_PORT}"\nport = "{leaves}"\n'
    assert table in whole
    file = lab.place.etc / "other.toml"
    with product.configured({}), callers.Connections(lab, "client", served, count=COUNT, port=81) as connections:
        assert connections.working(first=True) == COUNT
        waiting.until(lambda: "mooring_leading 1.0" in metrics(product), seconds=30, what="it to lead")
        file.write_text("nonsense = [")
        waiting.until(lambda: "mooring_config_refused 1.0" in metrics(product), seconds=20, what="it to be refused")
        with callers.Caller(lab, "client", served) as caller:
            file.write_text(whole.replace(table, ""))
            lab.processes.signal("controller-other", signal.SIGHUP)
            waiting.until(lambda: not pairs(lab, leaves), seconds=30, what=f"{leaves} to be let go")
            assert product.holder() == stays
            kept, went = connections.working(), caller.end()
        print(f"removed: {kept} of {COUNT} kept, {went.longest} s of silence, {went}")  # noqa: T201 - figures
        assert kept == COUNT
        assert "mooring_config_refused 0.0" in metrics(product)
        [found] = topology.connect(lab).network.ips(floating_ip_address=served)
        assert found.fixed_ip_address in pairs(lab, stays)
        file.write_text(whole)
        # what tests before this one left, and what is about to go, does not come back
        waiting.until(lambda: found.fixed_ip_address in pairs(lab, leaves), seconds=30, what="its pair to be back")
        waiting.until(lambda: fresh(product, leaves), seconds=20, what=f"{leaves} to take its place")
        assert product.mooring("gateway", "drain", stays)[0] == 0
        await_holder(product, leaves)
        assert product.mooring("gateway", "undrain", stays)[0] == 0
        assert connections.working() == COUNT


def fresh(product: Moored, gateway: str) -> bool:
    told = listed(product)[gateway]
    return told["current"] is True and not told["stale"]


def metrics(product: Moored) -> str:
    """What the one controller tells; nothing, before it is there."""
    try:
        return product.lab.hosts.run(
            product.lab.spec.gateway_names[0], ["curl", "--silent", "http://127.0.0.1:9440/metrics"]
        )
    except CommandError:
        return ""


def pairs(lab: Lab, gateway: str) -> list[str]:
    port = topology.connect(lab).network.get_port(topology.load(lab).ports[gateway].id)
    return sorted(pair["ip_address"] for pair in port.allowed_address_pairs)
