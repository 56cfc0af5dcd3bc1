"""Every kind of fault at every kind of call, as a table: how often the faults of single runs are there, and where not.

A call is a verb and a kind of object; a gateway is like the other. What cannot happen at a call stands in `faults`, by
what the call is; here stands why, for people.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tests.simulation import explore
from tests.simulation.explore import Run
from tests.simulation.faults import GATEWAY_DEATHS, STALE, Fault
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.world import Step

Call = tuple[str, str]
"""Who is asked, and what for."""

VERBS = ("create", "delete", "get", "list", "tag", "untag", "update")
FOLLOWED = ("endpointslices", "leases", "networkpolicies", "nodes", "services")
CALLS: frozenset[Call] = frozenset(
    [("gateway", what) for what in ("get state", "heartbeat", "patch document", "put document")]
    + [("kube", f"{verb} {kind}") for verb in ("watch", "event") for kind in FOLLOWED]
    + [("kube", f"list {kind}") for kind in FOLLOWED if kind != "leases"]
    + [("kube", f"{verb} leases") for verb in ("create", "get", "patch")]
    + [("kube", "get namespaces")]
    + [("kube", what) for what in ("create events", "patch events")]
    + [("kube", what) for what in ("get services", "patch services", "patch services/status")]
    + [("neutron", f"{verb} {kind}") for verb in VERBS for kind in ("floatingips", "ports")]
    + [("neutron", f"{verb} security_groups") for verb in ("create", "delete", "list")]
    + [("neutron", what) for what in ("create many security_group_rules", "delete security_group_rules", "get quotas")]
    + [("neutron", "list networks")]
)
"""All that a controller, or an uninstall, does to the outside. Whoever adds a call adds a line, and a scenario."""

WHY_NOT: Mapping[str, tuple[frozenset[Fault], str]] = {
    "old versions": (
        frozenset({Fault.GONE, *STALE}),
        "Kubernetes alone keeps versions: that of a list or a watch may be gone, a read or a watch may be behind.",
    ),
    "writes": (
        frozenset({Fault.TWICE, Fault.LATE}),
        "carried out twice, or after the caller has given up, makes a difference to writes alone.",
    ),
    "streams": (
        frozenset(fault for fault in Fault if fault.value.startswith(("event", "stream"))),
        "an opened watch has no answer that can be cut or wrong: its events have.",
    ),
    "gateways": (frozenset(GATEWAY_DEATHS), "a gateway dies at what it is asked."),
    "pairs": (frozenset({Fault.WAKE}), "who goes on has been stopped: see the takeovers."),
}


def call(step: Step) -> Call:
    return ("gateway" if step.server in {"g1", "g2"} else step.server, step.what)


def bases() -> Iterator[Run]:
    """The runs whose points are all tried: every scenario whose deeds are fixed.

    Some calls are made only after something went wrong: a Service was not written as it was, Neutron did not answer.
    """
    for name, scenario in SCENARIOS.items():
        if "churn" not in name:
            yield explore.replay(scenario, 1, {})
    calm = explore.replay(SCENARIOS["map"], 1, {})
    for what, fault in (("patch services", Fault.CONFLICT), ("create ports", Fault.TIMEOUT_BEFORE)):
        first = next(step.number for step in calm.trace if step.what == what)
        yield explore.replay(SCENARIOS["map"], 1, {first: fault})


def counted(runs: Iterable[Run]) -> dict[Call, Counter[Fault]]:
    """How often each fault is possible at each call of these runs."""
    found: dict[Call, Counter[Fault]] = {}
    for run in runs:
        for step in run.trace:
            found.setdefault(call(step), Counter()).update(run.possible.get(step.number, ()))
    return found


def one_of_each(runs: Iterable[Run]) -> dict[tuple[Call, Fault], tuple[str, dict[int, Fault]]]:
    """For each cell of the table a scenario and its faults: of all that there are, the one in the middle."""
    found: dict[tuple[Call, Fault], list[tuple[str, dict[int, Fault]]]] = {}
    for run in runs:
        last = max(run.faults, default=0)
        for step in run.trace:
            for fault in run.possible.get(step.number, ()) if step.number > last else ():
                found.setdefault((call(step), fault), []).append((run.scenario, {**run.faults, step.number: fault}))
    return {cell: places[len(places) // 2] for cell, places in found.items()}


def table(counts: Mapping[Call, Counter[Fault]]) -> str:
    """Rows are calls, columns are kinds of faults; a dash where one cannot happen."""
    kinds = [fault for fault in Fault if any(fault in row for row in counts.values())]
    heads = [f"{number:>3} {fault.value}" for number, fault in enumerate(kinds, start=1)]
    width = max(len(" ".join(each)) for each in counts)
    lines = [*heads, " " * width + "".join(f"{number:6}" for number in range(1, len(kinds) + 1))]
    for each in sorted(counts):
        cells = "".join(f"{counts[each][fault] or '-':>6}" for fault in kinds)
        lines.append(f"{' '.join(each):{width}}{cells}")
    return "\n".join(lines)
