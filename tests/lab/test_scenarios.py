"""What users and operators do at bad moments, against the real cloud, with packets."""

import random
import signal
from collections import Counter
from typing import Any

import pytest

from mooring.lab import callers, faults, lifecycle, topology, waiting
from mooring.lab.progress import PlainProgress
from mooring.model import names
from tests.lab import moored, probe
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

pytestmark = pytest.mark.usefixtures("nothing_is_left")

MANY = 8
KILLS, ALL_KILLS = 6, 40
AN_AUDIT = 150
"""Seconds in which the controllers have looked at everything in the cloud, and mended it."""


def test_who_comes_while_nobody_leads_takes_nothing_from_others(product: Moored, tenant: Tenant) -> None:
    """One Service is deleted meanwhile, one is made whose name sorts before all, and wants what another has."""
    tenant.deploy("web", replicas=2)
    for name, port in (("kept", 80), ("gone", 81)):
        moored.expose(tenant, name, port=port, app="web")
    given = moored.address(tenant, "kept")
    assert moored.address(tenant, "gone") == given
    probe.first_answer(product.lab, "client", given)
    with callers.Caller(product.lab, "client", given, patience=callers.PATIENT) as caller:
        with product.without_controllers(signal.SIGKILL):
            tenant.kubectl("delete", "service", "gone", "--wait=false")
            moored.expose(tenant, "a-new-one", app="web")
        second = moored.address(tenant, "a-new-one")
        waiting.until(lambda: probe.get(product.lab, "client", given, 81) == "", seconds=30, what="its rules to go")
        went = caller.end()
    assert went.failed == 0, went
    assert moored.addresses(tenant, "kept") == [given]
    assert second != given
    waiting.until(
        lambda: "gone" not in tenant.kubectl("get", "services", "--output=name"), seconds=30, what="it to be let go"
    )


def test_a_service_that_wants_a_port_that_is_taken_moves(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "first", port=80, app="web")
    moored.expose(tenant, "second", port=81, app="web")
    shared = moored.address(tenant, "first")
    assert moored.address(tenant, "second") == shared
    probe.first_answer(product.lab, "client", shared, 81)
    ports = [{"name": str(port), "port": port, "targetPort": 8080} for port in (80, 81)]
    moored.change(tenant, "second", {"ports": ports})
    waiting.until(lambda: moored.addresses(tenant, "second") not in ([], [shared]), seconds=60, what="it to move")
    (new,) = moored.addresses(tenant, "second")
    for port in (80, 81):
        probe.first_answer(product.lab, "client", new, port)
    assert moored.addresses(tenant, "first") == [shared]
    assert probe.get(product.lab, "client", shared, 80)
    waiting.until(lambda: probe.get(product.lab, "client", shared, 81) == "", seconds=30, what="the old rule to go")
    notes = [each for each in moored.notes(tenant, "second") if shared in each and new in each]
    assert notes, "an event names the old and the new address"


def test_what_somebody_takes_away_in_the_cloud_is_put_back(product: Moored, tenant: Tenant) -> None:
    """A pair of a gateway, the floating IP off its port, the floating IP, the port: each within an audit."""
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    given = moored.address(tenant, "web")
    probe.first_answer(product.lab, "client", given)
    network = topology.connect(product.lab).network
    gateway = topology.load(product.lab).ports["gw1"].id
    inner = network.get_port(port_of(tenant, "web")).fixed_ips[0]["ip_address"]

    def paired() -> bool:
        return inner in {each["ip_address"] for each in network.get_port(gateway).allowed_address_pairs}

    network.update_port(gateway, allowed_address_pairs=[])
    waiting.until(paired, seconds=AN_AUDIT, what="the pair to be back", interval=1)

    floating = floating_ip(network, tenant)
    network.update_ip(floating.id, port_id=None)
    waiting.until(lambda: floating_ip(network, tenant) is not None, seconds=AN_AUDIT, what="it to be back", interval=1)
    waiting.until(lambda: moored.addresses(tenant, "web") == [given], seconds=60, what="the same address")
    answers_where_it_says(product, tenant, "web")

    network.delete_ip(floating.id)
    waiting.until(lambda: floating_ip(network, tenant) is not None, seconds=AN_AUDIT, what="a floating IP", interval=1)
    answers_where_it_says(product, tenant, "web")

    network.delete_port(port_of(tenant, "web"))
    waiting.until(lambda: bool(alive(network, tenant, "web")), seconds=AN_AUDIT, what="a port", interval=1)
    answers_where_it_says(product, tenant, "web")


def floating_ip(network: Any, tenant: Tenant) -> Any:  # noqa: ANN401 - openstacksdk has no types
    """That of the Service `web`, or None."""
    port = port_of(tenant, "web")
    return next((each for each in network.ips() if port and each.port_id == port), None)


def test_controllers_that_are_killed_over_and_over_lose_nothing_and_leak_nothing(
    product: Moored,
    tenant: Tenant,
    whole: bool,  # noqa: FBT001 - a fixture
) -> None:
    """Services that all want one port come and go meanwhile; at the end each has one port and one floating IP."""
    tenant.deploy("web", replicas=1)
    product.settled_on(addresses=0)
    chance = random.Random(7)  # noqa: S311 - the same kills in every run
    here: set[str] = set()
    kills = ALL_KILLS if whole else KILLS
    for number in range(kills):
        here = come_and_go(tenant, here, number, chance)
        product.after_writes(chance.randrange(1, 12), seconds=10)
        for gateway in product.lab.spec.gateway_names:
            faults.kill(product.lab, f"controller-{gateway}", signal.SIGKILL)
        for gateway in product.lab.spec.gateway_names:
            lifecycle.restart(product.lab, f"controller-{gateway}", PlainProgress())
    given = {name: moored.address(tenant, name) for name in sorted(here)}
    assert len(set(given.values())) == len(given), "all want one port"
    for address in given.values():
        probe.first_answer(product.lab, "client", address)
    product.settled_on(addresses=len(given))
    print(f"ran {kills} of {kills} kills: {len(given)} Services, each with its address, nothing besides")  # noqa: T201


def come_and_go(tenant: Tenant, here: set[str], number: int, chance: random.Random) -> set[str]:
    """Up to three more, and perhaps one less."""
    left = set(here)
    if len(left) > MANY - 3:
        for name in chance.sample(sorted(left), 3):
            tenant.kubectl("delete", "service", name, "--wait=false")
            left.remove(name)
    for each in range(chance.randrange(1, 4)):
        name = f"web-{number}-{each}"
        moored.expose(tenant, name, app="web")
        left.add(name)
    return left


def answers_where_it_says(product: Moored, tenant: Tenant, name: str) -> None:
    def answers() -> bool:
        return any(probe.get(product.lab, "client", each, 80) for each in moored.addresses(tenant, name))

    waiting.until(answers, seconds=60, what=f"{name} to answer at its address")


def port_of(tenant: Tenant, name: str) -> str:
    return str(tenant.get("service", name)["metadata"]["annotations"].get(names.PORT, ""))


def alive(network: Any, tenant: Tenant, name: str) -> Counter[str]:  # noqa: ANN401 - as above
    """The port of a Service, if it is there."""
    wanted = port_of(tenant, name)
    return Counter(each.id for each in network.ports() if each.id == wanted)
