"""The contract suite of Neutron, played to its twin."""

import asyncio

import pytest

from mooring.cloud.api import Cloud
from mooring.cloud.kinds import NETWORKS, SUBNETS
from mooring.cloud.twin.neutron import NeutronTwin, counted_ids
from mooring.cloud.twin.state import Caller
from mooring.model.cloud import NetworkId, ProjectId
from tests.contract.cloud.suite import *  # noqa: F403 - the suite is one list, and this is where it is played
from tests.contract.cloud.world import World

MEMBER, OTHER = ProjectId("a" * 32), ProjectId("b" * 32)
MOST_ADDRESS_PAIRS = 10


@pytest.fixture
def world() -> World:
    twin = NeutronTwin(counted_ids(), lambda: 1_800_000_000.0, address_pairs=MOST_ADDRESS_PAIRS)
    return World(
        member_door=twin.transport(Caller(MEMBER)),
        other_door=twin.transport(Caller(OTHER)),
        admin_door=twin.as_admin,
        project=MEMBER,
        other_project=OTHER,
        outside=asyncio.run(outside(Cloud(twin.as_admin))),
        most_address_pairs=MOST_ADDRESS_PAIRS,
    )


async def outside(admin: Cloud) -> NetworkId:
    """The outside network, as an operator makes it."""
    network = await admin.create(NETWORKS, {"name": "public", "router:external": True})
    for version, cidr in ((4, "203.0.113.0/24"), (6, "2001:db8:100::/64")):
        wanted = {"network_id": network.id, "ip_version": version, "cidr": cidr, "enable_dhcp": False}
        await admin.create(SUBNETS, wanted)
    return network.id
