"""Real processes in real control groups: known again, ended with all that they started, never taken for others."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from mooring.lab import cage, processes, waiting
from mooring.lab.errors import CommandError, LabError, PartError
from mooring.lab.lab import Lab
from mooring.lab.processes import Record
from tests.tools import apart

FOREVER = ["sleep", "infinity"]


def wait_for(condition: waiting.Condition) -> None:
    waiting.until(condition, seconds=10, what="the test's own processes")


def spawn(lab: Lab, part: str, script: str) -> Record:
    """Run a shell script that says `ready`, and wait until it has."""
    pipe = lab.place.run / f"{part}.ready"
    os.mkfifo(pipe)
    record = lab.processes.spawn(part, ["/bin/sh", "-c", f'ready() {{ echo >"{pipe}"; }}; {script}'])
    pipe.read_text()
    return record


@contextmanager
def running(*words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that belongs to no lab; it ends with the block, however that ends."""
    with subprocess.Popen(words) as process:
        try:
            yield process
        finally:
            process.kill()


def sessions(lab: Lab, part: str) -> set[int]:
    """The sessions of a part's processes: as many as there are processes that have detached, and one more."""
    found = set()
    for pid in lab.cage.pids(part):
        with suppress(ProcessLookupError):
            found.add(os.getsid(pid))
    return found


def runs(pid: int) -> bool:
    return processes.start_time(pid) is not None


def test_the_start_time_of_a_process_stays_the_same() -> None:
    first = processes.start_time(os.getpid())
    assert first is not None
    assert first > 0
    assert processes.start_time(os.getpid()) == first


def test_a_dead_process_and_its_zombie_have_no_start_time() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended and is not yet collected
        assert Path(f"/proc/{child.pid}").exists()
        assert processes.start_time(child.pid) is None
    assert processes.start_time(child.pid) is None
    assert processes.memory(child.pid) == 0
    assert not processes.is_stopped(child.pid)


def test_a_program_with_an_odd_name_is_read_rightly(tmp_path: Path) -> None:
    program = tmp_path / "x) S 1 (y"
    program.symlink_to("/bin/sleep")
    with running(program, "infinity") as child:
        wait_for(lambda: Path(f"/proc/{child.pid}/comm").read_text().strip() == program.name)
        found = processes.start_time(child.pid)
    own = processes.start_time(os.getpid())
    assert found is not None
    assert own is not None
    assert found >= own


def test_memory_is_what_the_process_takes() -> None:
    assert 2**20 < processes.memory(os.getpid()) < 2**40


def test_a_process_is_known_again(caged: Lab) -> None:
    record = caged.processes.spawn("one", FOREVER, host="n1")
    again = Lab(caged.spec, caged.place).processes  # as the next command sees it
    assert again.record("one") == record
    assert (record.host, record.argv) == ("n1", ("sleep", "infinity"))
    assert again.alive("one")
    assert again.pid("one") == record.pid
    wait_for(lambda: caged.cage.pids("one") == [record.pid])
    caged.processes.stop("one")
    assert not again.alive("one")
    assert again.record("one") is None
    assert not runs(record.pid)


def test_what_a_process_writes_is_in_its_log(caged: Lab) -> None:
    spawn(caged, "one", "echo here; echo trouble >&2; ready; exec sleep infinity")
    assert caged.place.log_of("one").read_text() == "here\ntrouble\n"


def test_children_that_detach_are_ended_too(caged: Lab) -> None:
    spawn(caged, "one", "setsid --fork sleep infinity; (setsid sleep infinity &); ready; exec sleep infinity")
    wait_for(lambda: len(caged.cage.pids("one")) == len(sessions(caged, "one")) == 3)
    everybody = caged.cage.pids("one")
    caged.processes.stop("one")
    assert [pid for pid in everybody if runs(pid)] == []
    assert caged.cage.pids() == []


def test_stopping_one_part_leaves_the_others_alone(caged: Lab) -> None:
    spawn(caged, "one", "ready; exec sleep infinity")
    other = spawn(caged, "other", "ready; exec sleep infinity")
    caged.processes.stop("one")
    assert caged.processes.alive("other")
    assert caged.cage.pids() == [other.pid]


