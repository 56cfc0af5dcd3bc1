"""Starting programs in the hosts of the lab, and knowing later which ones they were.

Each process of a part leaves a record with its pid and start time, so that a pid that the kernel has given to
somebody else is never taken for ours. What a process started itself is known by the part's control group.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.lab import waiting
from mooring.lab.cage import Cage
from mooring.lab.errors import CommandError, LabError, PartError
from mooring.lab.place import Place

_EXITING = 0x4  # the kernel's flag of a process on its way out
NOT_FOUND = 127  # what a shell answers when there is no such program

# The shell puts itself into the control group and then becomes the program: one pid from beginning to end.
_ENTER_GROUP = 'cd "$1" && echo 0 >"$2" && shift 2 && exec "$@"'


class Record(msgspec.Struct, frozen=True):
    """What we remember of a process that we started."""

    part: str
    host: str
    pid: int
    start_time: int
    argv: tuple[str, ...]
    log_from: int = 0


class Processes:
    """The processes of one lab."""

    def __init__(self, place: Place, cage: Cage) -> None:
        self._place = place
        self._cage = cage

    def spawn(
        self, part: str, argv: Sequence[str | Path], *, host: str = "machine", env: Mapping[str, str] | None = None
    ) -> Record:
        """Start a program as the process of a part; its output goes to the part's log."""
        words = tuple(str(word) for word in argv)
        group = self._cage.group(part) / "cgroup.procs"
        log = str(self._place.log_of(part))
        log_from = self._place.log_of(part).stat().st_size if self._place.log_of(part).exists() else 0
        # not subprocess: that wants to see the end of what it started, and these live longer than we do
        pid = os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _ENTER_GROUP, "sh", str(self._place.root), str(group), *words],
            environment(env),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        # an end that came before the shell stands in its group would miss it
        waiting.until(lambda: self._entered(part, pid), seconds=10, what=f"{part} to enter its group", interval=0.001)
        began = start_time(pid) or 0
        record = Record(part=part, host=host, pid=pid, start_time=began, argv=words, log_from=log_from)
        draft = self._record_file(part).with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(record))
        draft.rename(self._record_file(part))  # whoever reads it meanwhile finds a whole one
        return record

    def record(self, part: str) -> Record | None:
        """What we remember of a part's process."""
        file = self._record_file(part)
        return msgspec.json.decode(file.read_bytes(), type=Record) if file.exists() else None

    def alive(self, part: str) -> bool:
        """Does the very process that we started still run?"""
        record = self.record(part)
        if record is None:
            return False
        with suppress(ChildProcessError):  # collects it, if it was started by this very command and has ended
            os.waitpid(record.pid, os.WNOHANG)
        return start_time(record.pid) == record.start_time

    def pid(self, part: str) -> int:
        """The pid of a part's living process."""
        record = self.record(part)
        if record is None or not self.alive(part):
            raise self.error(part, "is not running")
        return record.pid

    def wait(self, part: str, condition: waiting.Condition, *, seconds: float, what: str) -> None:
        """Wait until a part does what it is there for; give up at once when its process ends."""

        def done() -> bool:
            if not self.alive(part):
                raise self.error(part, "ended while it was starting")
            return condition()

        try:
            waiting.until(done, seconds=seconds, what=what)
        except PartError:
            raise
        except LabError as error:
            raise self.error(part, error.what) from error

    def error(self, part: str, why: str, *, hint: str = "") -> PartError:
        """What to raise about a part: it carries what the part wrote since it was last started."""
        record = self.record(part)
        since = record.log_from if record else 0
        return PartError(part, why, log=self._place.log_of(part), since=since, hint=hint)

    def signal(self, part: str, number: int, *, whole_group: bool = False) -> None:
        """Send a signal to a part's process, or to it and all that it started."""
        main = self.pid(part)
        for pid in self._cage.pids(part) if whole_group else [main]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def stop(self, part: str, *, seconds: float = 0, shared: bool = False) -> None:
        """End a part: politely for as long as `seconds` say, then by force; its children too, unless `shared`."""
        if seconds and self.alive(part):
            self.signal(part, signal.SIGTERM)
            with suppress(LabError):  # it had its chance
                waiting.until(lambda: not self.alive(part), seconds=seconds, what=f"{part} to end")
        if not shared:
            self._cage.kill(part)
        elif self.alive(part):
            main = self.pid(part)
            self.signal(part, signal.SIGKILL)
            waiting.until(lambda: main not in self._cage.pids(part), seconds=10, what=f"{part} to end")
        self._record_file(part).unlink(missing_ok=True)

    def _entered(self, part: str, pid: int) -> bool:
        return pid in self._cage.pids(part) or start_time(pid) is None

    def _record_file(self, part: str) -> Path:
        return self._place.run / f"{part}.process"


def start_time(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None when there is none, or one that is as good as ended."""
    fields = _stat(pid)
    if not fields or fields[0] in "ZX" or int(fields[6]) & _EXITING or _is_doomed(pid):
        return None
    return int(fields[19])


def is_stopped(pid: int) -> bool:
    """Was the process stopped by a signal?"""
    return _stat(pid)[:1] == ["T"]


def _is_doomed(pid: int) -> bool:
    """Was it sent a KILL that it has not felt yet?"""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return True
    pending = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(each & 1 << (signal.SIGKILL - 1) for each in pending)


def _stat(pid: int) -> list[str]:
    """The fields of a process from its state on; none when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def memory(pid: int) -> int:
    """Bytes that a process takes, shared pages divided among those that share them; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def run(
    argv: Sequence[str | Path], *, env: Mapping[str, str] | None = None, stdin: str = "", cwd: Path | None = None
) -> str:
    """Run a program to its end and return what it printed; an error code is an exception with that text."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=environment(env),
            cwd=cwd,
        )
    except FileNotFoundError as error:
        raise CommandError(words, NOT_FOUND, f"{error.filename} is not there") from error
    if done.returncode:
        raise CommandError(words, done.returncode, done.stdout)
    return done.stdout


def environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """The environment of our children: ours, without what would lead OpenStack, OVS or Kubernetes elsewhere."""
    foreign = ("OS_", "OVS_", "OVN_", "KUBE", "PYTHON", "VIRTUAL_ENV")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    folders = [folder for folder in kept.get("PATH", "/usr/bin:/bin").split(":") if folder]
    kept["PATH"] = ":".join([*folders, *(each for each in ("/usr/sbin", "/sbin") if each not in folders)])
    return kept | dict(extra or {})
