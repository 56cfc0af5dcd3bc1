"""Two who want to lead in the lab's Kubernetes, and what has to be true of them at any time."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from mooring.kube.api import Api
from mooring.kube.election import Election, Term
from mooring.model.kubernetes import Name
from tests.lab import following
from tests.patience import until


class Candidate:
    """Leads whenever it may, and writes down its epochs."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self.term: Term | None = None
        self.epochs: list[int] = []
        self.trouble: list[Exception] = []
        chance = random.Random(name)  # noqa: S311 - it has to be repeatable
        lease = Name(namespace, "leader")
        self._election = Election(api, lease, name, lambda: datetime.now(UTC), chance, trouble=self.trouble.append)
        self.task = asyncio.create_task(self._election.run(self._lead))

    async def _lead(self, term: Term) -> None:
        self.term = term
        self.epochs.append(term.epoch)
        try:
            await asyncio.Event().wait()
        finally:
            self.term = None

    @property
    def leads(self) -> bool:
        return self.term is not None and self.term.held()


@contextlib.asynccontextmanager
async def candidate(api: Api, namespace: str, name: str) -> AsyncIterator[Candidate]:
    made = Candidate(api, namespace, name)
    try:
        yield made
        assert made.task.cancelled() or not made.task.done(), f"the election has ended: {made.task}"
    finally:
        await following.end(made.task)


def assert_epochs_grow(*candidates: Candidate) -> None:
    every = [epoch for each in candidates for epoch in each.epochs]
    assert len(set(every)) == len(every)
    for each in candidates:
        assert each.epochs == sorted(each.epochs)


async def never_both(first: Candidate, second: Candidate, until_leads: Candidate, seconds: float) -> None:
    """Wait for a leader; at no moment are there two."""

    def so() -> bool:
        assert not (first.leads and second.leads)
        return until_leads.leads

    await until(so, seconds=seconds, what="the other one to lead")
