"""A controller over the twins, in one process and on virtual time: what matters here is what it asks of whom."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import msgspec

from bench import moored
from mooring.cloud.twin import neutron
from mooring.cloud.twin.neutron import NeutronTwin
from mooring.controller.agenda import Times
from mooring.controller.controller import Controller, Outside
from mooring.core import gateway_document
from mooring.core.roster import Member
from mooring.kube.twin.server import KubeTwin
from mooring.model.errors import StartRefused
from mooring.model.gateway import Delta, Document, Held, State, Vrrp
from mooring.wire.calls import CountedCalls
from mooring.wire.http import Request, Response
from tests.silent import SILENT
from tests.simulation.loop import VirtualLoop, new_loop

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PAIRS = 1 << 20
PULSE = frozenset({"heartbeat", "patch leases", "get state"})
"""What goes on when nothing happens, once in some seconds."""
STEP = 0.05
BOOKMARKS = 30.0
LONGEST = 600.0


class Gateway:
    """Takes what it is told."""

    def __init__(self) -> None:
        self.held = Held()

    async def send(self, request: Request) -> Response:
        if request.method in {"PUT", "PATCH"}:
            kind: type[Document | Delta] = Document if request.method == "PUT" else Delta
            self.held = msgspec.json.decode(request.body, type=kind).held
        state = State(self.held, Vrrp.MASTER, told=self.held.digest, schemas=gateway_document.SCHEMAS)
        return Response(200, {}, msgspec.json.encode(state))


class Counted:
    """`size`: so many Services are there, all with an address."""

    def __init__(self, size: int, *, gateways: int = 2) -> None:
        self.loop: VirtualLoop = new_loop()
        self.kube = KubeTwin(self._clock, service_ipv4="10.64.0.0/16")
        self.neutron = NeutronTwin(neutron.counted_ids(), self.loop.time, address_pairs=PAIRS)
        self.cluster = moored.Cluster(self.kube)
        self.cloud = moored.Cloud(self.neutron, gateways)
        for _ in moored.fill(self.cluster, self.cloud, size):
            pass
        self._gateways = {f"gw{number}": Gateway() for number in range(1, gateways + 1)}
        self._calls = [CountedCalls() for _ in range(3)]
        place = self.cloud.place(self.cluster.identity)
        members = {name: Member(name, port) for name, port in zip(self._gateways, place.gateways, strict=True)}
        self.controller = Controller(
            Outside(
                self.kube.transport(), self.neutron.transport(moored.MEMBER), self._gateways.__getitem__, *self._calls
            ),
            place,
            members,
            "bench",
            find=self._find,
            clock=self._clock,
            chance=random.Random(1),  # noqa: S311 - the same in each run
            times=Times(),
            log=SILENT,
        )
        self._before: Counter[str] = Counter()

    async def _find(self) -> NoReturn:
        raise StartRefused("nothing is named here")

    def run(self, scene: "Callable[[Counted], Awaitable[None]]") -> None:
        """Let it work until the scene ends."""

        async def main() -> None:
            working = [asyncio.create_task(each) for each in (self.controller.run(), self._bookmark())]
            try:
                await scene(self)
            finally:
                for each in working:
                    each.cancel()
                await asyncio.wait(working)

        self.loop.run(main())

    async def rest(self) -> Counter[str]:
        """Wait until there is nothing to do; the calls since the last time, by kind, but for those of the pulse."""
        end = self.loop.time() + LONGEST
        await asyncio.sleep(STEP)
        while self.controller.leader is None or not self.controller.leader.idle:
            if self.loop.time() > end:
                raise TimeoutError("it does not come to rest")
            await asyncio.sleep(STEP)
        return self.calls()

    def calls(self) -> Counter[str]:
        """Those since the last time."""
        now: Counter[str] = Counter()
        for each in self._calls:
            now.update({what: count for what, count in each.by_kind.items() if what not in PULSE})
        found, self._before = now - self._before, now
        return found

    async def _bookmark(self) -> None:
        while True:
            await asyncio.sleep(BOOKMARKS)
            self.kube.bookmark()

    def _clock(self) -> datetime:
        return BEGIN + timedelta(seconds=self.loop.time())


def writes(calls: Counter[str]) -> Counter[str]:
    return Counter({what: count for what, count in calls.items() if what.split()[0] not in {"list", "get", "watch"}})


def reads(calls: Counter[str]) -> Counter[str]:
    return calls - writes(calls)
