"""The gateways' security group, where it is the controller's to keep, on the real Neutron and with packets.

Before it comes, the gateways' ports have a group of somebody else's, which lets no clients in.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.lab import callers, ovn, topology, waiting
from tests.lab import moored, probe
from tests.lab.gateway_path import ECHO
from tests.lab.moored import MARK, Moored
from tests.lab.tenant import Tenant

KEPT = {"pairs_limit = 500": "pairs_limit = 500\nmanage_security_group = true"}
FEW_PAIRS = {"pairs_limit = 500": "pairs_limit = 1"}
PATIENCE = 300
"""Seconds, on a busy machine: a change of a port takes Neutron seconds there."""
MANY = range(101, 125, 2)
"""More than there are ranges."""
COUNT = 20
PIECES = 64
"""1 MiB on each connection: more than a window, of which a stateful group would have an old picture."""


@pytest.fixture
def closed(product: Moored) -> Iterator[str]:
    """The gateways' ports with a group that lets only adverts in: without them, both would hold the addresses."""
    made = topology.load(product.lab)
    network = topology.connect(product.lab).network
    group = network.create_security_group(name="closed", project_id=made.project, stateful=False)
    network.create_security_group_rule(
        security_group_id=group.id, project_id=made.project, direction="ingress", protocol="112"
    )
    _put_on(product, network, [group.id])
    yield group.id
    _put_on(product, network, [made.groups["gateways"]])
    network.delete_security_group(group.id)


def _put_on(product: Moored, network: Any, groups: list[str]) -> None:  # noqa: ANN401 - openstacksdk has no types
    for gateway in product.lab.spec.gateway_names:
        network.update_port(topology.load(product.lab).ports[gateway].id, security_groups=groups)


def address(tenant: Tenant, name: str) -> str:
    """The address of a Service; with many changes of the group before it, that may take its time."""
    waiting.until(lambda: bool(moored.addresses(tenant, name)), seconds=PATIENCE, what=f"an address for {name}")
    return moored.addresses(tenant, name)[0]


def ours(product: Moored) -> list[Any]:
    network = topology.connect(product.lab).network
    return [each for each in network.security_groups() if (each.description or "").startswith(MARK)]


def ports_let_in(product: Moored, protocol: str = "tcp", family: str = "IPv4") -> list[tuple[int, int]]:
    """The ranges below the ports of answers."""
    [group] = ours(product)
    rules = [each for each in group.security_group_rules if each["direction"] == "ingress"]
    alike = [each for each in rules if (each["protocol"], each["ethertype"]) == (protocol, family)]
    return sorted((each["port_range_min"], each["port_range_max"]) for each in alike if each["port_range_max"] < 1024)


def await_on_ports(product: Moored, groups: list[str]) -> None:
    """Wait until the gateways' ports have just these, which Neutron tells in any order."""
    network = topology.connect(product.lab).network
    ports = [topology.load(product.lab).ports[each].id for each in product.lab.spec.gateway_names]

    def there() -> bool:
        return all(sorted(network.get_port(each).security_group_ids) == sorted(groups) for each in ports)

    waiting.until(there, seconds=PATIENCE, what=f"{groups} on the gateways' ports", interval=1)


def await_rules(product: Moored, expected: list[tuple[int, int]], **which: str) -> None:
    waiting.until(
        lambda: ports_let_in(product, **which) == expected,
        seconds=PATIENCE,
        what=f"{expected} to be let in",
        interval=1,
    )


def test_packets_come_by_a_group_of_few_rules(product: Moored, tenant: Tenant, closed: str) -> None:
    lab = product.lab
    tenant.deploy("web", replicas=2)
    moored.expose(tenant, "web", port=443)
    given = address(tenant, "web")
    assert probe.get(lab, "client", given, 443) == "", "nobody lets it in"
    with product.configured(KEPT):
        probe.first_answer(lab, "client", given, 443)
        [group] = ours(product)
        assert group.stateful is False
        await_on_ports(product, [closed, group.id])
        _acls_are_stateless(product, group.id)
        assert ports_let_in(product) == [(443, 443)]

        moored.expose(tenant, "high", port=31999, app="web")
        probe.first_answer(lab, "client", address(tenant, "high"), 31999)
        assert ports_let_in(product) == [(443, 443)], "answers come to such ports anyway"

        moored.expose(
            tenant, "both", port=80, app="web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"]
        )
        waiting.until(lambda: len(moored.addresses(tenant, "both")) == 2, seconds=PATIENCE, what="two addresses")
        four, six = moored.addresses(tenant, "both")
        probe.first_answer(lab, "client", four, 80)
        probe.first_answer(lab, "client", f"[{six}]", 80)
        assert ports_let_in(product, family="IPv6") == [(80, 80)]

        for number in MANY:
            moored.expose(tenant, f"w{number}", port=number, app="web")
        for number in MANY:
            probe.first_answer(lab, "client", address(tenant, f"w{number}"), number)
        ranges = ports_let_in(product)
        [group] = ours(product)
        print(f"{3 + len(MANY)} Services: {ranges}, {len(group.security_group_rules)} rules in all")  # noqa: T201 - figures
        assert len(ranges) <= 10
        assert all(any(first <= port <= last for first, last in ranges) for port in (80, 443, *MANY))

        _delete_rule(product, 443)
        assert not any(first <= 443 <= last for first, last in ports_let_in(product))
        waiting.until(
            lambda: (443, 443) in ports_let_in(product), seconds=PATIENCE, what="what somebody deleted to be back"
        )
        probe.first_answer(lab, "client", given, 443)

        tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=240s")
        await_rules(product, [])
        await_rules(product, [], family="IPv6")
        code, told = product.mooring("doctor", "--config", str(lab.place.etc / "other.toml"))
        print(code, told)  # noqa: T201 - figures
        assert f"{group.name}, 9 rules, on all gateways' ports" in told
    waiting.until(lambda: ours(product) == [], seconds=PATIENCE, what="the group to be gone, as nobody keeps it")
    await_on_ports(product, [closed])


