"""The twins as the seam sees them: what can happen to a request at each, and who is told of every effect."""

import asyncio
import contextvars
from collections.abc import Callable
from http import HTTPStatus

from mooring.cloud.twin.neutron import NeutronTwin
from mooring.cloud.twin.state import Caller
from mooring.kube.twin.server import KubeTwin, Whole
from mooring.kube.twin.watching import Subscription
from mooring.wire.http import Request, Response, Stream
from tests.simulation.faults import ANY_CALL, GATEWAY_READS, GATEWAY_WRITES, LISTS, OPENS, READS, WRITES, Fault
from tests.simulation.gateway import GatewayTwin
from tests.simulation.process import Process

Judge = Callable[[Process | None, str, Request, Callable[[], Response]], Response]
"""Carries something out and judges what it did."""

RESTART = 2.0
"""Less than a gateway may be silent and still count as live."""
AWAY = 40.0
"""Much more than that."""


class KubeServer:
    name = "kube"

    def __init__(self, twin: KubeTwin, judge: Judge) -> None:
        self._twin = twin
        self._judge = judge

    def possible(self, request: Request) -> tuple[Fault, ...]:
        if request.writes:
            return WRITES
        if request.what.startswith("watch"):
            return OPENS
        return READS if request.what.startswith("get") else LISTS  # a list without a version is never stale

    def handle(self, process: Process, request: Request) -> Response:
        if not request.writes:
            return self._twin.handle(request)
        return self._judge(process, self.name, request, lambda: self._twin.handle(request))

    def handle_stale(self, request: Request, back: int) -> Response:
        return self._twin.handle_at(request, back)

    def open(self, request: Request) -> Stream:
        answer = self._twin.watch(request)
        if not isinstance(answer, Subscription):
            return Whole(answer)
        seconds = float(dict(request.query)["timeoutSeconds"])
        asyncio.get_running_loop().call_later(seconds, answer.end)
        return answer

    def disturb(self, fault: Fault) -> None:
        if fault is Fault.STREAM_GONE:
            self._twin.compact()


class NeutronServer:
    name = "neutron"

    def __init__(self, twin: NeutronTwin, caller: Callable[[], Caller], judge: Judge) -> None:
        self._twin = twin
        self._caller = caller
        self._judge = judge

    def possible(self, request: Request) -> tuple[Fault, ...]:
        return WRITES if request.writes else ANY_CALL

    def handle(self, process: Process, request: Request) -> Response:
        if not request.writes:
            return self._twin.handle(request, self._caller())
        return self._judge(process, self.name, request, lambda: self._twin.handle(request, self._caller()))

    def handle_stale(self, request: Request, back: int) -> Response:
        raise NotImplementedError

    def open(self, request: Request) -> Stream:
        raise NotImplementedError

    def disturb(self, fault: Fault) -> None:
        raise NotImplementedError


class GatewayServer:
    def __init__(self, twin: GatewayTwin, judge: Judge) -> None:
        self.name = twin.name
        self._twin = twin
        self._judge = judge
        self._down = RESTART

    def possible(self, request: Request) -> tuple[Fault, ...]:
        return GATEWAY_WRITES if request.writes else GATEWAY_READS

    def handle(self, process: Process, request: Request) -> Response:
        try:
            return self._judge(process, self.name, request, lambda: self._twin.handle(request))
        except ConnectionResetError:
            nobody = contextvars.Context()  # its supervisor is not part of the process that asked
            asyncio.get_running_loop().call_later(self._down, self._restart, context=nobody)
            raise

    def handle_stale(self, request: Request, back: int) -> Response:
        raise NotImplementedError

    def open(self, request: Request) -> Stream:
        raise NotImplementedError

    def disturb(self, fault: Fault) -> None:
        self._down = AWAY if fault is Fault.GATEWAY_AWAY else RESTART
        self._twin.dies_in_next_request()

    def _restart(self) -> None:
        """Its supervisor starts it again; that is judged like an effect."""
        self._twin.start()
        request = Request("start", "START", "")
        self._judge(None, self.name, request, lambda: Response(HTTPStatus.OK))
