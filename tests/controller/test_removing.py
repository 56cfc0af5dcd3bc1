"""Who holds the Lease when everything is to be removed: one that lives, or one that left without a word."""

import asyncio
import datetime as dt
import random

import msgspec
import pytest

from mooring.cloud.api import Cloud
from mooring.controller.controller import LEASE, Outside
from mooring.controller.removing import NoWay, Remover
from mooring.core import ranges
from mooring.core.addresses import Place
from mooring.core.roster import Roster
from mooring.kube.api import Api
from mooring.kube.twin.server import KubeTwin
from mooring.model.cloud import NetworkId
from mooring.wire.calls import CountedCalls
from mooring.wire.http import Request
from tests.simulation.loop import run_virtually
from tests.simulation.world import BEGIN

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE.namespace}/leases"
JSON = {"content-type": "application/json"}
PLACE = Place("c", NetworkId(""), None, static=ranges.read_all(["192.0.2.1"]))


@pytest.mark.parametrize("lives", [False, True])
def test_who_does_not_renew_the_lease_is_waited_for(*, lives: bool) -> None:
    async def scene() -> tuple[str, float]:
        loop = asyncio.get_running_loop()

        def clock() -> dt.datetime:
            return BEGIN + dt.timedelta(seconds=loop.time())

        kube = KubeTwin(clock)

        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASE.namespace}}
        kube.handle(Request("create", "POST", "/api/v1/namespaces", headers=JSON, body=msgspec.json.encode(space)))

        def renew(verb: str, path: str, meta: dict[str, str]) -> None:
            spec = {
                "holderIdentity": "c1",
                "leaseDurationSeconds": 15,
                "renewTime": clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            }
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
            headers = JSON if verb == "POST" else {"content-type": "application/merge-patch+json"}
            answer = kube.handle(Request("renew", verb, path, headers=headers, body=msgspec.json.encode(body)))
            assert answer.status < 300, answer.body

        renew("POST", LEASES, {"name": LEASE.name})
        if lives:
            loop.call_later(5.0, renew, "PATCH", f"{LEASES}/{LEASE.name}", {})

        async def find(_api: Api, _cloud: Cloud) -> tuple[Place, Roster]:
            return PLACE, {}

        calls = CountedCalls()
        nobody = NoWay("nobody is there")
        outside = Outside(kube.transport(), nobody, lambda _: nobody, calls, calls, calls)
        remover = Remover(outside, find, keep=False, clock=clock, chance=random.Random(1), host="h")  # noqa: S311
        assert "A controller leads" in (await remover.look()).in_the_way
        return (await remover.look(patient=True)).in_the_way, loop.time()

    told, seconds = run_virtually(scene())
    assert ("A controller leads: c1" in told) is lives
    assert seconds < (8.0 if lives else 18.0)
