"""One simulated world: an API server, a Neutron, two gateways, some controllers, a user, and a plan of what goes wrong.

A run is a function of (scenario, seed, plan): the same three give the same trace, call by call.
"""

import asyncio
import contextvars
import random
import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import msgspec
from msgspec import Struct

from mooring.cloud.twin import neutron
from mooring.cloud.twin.neutron import NeutronTwin
from mooring.cloud.twin.state import Caller
from mooring.controller.agenda import Times
from mooring.controller.controller import Controller, Outside
from mooring.core.addresses import Place
from mooring.core.roster import Member
from mooring.kube.twin.server import KubeTwin
from mooring.model.cloud import FloatingIp, NetworkId, Port, PortId, ProjectId, SubnetId
from mooring.model.config import Services
from mooring.model.gateway import Vrrp
from mooring.wire.calls import CountedCalls
from mooring.wire.http import Request, Response
from tests.silent import SILENT
from tests.simulation import properties
from tests.simulation.faults import Fault
from tests.simulation.gateway import GatewayTwin
from tests.simulation.loop import PROCESS, new_loop
from tests.simulation.process import Process
from tests.simulation.seam import PAUSE, GatewaySeam, Seam
from tests.simulation.servers import GatewayServer, KubeServer, NeutronServer
from tests.simulation.truth import Effect, Truth

T = TypeVar("T")

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "5eed0000-0000-4000-8000-000000000000"
MEMBER = Caller(ProjectId("3b" * 16))
TIMES = Times(audit=20.0, before_deletion=60.0, longest_retry=8.0, heartbeat=10.0)
"""Heartbeats are rare: each is a point at which everything is tried."""
NORMAL = Services()
LEASE_SECONDS = 15.0
RENEWAL_SECONDS = 5.0
PULSE = {"heartbeat", "create leases", "patch leases", "create events", "patch events"}
"""Writes that go on when nothing happens: signs of life, and events, which are tried again after a minute."""
RESTART = 1.0
BACKENDS = {"event nodes", "event endpointslices"}
"""The streams that say where packets are to go."""
BOOKMARKS = 60.0
DEADLINE = 900.0
"""Virtual seconds after the user's last deed by which everything has to be at rest."""


class Plan(Protocol):
    def at(self, number: int, what: str, possible: tuple[Fault, ...]) -> Fault | None:
        """What happens at this point, of what could."""


class Step(Struct, frozen=True):
    """One line of a trace."""

    number: int
    time: float
    process: str
    server: str
    what: str
    path: str
    fault: Fault | None

    def __str__(self) -> str:
        fault = f"  <- {self.fault.value}" if self.fault else ""
        return f"{self.number:5} {self.time:9.3f} {self.process:6} {self.server:8} {self.what} {self.path}{fault}"


class Violation(Exception):
    """A property does not hold."""


