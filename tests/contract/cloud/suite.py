"""The suite as a whole: the one list of what the twin and the real Neutron have to pass alike."""

from tests.contract.cloud import (
    floating_ips,
    lists,
    networks,
    policies,
    ports,
    quotas,
    security_groups,
    tags,
    writes,
)

__all__ = [
    "TestBulk",
    "TestFloatingIps",
    "TestLists",
    "TestNetworks",
    "TestPolicies",
    "TestPortChanges",
    "TestPorts",
    "TestQuotas",
    "TestRevisions",
    "TestRouters",
    "TestSecurityGroups",
    "TestSubnets",
    "TestTags",
]


class TestPorts(ports.Ports): ...


class TestPortChanges(ports.PortChanges): ...


class TestNetworks(networks.Networks): ...


class TestSubnets(networks.Subnets): ...


class TestRouters(networks.Routers): ...


class TestFloatingIps(floating_ips.FloatingIps): ...


class TestSecurityGroups(security_groups.SecurityGroups): ...


class TestRevisions(writes.Revisions): ...


class TestBulk(writes.Bulk): ...


class TestTags(tags.Tags): ...


class TestQuotas(quotas.Quotas): ...


class TestLists(lists.Lists): ...


class TestPolicies(policies.Policies): ...
