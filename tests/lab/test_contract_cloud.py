"""The contract suite of Neutron, played to the real one of the lab through the real transport."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.cloud.kinds import FLOATING_IPS, NETWORKS, PORTS, ROUTERS, SECURITY_GROUPS
from mooring.cloud.wire import NeutronTransport
from mooring.lab import cloud as lab_cloud
from mooring.lab import topology
from mooring.lab.lab import Lab
from mooring.model.cloud import NetworkId, ProjectId
from mooring.wire.http import Request
from tests.contract.cloud.suite import *  # noqa: F403 - the suite is one list, and this is where it is played
from tests.contract.cloud.world import Owner, World

MOST_ADDRESS_PAIRS = 500  # as the lab's neutron.conf has it
INTERFACE = "network:router_interface"


@pytest.fixture(scope="module")
def projects(lab: Lab) -> Iterator[dict[str, ProjectId]]:
    """Two projects with an ordinary member each, all of one name."""
    identity = topology.connect(lab).identity
    made: dict[str, ProjectId] = {}
    for name in (f"c-{uuid.uuid4().hex[:8]}" for _ in range(2)):
        project = identity.create_project(name=name, domain_id="default")
        user = identity.create_user(name=name, password=lab_cloud.PASSWORD, domain_id="default")
        identity.assign_project_role_to_user(project, user, identity.find_role("member"))
        made[name] = ProjectId(project.id)
    yield made
    for name, project in made.items():
        identity.delete_user(identity.find_user(name))
        identity.delete_project(project)


@pytest.fixture(scope="module")
def doors(
    lab: Lab, projects: dict[str, ProjectId], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, NeutronTransport]]:
    """Transports of both members and of the administrator, by their names."""
    clouds = {name: _cloud(lab, name) for name in projects} | {"admin": _cloud(lab, "admin")}
    file: Path = tmp_path_factory.mktemp("clouds") / "clouds.yaml"
    file.write_text(json.dumps({"clouds": clouds}))
    transports = {name: NeutronTransport(name, str(file)) for name in clouds}
    yield transports
    for transport in transports.values():
        asyncio.run(transport.close())


def _cloud(lab: Lab, name: str) -> dict[str, Any]:
    """The administrator's entry of the lab's clouds.yaml, for somebody else."""
    config = topology.connect(lab).config.config
    auth = dict(config["auth"]) | {"username": name, "project_name": name, "password": lab_cloud.PASSWORD}
    return {"region_name": config["region_name"], "cacert": config["cacert"], "auth": auth}


@pytest.fixture
def world(lab: Lab, projects: dict[str, ProjectId], doors: dict[str, NeutronTransport]) -> Iterator[World]:
    (member, project), (other, other_project) = projects.items()
    world = World(
        member_door=doors[member],
        other_door=doors[other],
        admin_door=doors["admin"],
        project=project,
        other_project=other_project,
        outside=NetworkId(topology.load(lab).networks["public"]),
        most_address_pairs=MOST_ADDRESS_PAIRS,
    )
    yield world
    asyncio.run(_clean(world.admin, list(projects.values())))
    asyncio.run(doors["admin"].send(Request("delete quotas", "DELETE", f"/v2.0/quotas/{project}")))


async def _clean(admin: Owner, projects: list[ProjectId]) -> None:
    """Remove everything of these projects but their default groups."""
    for floating in await admin.list(FLOATING_IPS, project_id=projects):
        await admin.delete(FLOATING_IPS, floating.id, revision=None)
    for router in await admin.list(ROUTERS, project_id=projects):
        for port in await admin.list(PORTS, device_id=router.id, device_owner=INTERFACE):
            await admin.remove_router_interface(router.id, port.fixed_ips[0].subnet_id)
        await admin.delete(ROUTERS, router.id, revision=None)
    networks = await admin.list(NETWORKS, project_id=projects)
    for port in await admin.list(PORTS, network_id=[network.id for network in networks]) if networks else ():
        await admin.delete(PORTS, port.id, revision=None)
    for network in networks:
        await admin.delete(NETWORKS, network.id, revision=None)
    for group in await admin.list(SECURITY_GROUPS, project_id=projects):
        if group.name != "default":
            await admin.delete(SECURITY_GROUPS, group.id, revision=None)
