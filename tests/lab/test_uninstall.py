"""A first look that writes nothing, and a way out that leaves nothing, with the real thing."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mooring.lab import lifecycle, topology, waiting
from mooring.lab import product as deployed
from mooring.lab.errors import CommandError
from mooring.lab.progress import PlainProgress
from mooring.model import names
from tests.lab import moored, probe
from tests.lab.moored import PROGRAM, Moored
from tests.lab.tenant import Tenant

OBSERVES = "Nothing of this is done: the controller is configured to observe"
LEASE = ("lease", "mooring-controller", "--namespace=mooring-system", "--output=json")


@pytest.fixture(autouse=True)
def as_before(product: Moored, tenant: Tenant) -> Iterator[None]:
    """Each test finds controllers and agents at work, and Services of ours nowhere."""
    lifecycle.up(product.lab.spec, PlainProgress())
    yield
    lifecycle.up(product.lab.spec, PlainProgress())
    tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=60s")


def metric(product: Moored, gateway: str, name: str) -> float | None:
    try:
        text = product.lab.hosts.run(gateway, ["curl", "--silent", "--fail", "http://127.0.0.1:9440/metrics"])
    except CommandError:
        return None
    found = re.search(rf"^{name} ([\d.]+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def on_all(product: Moored, name: str, value: float) -> None:
    """Wait until all controllers say so."""
    waiting.until(
        lambda: all(metric(product, each, name) == value for each in product.lab.spec.gateway_names),
        seconds=60,
        what=f"{name} to be {value:g}",
    )


@contextmanager
def observing(product: Moored) -> Iterator[None]:
    """The controllers read anew that they are to observe, and afterwards that they are to act."""
    file = deployed.configuration(product.lab.place)
    text = file.read_text()
    file.write_text(f'{text}\n[controller]\nreconcile = "observe"\n')
    try:
        on_all(product, "mooring_observing", 1.0)
        yield
    finally:
        file.write_text(text)
    on_all(product, "mooring_observing", 0.0)


def written(product: Moored, tenant: Tenant) -> dict[str, object]:
    """Numbers that every write of somebody changes: versions in Kubernetes, revisions in Neutron."""
    network = topology.connect(product.lab).network
    services = tenant.get("services")["items"]
    found: dict[str, object] = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in services}
    found |= {each.id: each.revision_number for each in (*network.ports(), *network.ips())}
    found["events"] = len(tenant.get("events", "--field-selector=reportingComponent=openstack.org/mooring")["items"])
    found["lease"] = json.loads(product.lab.kubectl("get", *LEASE))["spec"].get("renewTime")
    return found


def state(product: Moored) -> list[tuple[object, object]]:
    """Epoch and generation of what each gateway holds."""
    _, text = product.mooring("gateway", "list", "-o", "json")
    return [(each["epoch"], each["generation"]) for each in json.loads(text)["gateways"]]


def test_who_observes_writes_nothing_and_then_acts(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    with observing(product):
        moored.expose_with_endpoints(tenant, "web")
        before = written(product, tenant), state(product)
        planned = {each: metric(product, each, "mooring_planned_steps") for each in product.lab.spec.gateway_names}
        waiting.until(
            lambda: all(
                (metric(product, each, "mooring_planned_steps") or 0) >= 1 for each in product.lab.spec.gateway_names
            ),
            seconds=90,
            what=f"the Service to be planned for; at first it was {planned}",
        )
        # the Lease of who acted before runs out by itself
        waiting.until(lambda: OBSERVES in product.mooring("plan")[1], seconds=60, what="the plan to say who observes")
        code, text = product.mooring("plan")
        assert code == 0
        assert f"{tenant.name}/web  take it on: annotation and finalizers" in text
        assert OBSERVES in text
        assert "writes nothing. It would take" in product.mooring("status")[1]
        assert (written(product, tenant), state(product)) == before
        assert moored.addresses(tenant, "web") == []
    given = moored.address(tenant, "web")
    assert probe.first_answer(product.lab, "client", given)


def stop_controllers(product: Moored) -> None:
    for gateway in product.lab.spec.gateway_names:
        product.lab.processes.stop(f"controller-{gateway}", seconds=20)


def two_services(product: Moored, tenant: Tenant) -> list[str]:
    """Two Services that packets reach; their addresses."""
    for name, port in (("web", 80), ("shop", 8080)):
        tenant.deploy(name, replicas=1)
        moored.expose(tenant, name, port=port)
    given = [moored.address(tenant, "web"), moored.address(tenant, "shop")]
    assert probe.first_answer(product.lab, "client", given[0], 80)
    assert probe.first_answer(product.lab, "client", given[1], 8080)
    return given


def bears_nothing(tenant: Tenant) -> None:
    for service in tenant.get("services")["items"]:
        meta, status = service["metadata"], service["status"]
        assert not {names.MANAGED, names.PORT} & set(meta.get("annotations", {}))
        assert meta.get("finalizers", []) == []
        assert (status.get("loadBalancer", {}), status.get("conditions", [])) == ({}, [])


def test_everything_is_removed_and_then_there_is_nothing_to_do(product: Moored, tenant: Tenant) -> None:
    two_services(product, tenant)
    code, text = product.mooring("uninstall", "--delete", "--yes")
    assert (code, "A controller leads" in text) == (1, True), text
    stop_controllers(product)
    code, text = product.mooring("uninstall")
    assert code == 3, text
    assert re.search(rf"^{tenant.name}/web +take its address back$", text, re.MULTILINE), text
    code, text = product.mooring("uninstall", "--delete", "--yes")
    assert code == 0, text
    assert "Nothing of Mooring's is left." in text
    assert product.leftovers() == {}
    bears_nothing(tenant)
    assert not json.loads(product.lab.kubectl("get", *LEASE))["spec"].get("holderIdentity")
    code, text = product.mooring("uninstall", "--delete", "--yes")
    assert (code, "There is nothing of Mooring's." in text) == (0, True), text
    for gateway in product.lab.spec.gateway_names:
        clear_host(product, gateway)


def clear_host(product: Moored, gateway: str) -> None:
    """`mooring agent uninstall` as an operator does it on the gateway itself."""
    config = product.lab.place.etc / f"agent-{gateway}.toml"
    command = [str(PROGRAM), "agent", "uninstall", "--yes", "--config", str(config)]
    with pytest.raises(CommandError, match="another agent works with"):
        product.lab.hosts.run(gateway, command)
    product.lab.processes.stop(f"agent-{gateway}", seconds=10)
    text = product.lab.hosts.run(gateway, command)
    assert "Nothing of Mooring's is left on this host." in text
    assert "mooring" not in product.lab.hosts.run(gateway, ["nft", "list", "tables"])
    held = product.lab.hosts.run(gateway, ["ip", "-oneline", "address", "show"])
    assert product.lab.spec.gateway_address not in held
    assert "169.254.77.1" not in held
    assert not (product.lab.place.data / f"agent-{gateway}").exists()
    assert "There was nothing to remove on this host." in product.lab.hosts.run(gateway, command)


def test_floating_ips_stay_and_can_be_had_again(product: Moored, tenant: Tenant) -> None:
    first, second = two_services(product, tenant)
    stop_controllers(product)
    code, text = product.mooring("uninstall", "--delete", "--yes", "--keep-floating-ips")
    assert code == 0, text
    assert product.leftovers() == {}
    network = topology.connect(product.lab).network
    kept = {each.floating_ip_address: each for each in network.ips() if names.KEEP_TAG in each.tags}
    assert {first, second} <= kept.keys()
    assert all((each.port_id, each.description) == (None, "") for each in kept.values())
    tenant.kubectl("delete", "service", "shop", "--wait=true", "--timeout=60s")
    tenant.kubectl("annotate", "service", "web", f"{names.ADDRESSES}={first}")
    lifecycle.up(product.lab.spec, PlainProgress())
    assert moored.address(tenant, "web") == first
    assert probe.first_answer(product.lab, "client", first)
