"""Has the gateways ask the nodes whether they answer, where the operator wants that."""

from http import HTTPStatus

import msgspec
from structlog.typing import FilteringBoundLogger

from mooring.controller.fence import LeaseLost
from mooring.core import probing
from mooring.model.gateway import Probes, State
from mooring.wire.http import NoAnswer, NotSent, Request, Sender

SECONDS = 3.0
JSON = {"content-type": "application/json"}


class Probing:
    """Tells each gateway whom to ask, whenever it says that it was told something else."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._unable: set[str] = set()

    def wanted(self, gateway: str, state: State, probes: Probes) -> bool:
        return gateway not in self._unable and state.probes != probing.name(probes)

    async def tell(self, gateway: str, sender: Sender, probes: Probes) -> None:
        """What is not answered is told again after the next heartbeat."""
        body = msgspec.json.encode(probes)
        try:
            answer = await sender.send(
                Request("put probes", "PUT", "/v1/probes", headers=JSON, body=body, seconds=SECONDS)
            )
        except (LeaseLost, NotSent, NoAnswer):
            return
        if answer.status != HTTPStatus.OK:
            self._unable.add(gateway)
            why = answer.body.decode(errors="replace")[:200]
            self._log.warning("gateway does not ask nodes whether they answer", gateway=gateway, why=why)
