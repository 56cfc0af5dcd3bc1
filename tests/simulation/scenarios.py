"""What the user does, and how many controllers there are. Each scenario is short: its crash points are all tried."""

import random
from collections.abc import Awaitable, Callable

from msgspec import Struct

from mooring.model import names
from tests.simulation.user import User
from tests.simulation.world import Violation, World

Deeds = Callable[[World, random.Random], Awaitable[None]]


class Scenario(Struct, frozen=True):
    """`addresses`: how many are enough for what is left at the end; more are waste."""

    name: str
    deeds: Deeds
    controllers: int = 1
    addresses: int | None = None

    def run(self, world: World, seed: int) -> None:
        async def deeds(world: World) -> None:
            await self.deeds(world, random.Random(f"user {seed}"))  # noqa: S311 - it has to be repeatable

        world.run(deeds)
        used = len({each.port_id for each in world.truth.floating_ips.values()})
        if self.addresses is not None and used > self.addresses:
            raise Violation(f"at rest: {used} addresses are used, {self.addresses} would do")


async def _map(world: World, _chance: random.Random) -> None:
    User(world).expose("web", "80/TCP")


async def _share(world: World, _chance: random.Random) -> None:
    """Three fit on one address, protocols told apart; the fourth needs another one."""
    user = User(world)
    user.expose("dns-tcp", "53/TCP")
    user.expose("dns-udp", "53/UDP")
    user.expose("web", "80/TCP", "443/TCP")
    await user.wait(0.5)
    user.expose("shop", "443/TCP")


async def _dns(world: World, _chance: random.Random) -> None:
    """One number, two protocols, two Services, one address."""
    user = User(world)
    user.expose("dns-tcp", "53/TCP")
    user.expose("dns-udp", "53/UDP")


async def _unmap(world: World, _chance: random.Random) -> None:
    """One of two that share an address goes, then one that stops being a load balancer, then one that opts out."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    user.expose("mail", "25/TCP")
    await user.wait(2.0)
    user.delete("web")
    await user.wait(0.3)
    user.hide("shop")
    user.annotate("mail", names.MANAGED, "false")


async def _move(world: World, _chance: random.Random) -> None:
    """A Service wants a port that another one has on their address: it has to move."""
    user = User(world)
    user.expose("web", "80/TCP")
    user.expose("shop", "443/TCP")
    await user.wait(2.0)
    user.change_ports("web", "443/TCP", "8080/TCP")


async def _churn(world: World, chance: random.Random) -> None:
    """Anything, at any time: also by people who edit what is ours, and Services that are none of our business."""
    user = User(world)
    user.expose("foreign", "80/TCP", ours=False)
    user.set_status("foreign", "198.51.100.7")
    if chance.random() < 0.3:
        user.expose("given", "80/TCP")
        user.set_status("given", "198.51.100.8")
    alive: list[str] = []
    for number in range(chance.randrange(2, 7)):
        await user.wait(chance.choice((0.0, 0.01, 0.1, 1.0, 5.0, 20.0)))
        if not alive or chance.random() < 0.5:
            name = chance.choice(("a", "b", "c")) + str(number)
            user.expose(name, *_some_ports(chance))
            alive.append(name)
            continue
        name = chance.choice(alive)
        deed = chance.randrange(7)
        if deed == 0:
            user.delete(name)
            alive.remove(name)
        elif deed == 1:
            user.change_ports(name, *_some_ports(chance))
        elif deed == 2:
            user.annotate(name, names.MANAGED, chance.choice(("false", None)))
        elif deed == 3:
            user.annotate(name, names.PORT, None)
        elif deed == 4:
            user.annotate(name, "owner", "somebody")
        elif deed == 5:
            user.hold(name)
            await user.wait(chance.choice((0.0, 1.0)))
            user.delete(name)
            await user.wait(chance.choice((1.0, 30.0)))
            user.let_go(name)
            alive.remove(name)
        else:
            user.delete(name)
            user.expose(name + "x", *_some_ports(chance))
            alive[alive.index(name)] = name + "x"


def _some_ports(chance: random.Random) -> list[str]:
    return chance.sample(("53/TCP", "53/UDP", "80/TCP", "443/TCP"), chance.choice((1, 1, 2)))


SCENARIOS = {
    each.name: each
    for each in (
        Scenario("map", _map, addresses=1),
        Scenario("dns", _dns, addresses=1),
        Scenario("share", _share, addresses=2),
        Scenario("unmap", _unmap, addresses=0),
        Scenario("move", _move, addresses=2),
        Scenario("two", _share, controllers=2, addresses=2),
        Scenario("two-unmap", _unmap, controllers=2, addresses=0),
        Scenario("churn", _churn),
        Scenario("two-churn", _churn, controllers=2),
    )
}
