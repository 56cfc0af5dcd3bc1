"""Nobody gets by wishes or annotations what is another namespace's, a host's, or nobody's: ten thousand attempts."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from mooring.cloud.api import Cloud
from mooring.cloud.errors import CloudError
from mooring.controller.ports import Ports
from mooring.core import mapping, ranges
from mooring.core.addresses import Addresses, Place
from mooring.core.backends import Known
from mooring.core.heard import Gateways
from mooring.core.picture import Picture
from mooring.core.wishes import Wish
from mooring.model import names
from mooring.model.cloud import PortId
from mooring.model.kubernetes import Meta, Name, Service, ServicePort, ServiceSpec
from mooring.model.steps import Annotate, MakePort, Manage
from mooring.wire.http import Request, Response
from tests.simulation.explore import Scripted
from tests.simulation.world import MEMBER, World

ATTEMPTS = 10_000
HOSTS = ("172.30.0.1", "10.0.0.1", "203.0.113.1")
"""Of a node, and of routers."""
NOBODYS = (
    *("169.254.169.254", "fe80::a9fe:a9fe", "::ffff:169.254.169.254", "0.0.0.0", "::", "127.0.0.1", "::1"),  # noqa: S104
    *("224.0.0.18", "ff02::1", "255.255.255.255", "10.0.0.0", "10.0.0.255", "203.0.113.0", "203.0.113.255"),
)
STEPS = 6


class Neutron:
    """A way to a Neutron that is always there."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def send(self, request: Request) -> Response:
        return self._world.neutron.handle(request, MEMBER)


class Cluster:
    """Services that are decided about as a leader does; the gateways are not asked."""

    def __init__(self, world: World, place: Place) -> None:
        self.picture = Picture(Addresses(place))
        self._ports = Ports(Cloud(Neutron(world)), self.picture.addresses)

    async def given(self, service: Service) -> frozenset[tuple[str, str, int]]:
        """What the gateways are to serve for a Service when nothing more is to be done about it."""
        self.picture.holdings.claim(service)
        for _ in range(STEPS):
            if not self._ports.known:
                await self._ports.refresh()
                self.picture.holdings.offer()
            match mapping.next_step(self.picture.seen(service, Known(), Gateways())):
                case Manage():
                    service = changed(service, {names.MANAGED: "true"}, finalizers=(names.FINALIZER,))
                case MakePort(family, address, subnet, network):
                    try:
                        await self._ports.make(Wish(family, address, subnet, network), self.picture.beside(service))
                    except CloudError:
                        break
                    self.picture.holdings.offer()
                case Annotate(ports):
                    service = changed(service, {names.PORT: ",".join(ports)})
                    self.picture.holdings.claim(service)
                case _:
                    break
        return frozenset((each.address, each.protocol, each.port) for each in self.picture.forwards(service, Known()))


def changed(service: Service, annotations: dict[str, str], **meta: object) -> Service:
    new = msgspec.structs.replace(service.metadata, annotations=service.metadata.annotations | annotations, **meta)
    return msgspec.structs.replace(service, metadata=new)


def service(name: Name, *ports: int, wish: str = "", **annotations: str) -> Service:
    families = ("IPv6",) if ":" in wish else ("IPv4",)
    return Service(
        Meta(
            name=name.name, namespace=name.namespace, annotations={getattr(names, k): v for k, v in annotations.items()}
        ),
        ServiceSpec(
            "LoadBalancer",
            tuple(map(ServicePort, ports)),
            load_balancer_class=names.GATEWAY_CLASS,
            load_balancer_ip=wish,
            ip_families=families,
        ),
    )


def attempt(chance: random.Random, wishes: list[str], ports: list[PortId]) -> Service:
    """What somebody of another namespace writes: an address, or the id of a port, or both, in any place for it."""
    wish, port = chance.choice(wishes), chance.choice(ports)
    annotations = {}
    if chance.random() < 0.5:
        annotations["ADDRESSES"] = wish
    if chance.random() < 0.5:
        annotations |= {"PORT": chance.choice((port, f"{port},{chance.choice(ports)}")), "MANAGED": "true"}
    asked = wish if "ADDRESSES" not in annotations or chance.random() < 0.5 else ""
    thief = service(Name("other", "thief"), chance.choice((80, 443, 8080)), wish=asked, **annotations)
    return changed(thief, {}, finalizers=(names.FINALIZER,)) if chance.random() < 0.5 else thief


PLACES: dict[str, dict[str, Any]] = {
    "floating": {},
    "plain": {"floating_network": None},
    "listed": {
        **dict.fromkeys(("floating_network", "subnet", "subnet_ipv6")),
        "static": ranges.read_all(("192.0.2.9-192.0.2.12", "2001:db8::5")),
    },
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("where", PLACES.values(), ids=PLACES)
def test_nothing_is_obtained(where: dict[str, Any]) -> None:
    world = World(1, Scripted({}))
    cluster = Cluster(world, msgspec.structs.replace(world.place, **where))

    async def attack() -> int:
        victims = [service(Name("shop", f"web{number}"), 80, 443) for number in range(3)]
        theirs = {address for each in victims for address, _, _ in await cluster.given(each)}
        assert len(theirs) == len(victims)
        known = cluster.picture.addresses
        public = {known.public(port) or "" for port in known.ports if port in cluster.picture.holdings.used()}
        gateways = {each.ip_address for port in known.gateways.values() for each in port.fixed_ips}
        unused = {each.floating_ip_address for each in world.truth.floating_ips.values() if not each.description}
        hosts = {each.ip_address for port in world.truth.ports.values() for each in port.fixed_ips}
        never = (theirs | public | gateways | hosts | {*HOSTS, *NOBODYS}) - unused  # which whoever asks may have
        wishes = sorted(never)
        ports = sorted({*known.ports, *known.gateways, *world.truth.ports, PortId("nonsense")})
        chance = random.Random(5)  # noqa: S311 - it has to be repeatable
        obtained = 0
        for _ in range(ATTEMPTS):
            thief = attempt(chance, wishes, ports)
            given = {address for address, _, _ in await cluster.given(thief)}
            reached = {known.public(port) for port in known.ports if known.address(port) in given}
            obtained += bool((given | reached) & never)
            cluster.picture.release(thief.name)
        return obtained

    assert asyncio.run(attack()) == 0
