"""The table of rights is what the controller asks for: nothing is missing, nothing is too much."""

import asyncio
import functools
import random
from collections.abc import Iterable
from http import HTTPStatus

import msgspec
import pytest

from mooring.cloud.api import Cloud
from mooring.cloud.twin import neutron
from mooring.controller import finding, permissions
from mooring.controller.controller import LEASE
from mooring.controller.permissions import Permission
from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.kube.kinds import NETWORK_POLICIES, NODES
from mooring.kube.reflector import Reflector
from mooring.kube.store import Store
from mooring.kube.twin.server import KubeTwin, Right, Whole
from mooring.model.config import Addresses, Config
from mooring.model.kubernetes import NetworkPolicy, Node
from mooring.wire.http import Request, Response, Stream
from tests.simulation import explore
from tests.simulation.explore import Scripted
from tests.simulation.faults import Fault
from tests.simulation.loop import run_virtually
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.world import BEGIN, World

USER = "system:serviceaccount:mooring-system:mooring"


class Asked(msgspec.Struct, frozen=True):
    """One request for rights: a verb, what of, and of which objects, as far as the request says it."""

    what: str
    path: str
    names: tuple[str, ...] = ()


class Way:
    """To a twin as a user who has the table's rights. `older`: the server is one that offers no watch-list."""

    def __init__(self, twin: KubeTwin, *, older: bool = False) -> None:
        twin.allow(USER, rights(permissions.CONTROLLER))
        self._inner = twin.transport(USER)
        self._older = older
        self.asked: list[Asked] = []

    async def send(self, request: Request) -> Response:
        self._write_down(request)
        return await self._inner.send(request)

    async def open(self, request: Request) -> Stream:
        self._write_down(request)
        if self._older and ("sendInitialEvents", "true") in request.query:
            return Whole(Response(HTTPStatus.UNPROCESSABLE_ENTITY, body=b'{"kind": "Status", "code": 422}'))
        return await self._inner.open(request)

    def _write_down(self, request: Request) -> None:
        selected = dict(request.query).get("fieldSelector", "")
        names = (selected.removeprefix("metadata.name="),) if selected else ()
        self.asked.append(Asked(request.what, request.path, names))


def rights(table: Iterable[Permission]) -> frozenset[Right]:
    return frozenset((verb, f"{each.kind.group}/{each.resource}") for each in table for verb in each.verbs)


def allows(permission: Permission, asked: Asked) -> bool:
    """Whether RBAC would let it pass; a name counts in the path, or as the only one that is listed or watched."""
    verb, _, resource = asked.what.partition(" ")
    if verb not in permission.verbs or resource != permission.resource:
        return False
    collection = permission.kind.path(permission.namespace)
    if permission.namespace and not asked.path.startswith(collection):
        return False
    return not permission.names or any(
        asked.names == (name,) or asked.path == permission.kind.path(permission.namespace, name, permission.subresource)
        for name in permission.names
    )


def simulated() -> list[Asked]:
    """Every scenario as it goes, and one in which a Service changes under the controller's hands."""
    runs = [explore.replay(each, 1, {}) for each in SCENARIOS.values()]
    conflict = next(step.number for step in runs[0].trace if step.what == "patch services")
    runs.append(explore.replay(SCENARIOS[runs[0].scenario], 1, {conflict: Fault.CONFLICT}))
    assert [run.wrong for run in runs if run.wrong] == []
    steps = [step for run in runs for step in run.trace if step.server == "kube"]
    # The lease is followed by its name, which a trace does not show and `elected` does.
    return [
        Asked(step.what, step.path, (LEASE.name,) if step.what == "watch leases" else ())
        for step in steps
        if not step.what.startswith("event ")
    ]


def started() -> list[Asked]:
    """What is asked for before the work begins."""
    world = World(1, Scripted({}))
    way = Way(world.kube)
    addresses = Addresses(network=world.place.network, subnet=world.place.subnet)
    found = run_virtually(
        finding.place(Config(addresses=addresses), Api(way), Cloud(world.neutron.transport(neutron.ADMIN)))
    )
    assert found.subnet == world.place.subnet
    return way.asked


def elected() -> list[Asked]:
    """An election at a server that is too old for watch-lists."""

    async def elect() -> list[Asked]:
        twin = KubeTwin(lambda: BEGIN)
        await twin.transport().send(
            Request("create namespaces", "POST", "/api/v1/namespaces", body=b'{"metadata": {"name": "mooring-system"}}')
        )
        way = Way(twin, older=True)
        leads: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def lead(term: Term) -> None:
            leads.set_result(term.epoch)
            await asyncio.Event().wait()

        chance = random.Random(1)  # noqa: S311 - it has to be repeatable
        election = asyncio.create_task(Election(Api(way), LEASE, "me", lambda: BEGIN, chance).run(lead))
        assert await asyncio.wait_for(leads, 60) == 1
        election.cancel()
        return way.asked

    return run_virtually(elect())


def followed() -> list[Asked]:
    """What is only followed, at such a server."""

    async def follow() -> list[Asked]:
        way = Way(KubeTwin(lambda: BEGIN), older=True)
        chance = random.Random(1)  # noqa: S311 - as above
        nodes: Store[Node] = Store()
        policies: Store[NetworkPolicy] = Store()
        tasks = [
            asyncio.create_task(Reflector(Api(way), NODES, nodes, chance).run()),
            asyncio.create_task(Reflector(Api(way), NETWORK_POLICIES, policies, chance).run()),
        ]
        await asyncio.wait_for(asyncio.gather(nodes.filled(), policies.filled()), 60)
        for task in tasks:
            task.cancel()
        return way.asked

    return run_virtually(follow())


@functools.cache
def all_asked() -> tuple[Asked, ...]:
    return (*simulated(), *started(), *elected(), *followed())


def test_the_table_is_exactly_what_is_asked_for() -> None:
    used = {each.what for each in all_asked()}
    assert used == {f"{verb} {each.resource}" for each in permissions.CONTROLLER for verb in each.verbs}


def test_every_request_keeps_to_the_namespaces_and_names_of_the_table() -> None:
    assert [each for each in all_asked() if not any(allows(row, each) for row in permissions.CONTROLLER)] == []


@pytest.mark.parametrize("row", [each for each in permissions.CONTROLLER if each.names], ids=lambda row: row.resource)
def test_no_name_restricts_what_cannot_be_restricted(row: Permission) -> None:
    assert "create" not in row.verbs
    assert not row.kind.namespaced or row.namespace