def test_what_a_shared_part_started_lives_on(caged: Lab) -> None:
    record = spawn(caged, "one", "setsid --fork sleep infinity; ready; exec sleep infinity")
    wait_for(lambda: len(caged.cage.pids("one")) == 2)
    caged.processes.stop("one", shared=True)
    assert not runs(record.pid)
    assert len(caged.cage.pids("one")) == 1


def test_a_polite_stop_lets_the_process_say_good_bye(caged: Lab) -> None:
    spawn(caged, "one", 'trap "echo bye; exit" TERM; ready; while :; do sleep 0.01; done')
    caged.processes.stop("one", seconds=10)
    assert caged.place.log_of("one").read_text() == "bye\n"


def test_a_process_that_does_not_listen_is_ended_all_the_same(caged: Lab) -> None:
    record = spawn(caged, "one", 'trap "" TERM; ready; while :; do sleep 0.01; done')
    caged.processes.stop("one", seconds=0.1)
    assert not runs(record.pid)


def test_a_process_is_in_its_group_as_soon_as_it_was_started(caged: Lab) -> None:
    record = caged.processes.spawn("one", FOREVER)
    at_once = caged.cage.pids("one")  # an end that came now would miss whoever is not here
    wait_for(lambda: caged.cage.pids("one") == [record.pid])
    assert at_once == [record.pid]


def test_stopping_what_never_ran(caged: Lab) -> None:
    caged.processes.stop("one", seconds=1)
    assert not caged.processes.alive("one")


def test_a_pid_that_was_given_to_somebody_else_is_not_ours(caged: Lab) -> None:
    with running(*FOREVER) as somebody:
        start = processes.start_time(somebody.pid)
        assert start is not None
        stale = Record(part="one", host="n1", pid=somebody.pid, start_time=start - 1, argv=("sleep", "infinity"))
        (caged.place.run / "one.process").write_bytes(msgspec.json.encode(stale))
        assert caged.processes.record("one") == stale
        assert not caged.processes.alive("one")
        with pytest.raises(PartError, match="one: is not running"):
            caged.processes.signal("one", signal.SIGKILL)
        caged.processes.stop("one", seconds=1)
        assert runs(somebody.pid)


def test_signals_reach_the_process_or_its_whole_group(caged: Lab) -> None:
    record = spawn(caged, "one", "sleep infinity & ready; wait")
    wait_for(lambda: len(caged.cage.pids("one")) == 2)
    [child] = set(caged.cage.pids("one")) - {record.pid}
    caged.processes.signal("one", signal.SIGSTOP)
    wait_for(lambda: processes.is_stopped(record.pid))
    assert not processes.is_stopped(child)
    caged.processes.signal("one", signal.SIGSTOP, whole_group=True)
    wait_for(lambda: processes.is_stopped(child))
    caged.processes.signal("one", signal.SIGCONT, whole_group=True)
    wait_for(lambda: not processes.is_stopped(record.pid) and not processes.is_stopped(child))
    assert caged.processes.alive("one")


def test_waiting_ends_at_once_when_the_process_ends(caged: Lab) -> None:
    caged.processes.spawn("one", ["/bin/sh", "-c", "echo no such port; exit 3"])
    with pytest.raises(PartError) as failure:
        caged.processes.wait("one", lambda: False, seconds=600, what="a port")
    assert failure.value.what == "one: ended while it was starting"
    assert failure.value.log_tail() == ["no such port"]


def test_waiting_ends_when_the_time_is_over(caged: Lab) -> None:
    spawn(caged, "one", "ready; exec sleep infinity")
    with pytest.raises(PartError) as failure:
        caged.processes.wait("one", lambda: False, seconds=0, what="a port")
    assert failure.value.what == "one: waited 0 s for a port"
    caged.processes.wait("one", lambda: True, seconds=0, what="nothing")


def test_a_condition_that_holds_is_not_waited_for() -> None:
    waiting.until(lambda: True, seconds=0, what="nothing")
    with pytest.raises(LabError) as failure:
        waiting.until(lambda: False, seconds=0, what="rain")
    assert failure.value.what == "waited 0 s for rain"
    assert failure.value.hint


