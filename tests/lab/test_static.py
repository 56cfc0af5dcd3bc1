"""Addresses of a list, without OpenStack: the operator of the cloud lets the gateways use them, and routes them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.lab import spec, topology, waiting
from mooring.model import names
from tests.lab import moored, probe
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

LISTED = ("10.20.0.200-10.20.0.201", "2001:db8:20::c8")
PAIRS = ("10.20.0.192/28", "2001:db8:20::c0/124")
"""What the gateways' ports may use: room for a longer list."""


def listed(*texts: str) -> str:
    return f"static = {json.dumps(texts)}"


WITHOUT_OPENSTACK = {
    'network = "lb"': listed(*LISTED),
    'subnet = "lb4"': "",
    'subnet_ipv6 = "lb6"': "",
    'floating_network = "public"': "",
    "pairs_limit = 500": "",
    'port = "gw1"': "",
    'port = "gw2"': "",
    'cloud = "mooring"': 'cloud = "nobody"',
}


@pytest.fixture(scope="module")
def routed(product: Moored) -> Iterator[None]:
    """What the operator of a cloud does once: the gateways may use the addresses, and clients are routed to them."""
    there, network = topology.load(product.lab), topology.connect(product.lab).network
    ports = {name: network.get_port(there.ports[name].id) for name in product.lab.spec.gateway_names}
    for port in ports.values():
        pairs = [*port.allowed_address_pairs, *({"ip_address": each} for each in PAIRS)]
        network.update_port(port.id, allowed_address_pairs=pairs)
    outside = {"network_id": there.networks["public"]}
    network.update_router(there.router, external_gateway_info=outside | {"enable_snat": False})
    router = next(each for each in there.router_outside if ":" not in each)
    product.lab.hosts.ip("client", f"route replace {spec.LB_V4} via {router}")
    yield
    product.lab.hosts.ip("client", f"route delete {spec.LB_V4}")
    network.update_router(there.router, external_gateway_info=outside | {"enable_snat": True})
    for port in ports.values():
        network.update_port(port.id, allowed_address_pairs=port.allowed_address_pairs)


@pytest.fixture
def file(product: Moored, tenant: Tenant, routed: None) -> Iterator[Path]:
    """A controller that knows of no OpenStack, and its configuration."""
    assert routed is None
    with product.configured(WITHOUT_OPENSTACK):
        yield product.lab.place.etc / "other.toml"
        tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=60s")


def ours(product: Moored) -> set[str]:
    network = topology.connect(product.lab).network
    everything = (*network.ports(), *network.ips())
    return {each.id for each in everything if (each.description or "").startswith(moored.MARK)}


def test_services_get_addresses_of_the_list(product: Moored, tenant: Tenant, file: Path) -> None:
    before = ours(product)
    tenant.deploy("web", replicas=2)
    moored.expose(tenant, "web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"])
    waiting.until(lambda: len(moored.addresses(tenant, "web")) == 2, seconds=60, what="two addresses")
    assert moored.addresses(tenant, "web") == ["10.20.0.200", "2001:db8:20::c8"]
    for address in ("10.20.0.200", "[2001:db8:20::c8]"):
        probe.first_answer(product.lab, "client", address, 80)
        assert len({probe.get(product.lab, "client", address, 80) for _ in range(20)}) == 2
    moored.expose(tenant, "beside", port=8080, app="web")
    assert moored.address(tenant, "beside") == "10.20.0.200", "they share"
    probe.first_answer(product.lab, "client", "10.20.0.200", 8080)
    moored.expose(tenant, "second", app="web", loadBalancerIP="10.20.0.201")
    assert moored.address(tenant, "second") == "10.20.0.201"
    probe.first_answer(product.lab, "client", "10.20.0.201", 80)
    moored.expose(tenant, "late", app="web")
    waiting.until(
        lambda: moored.reasons(tenant, "late").get("Allocated") == "NoMoreAddresses", seconds=30, what="a reason"
    )
    tenant.kubectl("delete", "service", "second", "--wait=true", "--timeout=60s")
    assert moored.address(tenant, "late") == "10.20.0.201", "what is free is for who waits"
    probe.first_answer(product.lab, "client", "10.20.0.201", 80)
    assert not [call for call in product.calls() if call.startswith("neutron ")]
    assert ours(product) <= before, "nothing was made"
    code, text = product.mooring("status", "--config", str(file))
    assert (code, "10.20.0.200" in text) == (0, True), text


def test_they_move_with_the_gateways_and_outlive_the_controller(product: Moored, tenant: Tenant, file: Path) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    assert moored.address(tenant, "web") == "10.20.0.200"
    probe.first_answer(product.lab, "client", "10.20.0.200")
    holder = product.holder()
    product.mooring("gateway", "drain", holder, "--config", str(file))
    waiting.until(lambda: product.holder() != holder, seconds=30, what="another gateway to hold the addresses")
    probe.first_answer(product.lab, "client", "10.20.0.200")
    product.mooring("gateway", "undrain", holder, "--config", str(file))
    product.lab.processes.stop("controller-other", seconds=10)
    assert probe.get(product.lab, "client", "10.20.0.200"), "gateways go on by themselves"
    moored.expose(tenant, "meanwhile", port=8080, app="web")
    with product.lab.cage.inside():
        product.lab.spawn(
            "controller-other",
            [moored.PROGRAM, "controller", "--config", file],
            host=product.lab.spec.gateway_names[0],
        )
    assert moored.address(tenant, "meanwhile") == "10.20.0.200", "it was read back from the Services"
    assert moored.addresses(tenant, "web") == ["10.20.0.200"]
    probe.first_answer(product.lab, "client", "10.20.0.200", 8080)


def test_who_has_an_address_keeps_it_when_it_is_listed_no_more(product: Moored, tenant: Tenant, file: Path) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    assert moored.address(tenant, "web") == "10.20.0.200"
    file.write_text(file.read_text().replace(listed(*LISTED), listed("10.20.0.202")))
    waiting.until(
        lambda: moored.reasons(tenant, "web").get("Allocated") == "AddressRetired", seconds=60, what="it to be told"
    )
    assert moored.addresses(tenant, "web") == ["10.20.0.200"]
    assert probe.get(product.lab, "client", "10.20.0.200")
    assert "AddressRetired" in moored.events(tenant, "web")
    moored.expose(tenant, "new", port=8080, app="web")
    assert moored.address(tenant, "new") == "10.20.0.202"
    tenant.kubectl("annotate", "service", "web", f"{names.PORT}-")
    waiting.until(
        lambda: moored.addresses(tenant, "web") == ["10.20.0.202"], seconds=60, what="it to move when it lets go"
    )
    probe.first_answer(product.lab, "client", "10.20.0.202")
    waiting.until(
        lambda: not probe.get(product.lab, "client", "10.20.0.200"), seconds=30, what="nobody to answer at the old one"
    )