def _acls_are_stateless(product: Moored, group: str) -> None:
    """As OVN has them, which is what packets meet."""
    name = f"pg_{group.replace('-', '_')}"
    acls = ovn.nbctl(product.lab, "acl-list", name).splitlines()
    assert acls
    assert [each for each in acls if "allow-stateless" not in each] == []
    assert any("ip.proto == 112" in each for each in acls)


def _delete_rule(product: Moored, port: int) -> None:
    network = topology.connect(product.lab).network
    [group] = ours(product)
    for each in group.security_group_rules:
        if each["port_range_min"] == each["port_range_max"] == port:
            network.delete_security_group_rule(each["id"])


def _delete_rules(product: Moored, group: str) -> None:
    network = topology.connect(product.lab).network
    for each in network.security_group_rules(security_group_id=group, direction="ingress"):
        network.delete_security_group_rule(each)


def test_connections_outlive_a_move_and_the_move_back(product: Moored, tenant: Tenant, closed: str) -> None:
    lab = product.lab
    with product.configured(KEPT):
        tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
        moored.expose(tenant, "echo", port=81)
        given = address(tenant, "echo")
        await_on_ports(product, [closed, ours(product)[0].id])
        _delete_rules(product, closed)  # from here on, adverts pass by our group alone
        first = product.holder()
        (other,) = (each for each in lab.spec.gateway_names if each != first)
        with callers.Connections(lab, "client", given, count=COUNT, port=81) as connections:
            assert connections.working(first=True) == COUNT
            kept = [connections.working(pieces=PIECES)]
            for leaves, takes in ((first, other), (other, first), (first, other)):
                assert product.mooring("gateway", "drain", leaves)[0] == 0
                waiting.until(lambda to=takes: product.holder() == to, seconds=PATIENCE, what=f"{takes} to hold")  # type: ignore[misc]
                kept.append(connections.working(pieces=PIECES))
                assert product.mooring("gateway", "undrain", leaves)[0] == 0
        print(f"kept, at first and after each of three moves: {kept}")  # noqa: T201 - figures
        assert kept == [COUNT] * 4
        tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=240s")
    waiting.until(lambda: ours(product) == [], seconds=PATIENCE, what="the group to be gone")


def test_who_finds_no_room_is_told_so_before_anything_is_made(product: Moored, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=1)
    product.settled_on(0)
    with product.configured(FEW_PAIRS):
        moored.expose(tenant, "first", app="web")
        address(tenant, "first")
        moored.expose(tenant, "late", app="web")
        waiting.until(
            lambda: moored.reasons(tenant, "late").get("Allocated") == "PairsLimit", seconds=PATIENCE, what="PairsLimit"
        )
        made = [
            each for each in topology.connect(product.lab).network.ports() if (each.description or "").startswith(MARK)
        ]
        assert len(made) == 1
        _, told = product.mooring("doctor", "--config", str(product.lab.place.etc / "other.toml"))
        assert "1 entries, of 1: no more addresses fit" in told
        tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=240s")


def test_a_quota_is_known_before_it_is_spent(product: Moored, tenant: Tenant) -> None:
    lab = product.lab
    product.settled_on(0)
    network = topology.connect(lab).network
    project = topology.load(lab).project
    used = len(list(network.ports(project_id=project)))
    network.update_quota(project, ports=used + 1)
    try:
        tenant.deploy("web", replicas=1)
        with product.configured({}):
            moored.expose(tenant, "first", app="web")
            address(tenant, "first")
            before = product.calls()
            moored.expose(tenant, "late", app="web")
            waiting.until(
                lambda: moored.reasons(tenant, "late").get("Allocated") == "QuotaExceeded",
                seconds=PATIENCE,
                what="the quota",
            )
            assert "neutron create ports" not in product.writes(before)
            _, told = product.mooring("doctor", "--config", str(lab.place.etc / "other.toml"))
            assert f"ports {used + 1} of {used + 1}" in told
            assert "no more addresses fit" in told
            network.update_quota(project, ports=-1)
            waiting.until(
                lambda: moored.addresses(tenant, "late") != [], seconds=PATIENCE, what="an address, with room"
            )
    finally:
        network.delete_quota(project)
        tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=240s")