def test_groups_come_and_go(caged: Lab) -> None:
    name = caged.spec.name
    assert name not in cage.names()
    assert caged.cage.pids() == []
    assert caged.cage.group("one") == caged.cage.group("one")
    assert name in cage.names()
    caged.cage.kill("one")
    assert not (caged.cage.folder / "one").exists()
    assert name in cage.names()
    caged.cage.kill()
    assert name not in cage.names()


# A process of its own goes in: one that did not come out again would end with the cage.
INSIDE = """
import os, subprocess, sys
from mooring.lab.cage import Cage

cage = Cage(sys.argv[1])
with cage.inside():
    within = os.getpid() in cage.pids()
    child = subprocess.Popen(["sleep", "infinity"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
after = cage.pids() == [child.pid]
try:
    with cage.inside():
        raise KeyError
except KeyError:
    print(within, after, cage.pids() == [child.pid])
"""


def test_a_command_stands_in_the_cage_for_a_while_and_what_it_started_stays(caged: Lab, tmp_path: Path) -> None:
    assert apart.run(INSIDE, tmp_path, caged.spec.name) == "True True True\n"
    [child] = caged.cage.pids()
    caged.cage.kill()
    assert not runs(child)


def test_ending_what_is_not_there_is_no_mistake(caged: Lab) -> None:
    caged.cage.kill("never")
    caged.cage.kill()
    caged.cage.sweep()


def test_ending_the_whole_lab_ends_groups_within_groups(caged: Lab) -> None:
    inner = caged.cage.group("pods") / "pod"
    inner.mkdir()
    with running("/bin/sh", "-c", f'echo 0 >"{inner}/cgroup.procs"; exec sleep infinity') as pod:
        wait_for(lambda: caged.cage.pids("pods") == [pod.pid])
        caged.cage.kill()
        assert not runs(pod.pid)
    assert not caged.cage.folder.exists()


@pytest.mark.parametrize(
    "name",
    ["OS_CLOUD", "OVS_RUNDIR", "OVN_NB_DB", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "PYTHONPATH", "VIRTUAL_ENV"],
)
def test_what_leads_elsewhere_is_kept_from_children(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:8080")
    made = processes.environment({"EXTRA": "1"})
    assert name not in made
    assert made["EXTRA"] == "1"
    assert made["HTTPS_PROXY"] == "http://proxy:8080"
    assert processes.environment({name: "ours"})[name] == "ours"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/opt/bin:/usr/bin", "/opt/bin:/usr/bin:/usr/sbin:/sbin"),
        ("/usr/sbin:/usr/bin", "/usr/sbin:/usr/bin:/sbin"),
        ("", "/usr/sbin:/sbin"),
        (None, "/usr/bin:/bin:/usr/sbin:/sbin"),
    ],
)
def test_programs_of_the_administrator_are_found(
    path: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PATH")
    if path is not None:
        monkeypatch.setenv("PATH", path)
    assert processes.environment(None)["PATH"] == expected


def test_a_program_is_run_to_its_end(tmp_path: Path) -> None:
    script = 'read line; echo "$line in $PWD, $WORD"; echo and errors >&2'
    printed = processes.run(["/bin/sh", "-c", script], stdin="hello\n", cwd=tmp_path, env={"WORD": "so"})
    assert printed == f"hello in {tmp_path}, so\nand errors\n"


def test_a_program_that_fails_is_an_error_with_what_it_printed() -> None:
    lines = "\n".join(f"line {number}" for number in range(100))
    with pytest.raises(CommandError) as failure:
        processes.run(["/bin/sh", "-c", "cat; exit 3"], stdin=lines)
    assert failure.value.what.startswith("`/bin/sh -c cat; exit 3` ended with code 3:\n")
    assert failure.value.what.endswith("\nline 98\nline 99")
    assert "line 50" not in failure.value.what
    assert failure.value.output == lines


def test_a_program_that_fails_in_silence() -> None:
    with pytest.raises(CommandError) as failure:
        processes.run(["false"])
    assert failure.value.what == "`false` ended with code 1"
