"""One simulated world: an API server, a Neutron, two gateways, some controllers, a user, and a plan of what goes wrong.

A run is a function of (scenario, seed, plan): the same three give the same trace, call by call.
"""

import asyncio
import contextvars
import functools
import random
import traceback
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from mooring.cloud.api import Cloud
from mooring.cloud.kinds import PORTS
from mooring.cloud.twin import neutron
from mooring.cloud.twin.neutron import NeutronTwin
from mooring.cloud.twin.state import Caller
from mooring.controller.agenda import Times
from mooring.controller.controller import Controller, Outside
from mooring.controller.observer import Observer
from mooring.controller.removing import CannotRemove, Remover
from mooring.controller.survey import CannotLook
from mooring.core import ranges
from mooring.core.addresses import Place
from mooring.core.choices import Choices
from mooring.core.roster import Member, Roster
from mooring.kube.api import Api
from mooring.kube.kinds import NAMESPACES
from mooring.kube.twin.backups import Backup
from mooring.kube.twin.server import KubeTwin
from mooring.model.cloud import FloatingIp, NetworkId, Port, PortId, ProjectId, SecurityGroup, SubnetId
from mooring.model.config import Services
from mooring.model.gateway import Vrrp
from mooring.model.kubernetes import Name
from mooring.model.reports import UninstallReport
from mooring.wire.calls import CountedCalls
from mooring.wire.http import Request, Response
from mooring.wire.patient import PatientSender
from tests.silent import hearing
from tests.simulation import properties, rest, wants
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
UNINSTALLS = 20
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

    def __init__(  # noqa: PLR0913 - what may differ between worlds
        self,
        seed: int,
        plan: Plan,
        *,
        controllers: int = 1,
        services: Services = NORMAL,
        hit: frozenset[str] | None = None,
        group: bool = False,
        pairs: int = 0,
        observes: bool = False,
        ids: Iterator[str] | None = None,
    ) -> None:
        """`hit`: the only servers at which something goes wrong; without it, all.

        `group`: whether the security group on the gateways' ports is the controllers' to keep; `pairs`: how many
        address pairs they are told that a port may have. `observes`: the controllers are configured to observe. `ids`:
        of what is made in Neutron; without it, each is greater than the one before.
        """
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
        self._settles = 0.0
        self._renewed: dict[str, float] = {}
        self._at_rest = False
        self._observes_since = -1.0 if observes else None
        """Since when controllers are configured to write nothing."""
        self.elects = False
        """Whether VRRP moves the addresses by itself; else each gateway is what a test says."""
        self.kube = KubeTwin(self.clock)
        self.neutron = NeutronTwin(ids or neutron.counted_ids(), self.loop.time)
        self._log = hearing("defect", self._defect)
        self.account = MEMBER
        """As whom Neutron takes the controllers."""
        self.gateways = {name: GatewayTwin(name, self.chance) for name in ("g1", "g2")}
        self.place = msgspec.structs.replace(
            _topology(self.neutron, stateless=group), services=services, manage_security_group=group, pairs_limit=pairs
        )
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
        self.truth.keeps_group = self.place.manage_security_group
        self._reconfigure()

    def turn(self, *, acts: bool) -> None:
        """An operator has the controllers act, or only observe."""
        self._observes_since = None if acts else self.loop.time()
        self._reconfigure()

    def _reconfigure(self) -> None:
        self.disturbed_at = self.loop.time()
        for controller in self._controllers.values():
            controller.reconfigure(self.place, self.members, acts=self._observes_since is None)

    def keep_group(self, *, kept: bool) -> None:
        """An operator lets the controllers keep a security group on the gateways' ports, or no longer."""
        self.place = msgspec.structs.replace(self.place, manage_security_group=kept)
        self.configure(*self.members)

    def list_addresses(self, *texts: str) -> None:
        """An operator lists all addresses that there are, instead of OpenStack's, or another list than before."""
        listed = ranges.read_all(texts)
        nothing = {"network": NetworkId(""), "subnet": None, "subnet_ipv6": None, "floating_network": None}
        self.place = msgspec.structs.replace(self.place, **nothing, static=listed)
        self.truth.list_addresses(address for each in listed for address in each.addresses())
        self._see_neutron()
        self._reconfigure()

    def share(self, sharing: Literal["namespace", "cluster", "none"]) -> None:
        """An operator says which Services may share an address."""
        self.place = msgspec.structs.replace(self.place, sharing=sharing)
        self.truth.sharing = sharing
        self._reconfigure()

    def refuse_wishes(self) -> None:
        """An operator lets nobody ask for an address."""
        self.place = msgspec.structs.replace(self.place, wishes="none")
        self._reconfigure()

    def without_floating_ips(self) -> None:
        """Addresses are reached as they are."""
        self.place = msgspec.structs.replace(self.place, floating_network=None)
        self.truth.floats = False
        self._reconfigure()

    def offer_choice(self) -> None:
        """An operator lets Services choose the subnet `fast`, which a router of its own connects with `partners`."""
        subnet, network = _another_way(self.neutron, self.place.network)
        self.place = msgspec.structs.replace(
            self.place, choices=Choices({"fast": ("IPv4", subnet)}, {"partners": network})
        )
        self.truth.choices = {"fast": subnet, "partners": network}
        self._see_neutron()
        self._reconfigure()

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
        if self.truth.uninstalled:
            self._judge(rest.uninstalled)
        elif self._observes_since is None:
            await self._rest()
            self._judge_rest()
            await self._judge_further_pass()
        else:
            await self._seen_twice()
            self._judge_plans()
        self._judge_tasks()

    def _judge_tasks(self) -> None:
        for context in self.loop.failures:
            error = context.get("exception")
            told = "".join(traceback.format_exception(error)) if error else context["message"]
            raise Violation(f"a task failed: {told}")

    def _born(self, name: str, lag: int = 0) -> tuple[Process, Outside, contextvars.Context]:
        """A life of a program, with an identity that no life before it had, and its ways to the outside."""
        self._lives += 1
        process = Process(f"{name}.{self._lives}", lag=lag, lags_until=self.loop.time() + PAUSE)
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        outside = Outside(
            Seam(self, process, KubeServer(self.kube, self.judge)),
            Seam(self, process, NeutronServer(self.neutron, lambda: self.account, self.judge)),
            lambda agent: GatewaySeam(self, process, GatewayServer(self.gateways[agent], self.judge)),
            CountedCalls(),
            CountedCalls(),
            CountedCalls(),
        )
        self._processes = [each for each in self._processes if each.alive] + [process]
        return process, outside, context

    def _start(self, name: str, lag: int = 0) -> None:
        """A life of a controller, unless they were ended for good."""
        if name not in self._names:
            return
        process, outside, context = self._born(name, lag)
        controller = Controller(
            outside,
            self.place,
            self.members,
            process.name,
            find=functools.partial(self._find, outside),
            clock=self.clock,
            chance=random.Random(f"controller {self._lives}"),  # noqa: S311
            times=TIMES,
            log=self._log,
            acts=self._observes_since is None,
            lease_seconds=LEASE_SECONDS,
            renewal_seconds=RENEWAL_SECONDS,
        )
        self._controllers[name] = controller
        process.adopt(self.loop.create_task(controller.run(), context=context))

    async def _find(self, outside: Outside) -> tuple[Place, Roster]:
        """What the configuration names, by calls as a controller makes them: one gateway after the other."""
        cloud = Cloud(PatientSender(outside.cloud, outside.cloud_calls))
        members = dict(self.members)
        for name in self.members:
            for each in await cloud.list(PORTS, name=name):
                members[name] = Member(name, each.id)
        self.members = members
        return self.place, members

    async def uninstall(self, *, keep: bool = False) -> None:
        """An operator ends all controllers, and has everything removed, again and again until there is nothing to do.

        Twice, and a while apart: what somebody had sent before it was killed may come late.
        """
        for process in self._processes:
            process.kill()
        self._names.clear()
        self._controllers.clear()
        self.truth.uninstalled = "kept" if keep else "all"
        await asyncio.sleep(TIMES.before_deletion + PAUSE)
        clean = 0
        for _ in range(UNINSTALLS):
            report = await self._uninstalled_once(keep=keep)
            clean = clean + 1 if report is not None and report.clean and not report.missing else 0
            if clean > 1 and report is not None and not report.done:
                return
            await asyncio.sleep(PAUSE)
        raise Violation(f"uninstall: not done after {UNINSTALLS} times")

    async def _uninstalled_once(self, *, keep: bool) -> UninstallReport | None:
        """What it said; None, if it could not do it, or was killed."""
        process, outside, context = self._born("u")

        async def find(api: Api, _cloud: Cloud) -> tuple[Place, Roster]:
            await api.get(NAMESPACES, Name("", "kube-system"))
            return self.place, self.members

        remover = Remover(
            outside,
            find,
            keep=keep,
            clock=self.clock,
            chance=random.Random(f"uninstall {self._lives}"),  # noqa: S311
            host=process.name,
        )
        task = self.loop.create_task(remover.run(), context=context)
        process.adopt(task)
        await asyncio.wait((task,))
        process.kill()
        if task.cancelled() or isinstance(task.exception(), CannotLook | CannotRemove):
            return None
        return task.result()

    def point(self, process: Process, server: str, request: Request, possible: tuple[Fault, ...]) -> Fault | None:
        self.calls += 1
        process.sent[id(request)] = self.loop.time()
        process.contacted.setdefault(server, self.loop.time())
        spared = self._at_rest or (self._hit is not None and server not in self._hit)
        if self.loop.paused and self._succeeds(process) and not request.what.startswith("event "):
            possible = (*possible, Fault.WAKE)
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

    def crash(self, process: Process, *, lag: int = 0) -> None:
        """A process dies, and is started again soon. `lag`: by how many events its watches are behind then."""
        process.kill()
        name = process.name.partition(".")[0]
        self.loop.call_later(RESTART, self._start, name, lag, context=contextvars.Context())

    def expire(self, server: str) -> None:
        """Its certificate has run out, and is renewed after a while."""
        self._renewed[server] = self.loop.time() + PAUSE

    def expired(self, server: str) -> bool:
        return self.loop.time() < self._renewed.get(server, 0.0)

    @property
    def leading(self) -> bool:
        """Whether somebody leads, or observes."""
        return any(map(_works, self._controllers.values()))

    def crash_leader(self) -> None:
        """Somebody kills the process that leads, if any does."""
        for name, process in self._leaders():
            self.crash(process)
            self._controllers[name].leader = self._controllers[name].observer = None
            self.disturbed_at = self.loop.time()
            self._faulted = True

    def restore(self, backup: Backup) -> None:
        """The API server's content is put back to what it was; whoever leads learns it late, from the next bookmark."""
        self.depose_leader()
        self._settles = BOOKMARKS + LEASE_SECONDS
        there = dict(self.truth.services)
        before = {port for each in there.values() for port in wants.ports_of(each)}

        def act() -> Response:
            self.kube.restore(backup)
            self.truth.follow(self.kube)
            return Response(HTTPStatus.OK)

        self.judge(None, "kube", Request("restore", "RESTORE", ""), act)
        now = {port for each in self.truth.services.values() for port in wants.ports_of(each)} | self.truth.let_go
        self.truth.restored = True
        self.truth.came_back = frozenset(
            each.metadata.uid for name, each in self.truth.services.items() if name not in there
        )
        self.truth.turns.update(
            each.metadata.uid for name, each in self.truth.services.items() if each != there.get(name)
        )
        public = (each for each in self.truth.floating_ips.values() if each.port_id in before - now)
        self.truth.forgotten = frozenset((*(before - now), *(each.id for each in public)))

    def _defect(self, told: str) -> None:
        """A controller goes on without whom it befell; here nothing of that kind may happen."""
        self.loop.ends_with = self.loop.ends_with or Violation(f"defect: {told}")

    def depose_leader(self) -> None:
        """The Lease is gone: who leads learns it soon, but another one may begin before that."""
        self.truth.epochs_lost = True
        for _, process in self._leaders():
            process.deposed_until = self.loop.time() + LEASE_SECONDS

    def _leaders(self) -> list[tuple[str, Process]]:
        alive = {each.name.partition(".")[0]: each for each in self._processes if each.alive}
        leading = [name for name, controller in self._controllers.items() if _works(controller)]
        return [(name, alive[name]) for name in leading if name in alive]

    def pause(self, process: Process, seconds: float) -> None:
        self.loop.pause(process, seconds)

    def wake(self) -> None:
        for process in self.loop.paused:
            self.loop.resume(process)

    def _succeeds(self, process: Process) -> bool:
        """Whether a process leads while another one is stopped that believes to lead."""
        leaders = [each for _, each in self._leaders()]
        return process in leaders and any(each in leaders for each in self.loop.paused)

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
        if process is not None and request.writes and self._observed(truth.decided):
            self.loop.ends_with = Violation(f"observes: {process.name} wrote: {request.what} {request.path}")
        for name, holds in properties.AFTER_EVERY_EFFECT.items():
            for wrong in holds(truth, effect):
                self.loop.ends_with = self.loop.ends_with or Violation(f"{name}: {wrong}")
        if server == "neutron":
            self._see_neutron()  # after the judgement, which has to know what was there
        return response

    def _observed(self, sent: float) -> bool:
        return self._observes_since is not None and sent > self._observes_since

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
        found_ports = {each.id: each for each in _listed(self.neutron, "ports", _Ports).ports}
        self.truth.ports = found_ports | self.truth.static
        found = _listed(self.neutron, "floatingips", _FloatingIps).floatingips
        self.truth.floating_ips = {each.id: each for each in found}
        groups = _listed(self.neutron, "security-groups", _Groups).security_groups
        self.truth.groups = {each.id: each for each in groups}

    async def _rest(self) -> None:
        """Until a leader has audited everything after the last disturbance and has nothing more to do."""
        audits: tuple[object, int] | None = None
        while True:
            if self.loop.time() > self.disturbed_at + DEADLINE:
                self._judge_tasks()  # who failed does not come to rest
                raise Violation(f"no rest {DEADLINE:g} s after the last disturbance")
            self._judge_tasks()
            await asyncio.sleep(5.0)
            settled = max(LEASE_SECONDS + PAUSE if self._faulted else 1.0, self._settles)  # a lost lease shows late
            leader = next((each.leader for each in self._controllers.values() if each.leader), None)
            away = not all(each.up for name, each in self.gateways.items() if name in self.members)
            if leader is None or not leader.idle or away or self.loop.time() < self.disturbed_at + settled:
                audits = None
            elif audits is None or audits[0] is not leader:
                audits = (leader, leader.audits)
            elif leader.audits > audits[1]:
                self._at_rest = True
                return

    async def _seen_twice(self) -> None:
        """Until all that observe have looked at everything again after the last disturbance."""
        looks: dict[Observer, int] = {}
        while True:
            if self.loop.time() > self.disturbed_at + DEADLINE:
                self._judge_tasks()
                raise Violation(f"observes: not looked at {DEADLINE:g} s after the last disturbance")
            self._judge_tasks()
            await asyncio.sleep(5.0)
            found = {each.observer: each.observer.looks for each in self._controllers.values() if each.observer}
            if len(found) < len(self._controllers) or self.loop.time() < self.disturbed_at + LEASE_SECONDS + PAUSE:
                looks = {}
            elif looks.keys() != found.keys():
                looks = dict(found)
            elif all(found[each] >= looks[each] + 2 for each in found):
                self._at_rest = True
                return

    def _judge_plans(self) -> None:
        """Each that observes knows of every Service that it would serve, and has not served."""
        for name, controller in self._controllers.items():
            plan = controller.observer.plan if controller.observer else None
            told = {each.about for each in plan.services} if plan else set()
            if missing := rest.unserved(self.truth) - told:
                raise Violation(f"observes: {name} does not tell of {sorted(missing)}")

    def _judge_rest(self) -> None:
        self._judge(rest.at_rest)

    def _judge(self, rules: Callable[[Truth], Iterator[str]]) -> None:
        self._see_neutron()
        self.truth.services_changed()
        for wrong in rules(self.truth):
            raise Violation(f"at rest: {wrong}")

    async def _judge_further_pass(self) -> None:
        writes = self.writes
        await asyncio.sleep(TIMES.audit + 5.0)
        if self.writes != writes:
            raise Violation(f"at rest: a further pass made {self.writes - writes} writes")

    def _bookmark(self) -> None:
        self.kube.bookmark()
        self.loop.call_later(BOOKMARKS, self._bookmark)


