"""Draining a gateway from anywhere, by an annotation of the Lease, beside a leader that writes there too."""

import msgspec
import pytest

from mooring.controller import draining
from mooring.controller.controller import LEASE
from mooring.controller.draining import CannotWrite
from mooring.core import roster
from mooring.kube.api import Api
from mooring.kube.kinds import LEASES
from mooring.kube.twin.server import KubeTwin
from mooring.model import names
from mooring.model.kubernetes import Lease, LeaseSpec, Meta
from mooring.wire.http import Request, Response, Stream
from tests.simulation.loop import run_virtually
from tests.simulation.world import BEGIN


class Busy:
    """A way on which somebody else renews the Lease after each of the first reads."""

    def __init__(self, twin: KubeTwin, *, renewals: int = 0) -> None:
        self._inner = twin.transport()
        self._left = renewals

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if request.method == "GET" and self._left:
            self._left -= 1
            await Api(self._inner).patch(LEASES, LEASE, {"spec": {"leaseTransitions": self._left}}, version=None)
        return response

    async def open(self, request: Request) -> Stream:
        return await self._inner.open(request)


async def made(*, lease: bool = True) -> KubeTwin:
    twin = KubeTwin(lambda: BEGIN)
    body = msgspec.json.encode({"metadata": {"name": LEASE.namespace}})
    await twin.transport().send(Request("create namespaces", "POST", "/api/v1/namespaces", body=body))
    if lease:
        meta = Meta(name=LEASE.name, namespace=LEASE.namespace, annotations={names.EPOCH: "4"})
        await Api(twin.transport()).create(LEASES, Lease(metadata=meta, spec=LeaseSpec("somebody")))
    return twin


async def drained(twin: KubeTwin) -> frozenset[str]:
    lease = await Api(twin.transport()).get(LEASES, LEASE)
    assert (lease.spec.holder_identity, lease.metadata.annotations[names.EPOCH]) == ("somebody", "4")
    return roster.load_names(lease.metadata.annotations.get(names.DRAINED, ""))


@pytest.mark.parametrize("renewals", [0, 3])
def test_names_come_and_go_and_the_others_stay(renewals: int) -> None:
    async def scene() -> None:
        twin = await made()
        for name, more, expected in (
            ("gw2", True, {"gw2"}),
            ("gw1", True, {"gw1", "gw2"}),
            ("gw1", True, {"gw1", "gw2"}),
            ("gw2", False, {"gw1"}),
            ("gw1", False, set()),
            ("gw1", False, set()),
        ):
            await draining.write_to(Api(Busy(twin, renewals=renewals)), name, drained=more)
            assert await drained(twin) == expected

    run_virtually(scene())


@pytest.mark.parametrize(
    ("lease", "renewals", "told"), [(False, 0, "no controller has ever led here"), (True, 99, "Try it again")]
)
def test_why_it_cannot_be_written_is_told(lease: bool, renewals: int, told: str) -> None:  # noqa: FBT001 - a table
    async def scene() -> None:
        twin = await made(lease=lease)
        with pytest.raises(CannotWrite, match=told):
            await draining.write_to(Api(Busy(twin, renewals=renewals)), "gw1", drained=True)

    run_virtually(scene())