class World:
    """Everything that there is in one run."""

    def __init__(
        self,
        seed: int,
        plan: Plan,
        *,
        controllers: int = 1,
        services: Services = NORMAL,
        hit: frozenset[str] | None = None,
    ) -> None:
        """`hit`: the only servers at which something goes wrong; without it, all."""
        self.loop = new_loop()
        self.chance = random.Random(f"world {seed}")  # noqa: S311 - it has to be repeatable
        self._latency = random.Random(f"latency {seed}").random  # noqa: S311
        self._plan = plan
        self._hit = hit
        self._names = [f"c{number}" for number in range(1, controllers + 1)]
        self._lives = 0
        self._controllers: dict[str, Controller] = {}
        self._processes: list[Process] = []
        self.trace: list[Step] = []
        self.calls = 0
        self.writes = 0
        self.disturbed_at = 0.0
        self._faulted = False
        self._at_rest = False
        self.elects = False
        """Whether VRRP moves the addresses by itself; else each gateway is what a test says."""
        self.kube = KubeTwin(self.clock)
        self.neutron = NeutronTwin(neutron.counted_ids(), self.loop.time)
        self.gateways = {name: GatewayTwin(name, self.chance) for name in ("g1", "g2")}
        self.place = msgspec.structs.replace(_topology(self.neutron), services=services)
        self.members: dict[str, Member] = {}
        _namespaces(self.kube)
        self.truth = Truth(self.kube, self.gateways, CLUSTER)
        self.truth.claim_unclassed = services.claim_unclassed
        self.truth.services_changed()
        self._see_neutron()
        ports = (each for each in self.truth.ports.values() if each.device_owner == "")
        self.truth.foreign = frozenset(each.id for each in (*ports, *self.truth.floating_ips.values()))
        self.truth.gateway_ports = dict(zip(self.gateways, self.place.gateways, strict=True))
        self.configure(*self.gateways)

    def configure(self, *names: str) -> None:
        """An operator changes the list of gateways, and the controllers read it anew."""
        ports = self.truth.gateway_ports
        self.members = {name: Member(name, ports[name]) for name in names}
        for name in self.truth.members.symmetric_difference(names):
            self.truth.joined[name] = self.loop.time()
            for process in self._processes:
                process.contacted.pop(name, None)
        self.truth.members = frozenset(names)
        self.disturbed_at = self.loop.time()
        for controller in self._controllers.values():
            controller.reconfigure(self.place, self.members)

    def clock(self) -> datetime:
        return BEGIN + timedelta(seconds=self.loop.time())

    def run(self, user: "Callable[[World], Awaitable[None]]") -> None:
        """Let the user do what the scenario says, then wait for rest and judge it. Raises Violation."""
        try:
            self.loop.run(self._run(user))
        finally:
            for process in self._processes:
                process.kill()
            self.loop.drain()

    async def _run(self, user: "Callable[[World], Awaitable[None]]") -> None:
        self._bookmark()
        for name in self._names:
            self._start(name)
        await user(self)
        self.disturbed_at = self.loop.time()
        await self._rest()
        self._judge_rest()
        await self._judge_further_pass()
        self._judge_tasks()

    def _judge_tasks(self) -> None:
        for context in self.loop.failures:
            error = context.get("exception")
            told = "".join(traceback.format_exception(error)) if error else context["message"]
            raise Violation(f"a task failed: {told}")

    def _start(self, name: str) -> None:
        """A life of a controller, with an identity that no life before it had."""
        self._lives += 1
        process = Process(f"{name}.{self._lives}")
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        controller = Controller(
            Outside(
                Seam(self, process, KubeServer(self.kube, self.judge)),
                Seam(self, process, NeutronServer(self.neutron, MEMBER, self.judge)),
                lambda agent: GatewaySeam(self, process, GatewayServer(self.gateways[agent], self.judge)),
                CountedCalls(),
                CountedCalls(),
                CountedCalls(),
            ),
            self.place,
            self.members,
            process.name,
            clock=self.clock,
            chance=random.Random(f"controller {self._lives}"),  # noqa: S311
            times=TIMES,
            log=SILENT,
            lease_seconds=LEASE_SECONDS,
            renewal_seconds=RENEWAL_SECONDS,
        )
        self._controllers[name] = controller
        self._processes = [each for each in self._processes if each.alive] + [process]
        process.adopt(self.loop.create_task(controller.run(), context=context))

    def point(self, process: Process, server: str, request: Request, possible: tuple[Fault, ...]) -> Fault | None:
        self.calls += 1
        process.sent[id(request)] = self.loop.time()
        process.contacted.setdefault(server, self.loop.time())
        spared = self._at_rest or (self._hit is not None and server not in self._hit)
        fault = None if spared else self._plan.at(self.calls, request.what, possible)
        self.trace.append(Step(self.calls, self.loop.time(), process.name, server, request.what, request.path, fault))
        if fault is Fault.EVENT_LOST and request.what in BACKENDS:
            self.truth.backends_missed = True
        if fault is not None:
            self.disturbed_at = self.loop.time()
            self._faulted = True
        return fault

    def outcome(self, process: Process, server: str, *, answered: bool, since: float) -> None:
        """Whether a process got an answer from a gateway to what it sent then: what being live means."""
        if answered:
            if process.failing.pop(server, None) is not None:
                process.revived[server] = self.loop.time()
        else:
            process.failing.setdefault(server, since)

    def obeyed(self, process: Process, server: str, *, obeyed: bool, since: float) -> None:
        """Whether a gateway did what a process told it then, and said so."""
        if obeyed:
            process.refusing.pop(server, None)
        else:
            process.refusing.setdefault(server, since)

    def latency(self) -> float:
        return 0.001 + 0.02 * self._latency()

    def answers_late(self) -> bool:
        """Half of the answers take their time; others are there before anything else happens."""
        return self._latency() < 0.5

    def crash(self, process: Process) -> None:
        process.kill()
        name = process.name.partition(".")[0]
        self.loop.call_later(RESTART, self._start, name, context=contextvars.Context())

    @property
    def leading(self) -> bool:
        """Whether somebody leads."""
        return any(each.leader is not None for each in self._controllers.values())

    def crash_leader(self) -> None:
        """Somebody kills the process that leads, if any does."""
        for name, process in self._leaders():
            self.crash(process)
            self._controllers[name].leader = None
            self.disturbed_at = self.loop.time()
            self._faulted = True

    def depose_leader(self) -> None:
        """The Lease is gone: who leads learns it soon, but another one may begin before that."""
        for _, process in self._leaders():
            process.deposed_until = self.loop.time() + LEASE_SECONDS

    def _leaders(self) -> list[tuple[str, Process]]:
        alive = {each.name.partition(".")[0]: each for each in self._processes if each.alive}
        leading = [name for name, controller in self._controllers.items() if controller.leader is not None]
        return [(name, alive[name]) for name in leading if name in alive]

    def pause(self, process: Process, seconds: float) -> None:
        self.loop.pause(process, seconds)

    def judge(self, process: Process | None, server: str, request: Request, act: Callable[[], Response]) -> Response:
        """Carry something out, and judge what it did."""
        truth = self.truth
        truth.now = self.loop.time()
        truth.decided = truth.now if process is None else process.sent.get(id(request), truth.now)
        response = act()
        self._elect()
        effect = Effect(process, server, request, response, truth.services_changed())
        if process is None:
            self.disturbed_at = truth.now
        elif request.writes and request.what not in PULSE and effect.done:
            self.writes += 1
        for name, holds in properties.AFTER_EVERY_EFFECT.items():
            for wrong in holds(truth, effect):
                self.loop.ends_with = self.loop.ends_with or Violation(f"{name}: {wrong}")
        if server == "neutron":
            self._see_neutron()  # after the judgement, which has to know what was there
        return response

    def _elect(self) -> None:
        """VRRP: who has not given way holds the addresses, if there is such a one; nothing moves without need."""
        if not self.elects:
            return
        daemons = {name: twin.machine.daemon for name, twin in self.gateways.items()}
        able = [name for name, each in daemons.items() if not each.lowered()] or list(daemons)
        holders = [name for name, each in daemons.items() if each.vrrp is Vrrp.MASTER]
        master = next((name for name in (*holders, *able) if name in able), able[0])
        for name, each in daemons.items():
            each.vrrp = Vrrp.MASTER if name == master else Vrrp.BACKUP
            self.gateways[name].observe()

    def _see_neutron(self) -> None:
        """What Neutron has, read as an administrator sees it."""
        self.truth.ports = {each.id: each for each in _listed(self.neutron, "ports", _Ports).ports}
        found = _listed(self.neutron, "floatingips", _FloatingIps).floatingips
        self.truth.floating_ips = {each.id: each for each in found}

    async def _rest(self) -> None:
        """Until a leader has audited everything after the last disturbance and has nothing more to do."""
        audits: tuple[object, int] | None = None
        while True:
            if self.loop.time() > self.disturbed_at + DEADLINE:
                self._judge_tasks()  # who failed does not come to rest
                raise Violation(f"no rest {DEADLINE:g} s after the last disturbance")
            self._judge_tasks()
            await asyncio.sleep(5.0)
            settled = LEASE_SECONDS + PAUSE if self._faulted else 1.0  # a lost lease shows late
            leader = next((each.leader for each in self._controllers.values() if each.leader), None)
            away = not all(each.up for name, each in self.gateways.items() if name in self.members)
            if leader is None or not leader.idle or away or self.loop.time() < self.disturbed_at + settled:
                audits = None
            elif audits is None or audits[0] is not leader:
                audits = (leader, leader.audits)
            elif leader.audits > audits[1]:
                self._at_rest = True
                return

    def _judge_rest(self) -> None:
        self._see_neutron()
        self.truth.services_changed()
        for wrong in properties.at_rest(self.truth):
            raise Violation(f"at rest: {wrong}")

    async def _judge_further_pass(self) -> None:
        writes = self.writes
        await asyncio.sleep(TIMES.audit + 5.0)
        if self.writes != writes:
            raise Violation(f"at rest: a further pass made {self.writes - writes} writes")

    def _bookmark(self) -> None:
        self.kube.bookmark()
        self.loop.call_later(BOOKMARKS, self._bookmark)


