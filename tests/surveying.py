"""The real survey of a simulated world, over doors that let nothing but reads through."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TypeVar

import msgspec

from mooring.cloud.api import Cloud
from mooring.cloud.twin import neutron
from mooring.controller import survey
from mooring.controller.survey import Sources
from mooring.core.addresses import Place
from mooring.core.surveyed import Survey
from mooring.kube.api import Api
from mooring.model.gateway import Vrrp
from mooring.wire.http import NotSent, Request, Response, Stream
from tests.simulation.explore import Scripted
from tests.simulation.world import MEMBER, World

T = TypeVar("T")

QUESTIONS = {"create selfsubjectaccessreviews"}
"""What is asked by a POST, and stored nowhere."""
NEVER = "revision_number=0"
"""No object has it: a change of such a one is a question whether it would be allowed."""


class Door:
    """A way to a twin."""

    def __init__(self, handle: Callable[[Request], Response]) -> None:
        self._handle = handle

    async def send(self, request: Request) -> Response:
        asks = request.what in QUESTIONS or request.headers.get("if-match") == NEVER
        assert not request.writes or asks, f"{request.what} of somebody who only looks"
        return self._handle(request)

    async def open(self, request: Request) -> Stream:
        raise NotImplementedError(request.what)


def wall(_: Request) -> Response:
    """There is no way."""
    raise NotSent("no route to host")


def sources(world: World, *, cloud: Callable[[Request], Response] | None = None) -> Sources:
    async def find() -> Place:
        return msgspec.structs.replace(world.place, gateways=tuple(each.port for each in world.members.values()))

    return Sources(
        Api(Door(world.kube.handle)),
        Cloud(Door(cloud or (lambda request: world.neutron.handle(request, MEMBER)))),
        find,
        {name: Door(world.gateways[name].handle) for name in world.members},
        world.clock,
        openstack=not world.place.static,
    )


async def look(world: World) -> Survey:
    return await survey.survey(sources(world))


async def look_around(world: World) -> Survey:
    """With what others have in OpenStack."""
    return await survey.survey(msgspec.structs.replace(sources(world), around=True))


async def look_closely(world: World) -> Survey:
    """And with what gateways have counted."""
    return await survey.survey(msgspec.structs.replace(sources(world), around=True, counters=True))


def new_world() -> World:
    """In which nothing goes wrong by itself. As everywhere, only one of the gateways holds the addresses."""
    world = World(1, Scripted({}))
    backup(world)
    return world


def backup(world: World) -> None:
    twin = world.gateways["g2"]
    twin.machine.daemon.vrrp = Vrrp.BACKUP
    twin.start()


def scene(deeds: Callable[[World], Awaitable[T]], world: World | None = None) -> T:
    """Do something in a world with a controller, and give what it gives. At the end the world has to come to rest."""
    found: list[T] = []

    async def user(world: World) -> None:
        found.append(await deeds(world))

    (world or new_world()).run(user)
    return found[0]


def operate(world: World, method: str, path: str, body: object) -> None:
    """An administrator of OpenStack does something."""
    request = Request("operator", method, f"/v2.0/{path}", body=msgspec.json.encode(body))
    response = world.neutron.handle(request, neutron.ADMIN)
    assert response.status < HTTPStatus.BAD_REQUEST, response.body


def limit(world: World, **limits: int) -> None:
    """The quota of the project: -1 is without end."""
    operate(world, "PUT", f"quotas/{MEMBER.project}", {"quota": limits})


def leave_port(world: World) -> None:
    """A port that bears our mark, and that nobody needs."""
    place = world.place
    at = {"network_id": place.network, "fixed_ips": [{"subnet_id": place.subnet}], "project_id": MEMBER.project}
    operate(world, "POST", "ports", {"port": at | {"name": "left", "description": place.mark}})
