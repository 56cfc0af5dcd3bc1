"""Whoever has lost the lease changes nothing any more, with real processes; and parts are replaced under traffic.

Given Services that change, when the leading controller stands still for longer than its lease, at any moment, then
another one goes on; and when the first one wakes, it writes nothing, the agents refuse what bears its epoch, nothing
was made twice, every Service has the address that it had, and packets flow all the time.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from mooring.lab import callers, faults, lifecycle
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from tests.lab import moored, probe
from tests.lab.fenced import PATIENCE, Changing, Deposed, epoch
from tests.lab.gateway_path import ECHO
from tests.lab.moored import Moored
from tests.lab.tenant import Tenant

SLICE, WHOLE = 5, 200
LATEST = 2.5
"""Seconds after a change: what a controller does about it is done by then."""
SILENCE = 3.0
"""Seconds without an answer that a fail-over may cost at most; nothing here should cost one."""
COUNT = 20


@pytest.fixture(autouse=True)
def all_is_well_again(product: Moored, tenant: Tenant) -> Iterator[None]:
    yield
    for gateway in product.lab.spec.gateway_names:
        if product.lab.processes.alive(part := f"controller-{gateway}"):
            faults.freeze(product.lab, part, signal.SIGCONT)
    lifecycle.up(product.lab.spec, PlainProgress())
    tenant.kubectl("delete", "services", "--all", "--wait=true", "--timeout=120s")


@pytest.mark.long
def test_a_leader_that_slept_through_its_lease_changes_nothing(
    product: Moored,
    tenant: Tenant,
    whole: bool,  # noqa: FBT001 - a fixture
) -> None:
    lab, runs = product.lab, WHOLE if whole else SLICE
    chance = random.Random(0)  # noqa: S311 - it has to be repeatable
    services = Changing(tenant, chance)
    given = services.begin()
    probe.first_answer(lab, "client", given)
    changes: Counter[str] = Counter()
    refused = 0
    with callers.Caller(lab, "client", given) as caller:
        for run in range(runs):
            first = Deposed(product)
            kind = services.change()
            moment, early = chance.uniform(0, LATEST), chance.random() < 0.5
            time.sleep(moment)  # the moment is the seed's
            faults.freeze(lab, first.part, signal.SIGSTOP)
            told = f"run {run}: {kind}, stopped after {moment:.2f} s, woken {'early' if early else 'late'}"
            first.is_followed()
            if not early:
                services.done()
            first.wakes()
            faults.freeze(lab, first.part, signal.SIGCONT)
            first.knows()
            services.done()
            assert first.is_refused_by_agents() == [], told
            assert services.wrong() == [], told
            assert first.written() == [], told
            assert product.leader() != first.part, told
            changes[kind] += 1
            refused += first.attempts()
        went = caller.end()
    made = ", ".join(f"{count} {kind}" for kind, count in sorted(changes.items()))
    print(f"fenced: ran {changes.total()} of {WHOLE} ({made}); late writes: 0 taken, {refused} refused")  # noqa: T201 - figures
    print(f"fenced: {went.failed} of {went.answered + went.failed} calls failed, {went.longest} s of silence")  # noqa: T201 - figures
    assert went.longest < SILENCE, went


def test_a_leader_whose_lease_is_deleted_goes_on(product: Moored, tenant: Tenant) -> None:
    chance = random.Random(1)  # noqa: S311 - it has to be repeatable
    services = Changing(tenant, chance)
    given = services.begin()
    probe.first_answer(product.lab, "client", given)
    with callers.Caller(product.lab, "client", given) as caller:
        for _ in range(3):
            product.leader()
            before = epoch(product)
            services.change()
            time.sleep(chance.uniform(0, LATEST))  # the moment is the seed's
            product.lab.kubectl("--namespace=mooring-system", "delete", "lease", "mooring-controller")
            services.done()
            product.leader()
            assert epoch(product) > before
            assert services.wrong() == []
        went = caller.end()
    print(f"lease deleted: {went.failed} of {went.answered + went.failed} calls failed, {went.longest} s of silence")  # noqa: T201 - figures
    assert went.longest < SILENCE, went


def restarted(lab: Lab, part: str) -> None:
    lifecycle.restart(lab, part, PlainProgress())


def killed(lab: Lab, part: str) -> None:
    faults.kill(lab, part, signal.SIGKILL)
    lifecycle.revive(lab, PlainProgress())


ROLLED = ("controller-gw1", "controller-gw2", "agent-gw1", "agent-gw2", "kube-apiserver", "neutron", "keystone")


@pytest.mark.parametrize("replaced", [restarted, killed])
def test_parts_are_replaced_under_traffic(
    product: Moored, tenant: Tenant, replaced: Callable[[Lab, str], None]
) -> None:
    """Calls and connections go on, and each part does its work afterwards: a new Service gets an address."""
    lab = product.lab
    tenant.deploy("web", replicas=2)
    tenant.deploy("echo", image="shell", replicas=2, command=ECHO)
    moored.expose(tenant, "web", port=80)
    moored.expose(tenant, "echo", port=81)
    given = moored.address(tenant, "web", seconds=PATIENCE)
    assert moored.address(tenant, "echo", seconds=PATIENCE) == given
    probe.first_answer(lab, "client", given)
    with callers.Connections(lab, "client", given, count=COUNT, port=81) as connections:
        assert connections.working(first=True) == COUNT
        for number, part in enumerate(ROLLED):
            with callers.Caller(lab, "client", given) as caller:
                replaced(lab, part)
                moored.expose(tenant, f"after-{number}", port=8000 + number, app="web")
                assert moored.address(tenant, f"after-{number}", seconds=PATIENCE) == given
                kept, went = connections.working(), caller.end()
            lost = f"{went.failed} of {went.answered + went.failed} calls failed, {went.longest} s of silence"
            print(f"{part} {replaced.__name__}: {lost}, {kept} of {COUNT} connections kept")  # noqa: T201 - figures
            assert kept == COUNT, part
            assert went.longest < SILENCE, part
            assert moored.addresses(tenant, "web") == [given]
