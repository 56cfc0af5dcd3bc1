"""Mutations against a real kernel: after each, it holds what the agent means, and nothing else is touched.

In a network namespace of its own, which ends with the run. The kernel is real, disk and VRRP are those of the
simulation. `difference` says from the bytes that were sent what the kernel should hold (tests/agent/mutations.py).
"""

import re
import subprocess
import sys

import msgspec
import pytest

from mooring.agent import answers
from mooring.agent.gateway import Choices, Gateway
from mooring.agent.rules import MAPS
from mooring.core import gateway_document
from mooring.core.elements import InForce
from mooring.core.ruleset import FAMILIES, TABLES, Mode
from mooring.core.vrrp import Vrrp
from mooring.host.nftables import Nftables
from mooring.model.rules import Element
from tests.agent import mutations
from tests.agent.mutations import Meant, Mutations
from tests.silent import SILENT
from tests.simulation.host import Machine
from tests.source_copy import ROOT

pytestmark = pytest.mark.usefixtures("lab")  # which has installed nftables

SETTINGS = Vrrp("eth0", 51, 0.1, "169.254.77.1", "/run/mooring/stale")
HANDLERS = {"PUT": answers.put_document, "PATCH": answers.patch_document}
SLICE, WHOLE = 1_000, 10_000
LOOK_AT_OTHERS = 20
THEIRS = """
table inet theirs {
  set known { type ipv4_addr; elements = { 10.0.0.5, 10.0.0.6 }; }
  chain own {
    type filter hook input priority 0; policy accept;
    ip saddr @known counter
  }
}
table ip mooring_c {
  chain pre { type nat hook prerouting priority dstnat; }
}
table ip6 mooring {
  map services { type inet_service : verdict; }
}
"""
OTHERS = ("inet theirs", "ip mooring_c", "ip6 mooring")


def run(count: int, seed: int) -> str:
    """Send so many to an agent over this namespace's kernel; what was seen."""
    nft = Nftables()
    nft.run(THEIRS)
    others = _others(nft)
    machine, cases, told = Machine(lambda _: None), Mutations(seed), Meant()
    gateway = Gateway(
        msgspec.structs.replace(machine.host, filter=nft),
        SETTINGS,
        Choices(version="1"),
        log=SILENT,
        clock=lambda: 0.0,
    )
    gateway.start()
    refused = left_out = 0
    for number in range(count):
        case = cases.next(gateway.document)
        after = mutations.meant(told, case)
        answer = HANDLERS[case.method](gateway, case.body)
        assert (answer.outcome == "applied") == (after is not None), (case, answer)
        assert answer.response.status in {200, 409, 422}, (case, answer)
        told = after or told
        refused += after is None
        left_out += bool(after and after.left_out)
        there = held(nft)
        in_force = InForce(Mode())
        in_force.follow(gateway_document.by_place(gateway.told.forwards.values()))
        assert there == set(in_force.elements()), case
        assert mutations.difference(told, there) == "", case
        if number % LOOK_AT_OTHERS == 0 or number == count - 1:
            assert _others(nft) == others, case
    nft.close()
    applied = count - refused - left_out
    return f"ran {count} of {count}: refused {refused}, left out {left_out}, applied {applied}"


def held(nft: Nftables) -> set[Element]:
    """What the one table of ours that is in force holds, in both families. There is no other."""
    ours = {name for (_, name), _ in nft.tables().items() if name in TABLES}
    assert len(ours) == 1, ours
    (table,) = ours
    assert all(nft.tables()[family.name, table] for family in FAMILIES)
    return {
        each for family in FAMILIES for name in (*MAPS, "affinity") for each in nft.elements(family.name, table, name)
    }


def _others(nft: Nftables) -> list[str]:
    """The tables of others, as nft tells them, and which ones there are; without counters."""
    tables = [f"{family} {name}" for family, name in nft.tables() if name not in TABLES]
    return [*sorted(tables), *(re.sub(r"packets \d+ bytes \d+", "", nft.run(f"list table {each}")) for each in OTHERS)]


def test_the_kernel_holds_what_was_meant(whole: bool) -> None:  # noqa: FBT001 - a fixture
    count = WHOLE if whole else SLICE
    program = f"from tests.lab import test_fuzz_kernel as test; print(test.run({count}, 1))"
    command = ["unshare", "--net", sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)  # noqa: T201 - it is what the run is for
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"ran {count} of {count}" in done.stdout
