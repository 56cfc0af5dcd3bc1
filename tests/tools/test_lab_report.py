"""What people are told about a lab: every state, and what to do about it."""

import io
import os
import signal

import pytest
from rich.console import Console, RenderableType

from mooring.lab import processes, report, waiting
from mooring.lab.lab import Lab
from mooring.lab.report import LabSeen, PartSeen


def part(name: str, state: str, *, memory: int = 0, seconds: float = 0) -> PartSeen:
    pid = 4711 if state in ("running", "paused") else 0
    return PartSeen(part=name, group="g", host="control", state=state, pid=pid, memory=memory, seconds=seconds)


def seen(*parts: PartSeen, ready: bool = True, cut: tuple[str, ...] = (), memory: int = 0) -> LabSeen:
    return LabSeen(name="east", ready=ready, parts=list(parts), cut=list(cut), memory=memory)


def shown(what: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(what)
    return out.getvalue()


RUNS = part("etcd", "running", memory=30 * 2**20, seconds=90)


@pytest.mark.parametrize(
    ("lab_seen", "told", "whole"),
    [
        pytest.param(seen(RUNS), ["1 of 1 processes run"], True, id="whole"),
        pytest.param(
            seen(RUNS, part("dns", "dead")),
            ["1 of 2 processes run", "`mooring lab up --name east` starts again what has died"],
            False,
            id="dead",
        ),
        pytest.param(
            seen(RUNS, part("dns", "not started")),
            ["1 of 2 processes run", "`mooring lab up --name east`"],
            False,
            id="not started",
        ),
        pytest.param(
            seen(RUNS, part("dns", "paused")),
            ["1 of 2 processes run", "`mooring lab resume --name east dns` lets it go on."],
            False,
            id="paused",
        ),
        pytest.param(
            seen(RUNS, cut=("n1 eth0", "gw1 eth1")),
            ["Pulled cables: n1 eth0, gw1 eth1 (`mooring lab heal --name east`)"],
            True,
            id="cut",
        ),
        pytest.param(
            seen(RUNS, ready=False),
            ["It was never completed: `mooring lab up --name east` makes it anew"],
            False,
            id="never completed",
        ),
    ],
)
def test_each_state_is_shown_with_what_to_do(lab_seen: LabSeen, told: list[str], whole: bool) -> None:  # noqa: FBT001 - a column
    text = shown(report.table(lab_seen))
    assert [line for line in told if line not in text] == []
    assert all(each.part in text and each.state in text for each in lab_seen.parts)
    assert lab_seen.whole is whole


def test_a_whole_lab_asks_for_nothing() -> None:
    assert "mooring lab" not in shown(report.table(seen(RUNS)))


def test_rows_have_figures_that_people_read() -> None:
    text = shown(report.table(seen(RUNS, part("old", "running", seconds=7200), part("dns", "dead"), memory=2**30)))
    rows = {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if line.strip()}
    assert rows["etcd"] == "etcd control running 4711 30 MiB 90 s"
    assert rows["old"] == "old control running 4711 - 120 min"
    assert rows["dns"] == "dns control dead - - 0 s"
    assert "the lab takes 1024 MiB." in text


def test_rows_are_sorted_by_group_and_name() -> None:
    names = ["b", "a", "c"]
    lines = shown(report.table(seen(*(part(name, "running") for name in names)))).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["a", "b", "c"]


def test_a_lab_of_which_nothing_runs_is_seen_as_that(lab: Lab) -> None:
    found = report.observe(lab)
    assert (found.name, found.ready, found.whole, found.cut, found.memory) == (lab.spec.name, False, False, [], 0)
    assert {each.state for each in found.parts} == {"not started"}
    assert {"etcd", "neutron", "kubelet-n2", "keepalived-gw2"} <= {each.part for each in found.parts}
    assert "cables" not in {each.part for each in found.parts}


def test_running_paused_and_dead_processes_are_seen(caged: Lab) -> None:
    for name in ("etcd", "neutron", "octavia"):
        caged.processes.spawn(name, ["sleep", "infinity"], host="control")
    waiting.until(lambda: len(caged.cage.pids()) == 3, seconds=10, what="three processes")
    caged.processes.signal("neutron", signal.SIGSTOP)
    os.kill(caged.processes.pid("octavia"), signal.SIGKILL)
    waiting.until(lambda: not caged.processes.alive("octavia"), seconds=10, what="the end of one")
    waiting.until(lambda: processes.is_stopped(caged.processes.pid("neutron")), seconds=10, what="another to pause")
    (caged.place.run / "n1+eth0.cut").touch()
    caged.place.ready.touch()
    found = report.observe(caged)
    states = {each.part: each.state for each in found.parts if each.state != "not started"}
    assert states == {"etcd": "running", "neutron": "paused", "octavia": "dead"}
    [etcd] = [each for each in found.parts if each.part == "etcd"]
    assert (etcd.host, etcd.pid) == ("control", caged.processes.pid("etcd"))
    assert 0 < etcd.memory <= found.memory
    assert 0 <= etcd.seconds < 60
    assert (found.ready, found.whole, found.cut) == (True, False, ["n1 eth0"])


def test_the_environment_leads_to_this_lab_and_keeps_the_users_own_programs(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/opt/own:/usr/bin")
    made = report.environment(lab)
    assert made["KUBECONFIG"] == str(lab.place.kubeconfig)
    assert made["OS_CLIENT_CONFIG_FILE"] == str(lab.place.clouds)
    assert made["OVN_NB_DB"] == f"unix:{lab.socket('ovn-nb')}"
    folders = made["PATH"].split(":")
    assert folders[-2:] == ["/opt/own", "/usr/bin"]
    assert {str(lab.program("kubectl").parent), str(lab.ovs("ovn-nbctl").parent)} <= set(folders)
    monkeypatch.setenv("PATH", made["PATH"])
    assert report.environment(lab)["PATH"] == made["PATH"]  # a second time adds nothing
