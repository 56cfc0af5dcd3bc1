"""What gateways remember of clients gets from one to the others, whatever fails on the way; on virtual time."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from mooring.controller.agents import Agents
from mooring.controller.fence import LeaseLost
from mooring.core import affinity, editions, elements, gateway_document
from mooring.model.gateway import Backend, Clients, Document, Forward, Heartbeat, Held, State, Vrrp
from mooring.model.rules import Element, Recalled
from mooring.wire.http import NoAnswer, NotSent, Request, Response
from tests.controller.test_agents import Wire
from tests.silent import SILENT
from tests.simulation.loop import run_virtually

BACKENDS = tuple(Backend(f"10.2.0.{number}", 8080) for number in range(1, 9))
FEW = Forward("10.0.0.5", "TCP", 80, "shop/web", BACKENDS[:4], affinity=600)
MANY = msgspec.structs.replace(FEW, backends=BACKENDS)
CLIENTS = tuple(f"203.0.113.{number}" for number in range(1, 41))
SEED = 7


def document(generation: int, *forwards: Forward) -> Document:
    return gateway_document.document(forwards, epoch=1, generation=generation, seed=SEED)


class Moody(Wire):
    """A gateway that answers requests of some kind in a way of its own, for a while."""

    def __init__(self, name: str, *, vrrp: Vrrp) -> None:
        super().__init__(name)
        self.twin.machine.daemon.vrrp = vrrp
        self.twin.start()
        self.mood: Callable[[Request], Awaitable[Response | None]] | None = None

    async def send(self, request: Request) -> Response:
        if self.mood is not None and (answer := await self.mood(request)) is not None:
            self.asked.append(request.what)
            return answer
        return await super().send(request)

    def remembered(self) -> set[Element]:
        return {each for each in self.twin.machine.kernel.in_force if each.set == "affinity"}

    def remember(self, forward: Forward, *clients: str) -> None:
        """Clients come."""
        kernel = self.twin.machine.kernel
        (table,) = {name for (_, name), awake in kernel.tables().items() if awake}
        owners = elements.sticky_slots(forward.backends)
        for client in clients:
            packed = ipaddress.ip_address(client).packed
            (to,) = elements.slots(forward, (owners[affinity.slot(packed, SEED)],))
            key = packed + elements.service_key(forward)
            kernel.remember(table, [Recalled(Element("ip", "affinity", key, to.value), 600)])


class World:
    """A gateway that holds the addresses, two that do not, and a leader that beats."""

    def __init__(self) -> None:
        self.holder = Moody("g1", vrrp=Vrrp.MASTER)
        self.others = [Moody(name, vrrp=Vrrp.BACKUP) for name in ("g2", "g3")]
        self.agents = Agents({each.twin.name: each for each in (self.holder, *self.others)}, SILENT)

    async def begin(self) -> None:
        """Clients have come, and then a backend came."""
        await self.tell(document(1, FEW))
        self.holder.twin.tend()
        self.holder.remember(FEW, *CLIENTS)
        await self.tell(document(2, MANY))
        self.holder.twin.look()

    async def tell(self, newest: Document) -> None:
        self.agents.tell(editions.of(newest))
        await self.beat(0.1)
        for each in (self.holder, *self.others):
            each.asked.clear()

    async def beat(self, seconds: float) -> None:
        beating = asyncio.create_task(self.agents.run(lambda: None, every=1.0))
        await asyncio.sleep(seconds)
        assert not beating.done()
        beating.cancel()
        await asyncio.wait([beating])

    def count(self, what: str) -> list[int]:
        return [each.asked.count(what) for each in (self.holder, *self.others)]

    def strays(self) -> set[Element]:
        owners = affinity.Slots(MANY)
        return {
            each for each in self.holder.remembered() if owners.owners[affinity.slot(each.key[:4], SEED)] != each.value
        }


def play(scene: Callable[[World], Awaitable[None]]) -> None:
    async def whole() -> None:
        world = World()
        await world.begin()
        assert len(world.strays()) > 5
        await scene(world)

    run_virtually(whole())


def test_all_others_know_after_a_heartbeat_and_are_told_once() -> None:
    async def scene(world: World) -> None:
        await world.beat(0.5)
        assert [each.remembered() for each in world.others] == [world.strays()] * 2
        await world.beat(10.5)
        assert world.count("get clients") == [1, 0, 0]
        assert world.count("put clients") == [0, 1, 1]
        world.holder.twin.look()
        await world.beat(0.5)
        assert world.count("put clients") == [0, 2, 2]

    play(scene)


def test_without_anything_to_tell_nobody_is_asked() -> None:
    async def scene() -> None:
        world = World()
        await world.tell(document(1, FEW))
        await world.beat(5.5)
        assert world.count("get clients") == world.count("put clients") == [0, 0, 0]
        assert world.count("heartbeat") == [6, 6, 6]

    run_virtually(scene())


async def no_answer(_: Request) -> Response | None:
    raise NoAnswer("cut")


async def not_sent(_: Request) -> Response | None:
    raise NotSent("cut")


async def lost(_: Request) -> Response | None:
    raise LeaseLost


async def hangs(_: Request) -> Response | None:
    await asyncio.sleep(10.0)
    raise NoAnswer("too slow")


async def broken(_: Request) -> Response | None:
    return Response(500, body=b"\xff no")


@pytest.mark.parametrize("mood", [no_answer, not_sent, lost, hangs, broken])
@pytest.mark.parametrize("what", ["get clients", "put clients"])
def test_what_fails_is_done_later_and_holds_nobody_up(
    mood: Callable[[Request], Awaitable[Response | None]], what: str
) -> None:
    async def only(request: Request) -> Response | None:
        return await mood(request) if request.what == what else None

    async def scene(world: World) -> None:
        sick = world.holder if what == "get clients" else world.others[0]
        sick.mood = only
        await world.beat(5.5)
        assert world.count("heartbeat") == [6, 6, 6]
        if sick is not world.holder:
            assert world.others[1].remembered() == world.strays()
        sick.mood = None
        world.holder.twin.look()
        await world.beat(12.5)
        assert [each.remembered() for each in world.others] == [world.strays()] * 2

    play(scene)


def test_an_agent_that_knows_of_no_clients_goes_on_as_before() -> None:
    """One of the version before: it has no such path, and says nothing of them in its state."""

    async def old(request: Request) -> Response | None:
        return Response(404, body=b"Not Found") if request.path == "/v1/clients" else None

    async def scene(world: World) -> None:
        world.others[0].mood = old
        await world.beat(5.5)
        assert world.count("put clients") == [0, 1, 1]
        assert world.agents.settled()
        assert world.others[1].remembered() == world.strays()

    play(scene)


def test_words_of_one_version_are_understood_by_the_other() -> None:
    """Each side leaves out what it does not know, and goes on without what the other does not say."""
    said_before = b'{"held":{"epoch":1,"generation":2,"digest":"d"},"vrrp":"master"}'
    assert msgspec.json.decode(said_before, type=State).remembers == 0

    class StateBefore(msgspec.Struct):
        held: Held
        schemas: tuple[int, ...] = (1,)

    now = msgspec.json.encode(State(Held(1, 2, "d"), schemas=(1, 2), remembers=77))
    assert msgspec.json.decode(now, type=StateBefore) == StateBefore(Held(1, 2, "d"), (1, 2))
    assert msgspec.json.encode(Heartbeat(1, 2)) == b'{"epoch":1,"generation":2}'
    assert msgspec.json.decode(b'{"remembered":[],"later":1}', type=Clients) == Clients()