def _works(controller: Controller) -> bool:
    return controller.leader is not None or controller.observer is not None


class _Ports(Struct, frozen=True):
    ports: tuple[Port, ...]


class _FloatingIps(Struct, frozen=True):
    floatingips: tuple[FloatingIp, ...]


class _Groups(Struct, frozen=True):
    security_groups: tuple[SecurityGroup, ...]


def _listed(twin: NeutronTwin, collection: str, kind: type[T]) -> T:
    response = twin.handle(Request("list", "GET", f"/v2.0/{collection}"), neutron.ADMIN)
    return msgspec.json.decode(response.body, type=kind)


def _make(twin: NeutronTwin, collection: str, singular: str, caller: Caller, **wanted: object) -> str:
    body = msgspec.json.encode({singular: wanted})
    response = twin.handle(Request("create", "POST", f"/v2.0/{collection}", body=body), caller)
    made: dict[str, dict[str, str]] = msgspec.json.decode(response.body)
    return made[singular]["id"]


def _another_way(twin: NeutronTwin, inside: NetworkId) -> tuple[SubnetId, NetworkId]:
    """Another subnet of the same network, with a router of its own to another outside network."""
    outside = _make(twin, "networks", "network", neutron.ADMIN, **{"name": "partners", "router:external": True})
    _make(twin, "subnets", "subnet", neutron.ADMIN, network_id=outside, ip_version=4, cidr="198.51.100.0/24")
    subnet = _make(twin, "subnets", "subnet", MEMBER, network_id=inside, ip_version=4, cidr="10.2.0.0/24")
    gateway = {"network_id": outside}
    router = _make(twin, "routers", "router", MEMBER, name="fast", external_gateway_info=gateway)
    body = msgspec.json.encode({"subnet_id": subnet})
    twin.handle(Request("add", "PUT", f"/v2.0/routers/{router}/add_router_interface", body=body), MEMBER)
    return SubnetId(subnet), NetworkId(outside)


def _topology(twin: NeutronTwin, *, stateless: bool) -> Place:
    """An outside network, a network for addresses, and a router between them.

    Gateways have the project's default group, or one of their operator's, `stateless`, beside which ours may be.
    """
    make = functools.partial(_make, twin)
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
    groups = [make("security-groups", "security_group", MEMBER, name="gateways", stateful=False)] if stateless else None
    at = {
        "network_id": inside,
        "security_groups": groups,
        "fixed_ips": [{"subnet_id": subnet}],
        "device_owner": "compute:nova",
        "allowed_address_pairs": [{"ip_address": rest.PAIR_OF_OTHERS}],
    }
    gateways = tuple(PortId(make("ports", "port", MEMBER, name=name, **at)) for name in ("g1", "g2"))
    return Place(
        CLUSTER, NetworkId(inside), SubnetId(subnet), NetworkId(outside), gateways, subnet_ipv6=SubnetId(subnet6)
    )


def _namespaces(twin: KubeTwin) -> None:
    for name in ("mooring-system", "shop", "other"):
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        twin.handle(Request("create namespaces", "POST", "/api/v1/namespaces", body=body))