class _Ports(Struct, frozen=True):
    ports: tuple[Port, ...]


class _FloatingIps(Struct, frozen=True):
    floatingips: tuple[FloatingIp, ...]


def _listed(twin: NeutronTwin, collection: str, kind: type[T]) -> T:
    response = twin.handle(Request("list", "GET", f"/v2.0/{collection}"), neutron.ADMIN)
    return msgspec.json.decode(response.body, type=kind)


def _topology(twin: NeutronTwin) -> Place:
    """An outside network, a network for addresses, and a router between them."""

    def make(collection: str, singular: str, caller: Caller, **wanted: object) -> str:
        body = msgspec.json.encode({singular: wanted})
        response = twin.handle(Request("create", "POST", f"/v2.0/{collection}", body=body), caller)
        made: dict[str, dict[str, str]] = msgspec.json.decode(response.body)
        return made[singular]["id"]

    outside = make("networks", "network", neutron.ADMIN, **{"name": "outside", "router:external": True})
    make("subnets", "subnet", neutron.ADMIN, network_id=outside, ip_version=4, cidr="203.0.113.0/24")
    inside = make("networks", "network", MEMBER, name="inside")
    subnet = make("subnets", "subnet", MEMBER, network_id=inside, ip_version=4, cidr="10.0.0.0/24")
    v6 = {"ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"}
    subnet6 = make("subnets", "subnet", MEMBER, network_id=inside, ip_version=6, cidr="fd00:10::/64", **v6)
    router = make("routers", "router", MEMBER, name="router", external_gateway_info={"network_id": outside})
    body = msgspec.json.encode({"subnet_id": subnet})
    twin.handle(Request("add", "PUT", f"/v2.0/routers/{router}/add_router_interface", body=body), MEMBER)
    theirs = "mooring cluster another"  # whose Mooring works in the same project
    place = {"network_id": inside, "fixed_ips": [{"subnet_id": subnet}], "name": "mooring-kubernetes"}
    port = make("ports", "port", MEMBER, description=theirs, **place)
    make("floatingips", "floatingip", MEMBER, floating_network_id=outside, port_id=port, description=theirs)
    make("floatingips", "floatingip", MEMBER, floating_network_id=outside, description="somebody's own")
    make("floatingips", "floatingip", MEMBER, floating_network_id=outside)  # who wants to use it
    at = {
        "network_id": inside,
        "fixed_ips": [{"subnet_id": subnet}],
        "device_owner": "compute:nova",
        "allowed_address_pairs": [{"ip_address": properties.PAIR_OF_OTHERS}],
    }
    gateways = tuple(PortId(make("ports", "port", MEMBER, name=name, **at)) for name in ("g1", "g2"))
    return Place(
        CLUSTER, NetworkId(inside), SubnetId(subnet), NetworkId(outside), gateways, subnet_ipv6=SubnetId(subnet6)
    )


def _namespaces(twin: KubeTwin) -> None:
    for name in ("mooring-system", "shop", "other"):
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        twin.handle(Request("create namespaces", "POST", "/api/v1/namespaces", body=body))
