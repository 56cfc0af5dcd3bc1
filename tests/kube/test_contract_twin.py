"""The twin keeps the contract of the Kubernetes API."""

import asyncio
from datetime import UTC, datetime

import pytest

from mooring.kube.twin.server import KubeTwin
from mooring.wire.http import Transport
from tests.contract.kube import bodies, cases
from tests.contract.kube.world import Case, Rights, World


class TwinHost:
    """A twin with the contract's own kinds."""

    def __init__(self) -> None:
        self._twin = KubeTwin(lambda: datetime(2026, 1, 1, 12, tzinfo=UTC))
        self.transport: Transport = self._twin.transport()

    async def compact(self) -> None:
        self._twin.compact()

    async def as_user(self, rights: Rights) -> Transport:
        self._twin.allow("somebody", rights)
        return self._twin.transport("somebody")


@pytest.mark.parametrize("case", cases.all_cases(), ids=cases.title)
def test_the_contract(case: Case) -> None:
    asyncio.run(_run(case))


async def _run(case: Case) -> None:
    at = World(TwinHost(), "contract")
    for definition in bodies.CONTRACT_KINDS:
        await at.made(bodies.DEFINITIONS, definition)
    await at.made("/api/v1/namespaces", {"metadata": {"name": at.namespace}})
    await case(at)
