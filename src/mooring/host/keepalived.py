"""keepalived, which holds the addresses: given a configuration, started, found again, asked how it is.

It is a daemon of its own and outlives us: whoever starts us again finds it by its pid file, and by the name of our
configuration file in its command line, since the kernel gives numbers of dead processes to others. Knows nothing of
what the configuration says.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from mooring.host import addresses
from mooring.host.errors import HostError
from mooring.model.gateway import Vrrp

PROGRAM = "keepalived"
SECONDS = 3.0
INTERVAL = 0.005
TEST_SECONDS = 30.0
FEW = 4

SCRIPT_MODE = 0o700
UPTIME = Path("/proc/uptime")
SCRIPT = """\
#!/bin/sh
# keepalived asks whether the agent lives, which writes again and again until when it should be taken to do so.
# In hundredths of seconds since the host was started: no clock that somebody sets. What is far off is of another start.
read -r now _ </proc/uptime && read -r until <"${0%/*}/alive" || exit 1
left=$((until - ${now%.*}${now#*.}))
[ "$left" -gt 0 ] && [ "$left" -lt 6000 ]
"""


class KeepalivedError(HostError):
    """keepalived cannot be started, refuses its configuration or does not obey it. The text says which and why."""


class Files(Struct, frozen=True):
    """Where things are in our folder."""

    folder: Path

    @property
    def configuration(self) -> Path:
        return self.folder / "keepalived.conf"

    @property
    def draft(self) -> Path:
        return self.folder / "keepalived.new"

    @property
    def pid(self) -> Path:
        return self.folder / "keepalived.pid"

    @property
    def vrrp_pid(self) -> Path:
        return self.folder / "keepalived.vrrp.pid"

    @property
    def reload(self) -> Path:
        return self.folder / "keepalived.reload"

    @property
    def stale(self) -> Path:
        return self.folder / "stale"

    @property
    def alive(self) -> Path:
        return self.folder / "alive"

    @property
    def script(self) -> Path:
        return self.folder / "alive.sh"


class Keepalived:
    """One keepalived, with a folder of ours. `address` is on `interface` where it is master."""

    def __init__(self, folder: Path, *, interface: str, address: str, program: str = PROGRAM) -> None:
        self.files = Files(folder)
        self._interface = interface
        self._address = address
        self._program = program

    def configuration(self) -> str:
        """What it was given last; empty, if it never was."""
        with _told():
            try:
                return self.files.configuration.read_text()
            except FileNotFoundError:
                return ""

    def configure(self, text: str, *, held: frozenset[str], released: frozenset[str]) -> None:
        """Give it another configuration. Returns when it follows that.

        A master then has the addresses that it is to hold, and no longer those that it is to release.
        """
        with _told():
            self._write(text)
            if self.running():
                self._reload()
            else:
                self._start()
        self._await(lambda: self._obeyed(held, released), "hold the addresses that it was given")

    def start(self) -> None:
        """Start it with the configuration that it was given last."""
        with _told():
            self._start()

    def running(self) -> bool:
        return self._pid() is not None

    def state(self) -> Vrrp:
        if not self.running():
            return Vrrp.STOPPED
        return Vrrp.MASTER if self._address in addresses.held(self._interface) else Vrrp.BACKUP

    def lower(self, by: int) -> None:
        """Lower its priority by so much."""
        with _told():
            self.files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.files.stale.write_text(f"{-by}\n")

    def mark_alive(self, seconds: float) -> None:
        """Tell our script that we live. Written in its place: a full disk has no room for another."""
        with _told():
            self.files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            until = int(UPTIME.read_text().split()[0].replace(".", "")) + round(100 * seconds)
            descriptor = os.open(self.files.alive, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, f"{until:>16d}\n".encode(), 0)
            finally:
                os.close(descriptor)

    def _start(self) -> None:
        files = self.files
        for file in (files.pid, files.vrrp_pid, files.reload):  # of one that has ended
            file.unlink(missing_ok=True)
        if not files.stale.exists():
            self.lower(0)
        self._run(
            "--vrrp",
            f"--use-file={files.configuration}",
            f"--pid={files.pid}",
            f"--vrrp_pid={files.vrrp_pid}",
            f"--checkers_pid={files.folder / 'keepalived.checkers.pid'}",
        )
        self._await(lambda: self.running() and files.vrrp_pid.exists(), "start")

    def _write(self, text: str) -> None:
        """Put a configuration in its place, if keepalived takes it; it would end if it read one that it does not."""
        files = self.files
        files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.draft.write_text(text)
        self._write_script()
        if not files.stale.exists():
            self.lower(0)
        self._run("--config-test", f"--use-file={files.draft}")
        files.draft.rename(files.configuration)

    def _write_script(self) -> None:
        """Keepalived runs it every second, so it is never half written."""
        script = self.files.script
        if script.exists() and script.read_text() == SCRIPT and script.stat().st_mode & 0o777 == SCRIPT_MODE:
            return
        draft = script.with_suffix(".new")
        draft.write_text(SCRIPT)
        draft.chmod(SCRIPT_MODE)
        draft.rename(script)

    def _reload(self) -> None:
        """It removes the file when it has read its configuration; a backup gives no other sign."""
        pid = self._pid()
        if pid is None:
            raise KeepalivedError("keepalived has ended while its configuration was written")
        self.files.reload.write_text("wanted\n")
        os.kill(pid, signal.SIGHUP)
        self._await(lambda: not self.files.reload.exists(), "read its configuration again")

    def _obeyed(self, held: frozenset[str], released: frozenset[str]) -> bool:
        there = addresses.held(self._interface)
        return self._address not in there or (held <= there and not released & there)

    def _pid(self) -> int | None:
        try:
            pid = int(self.files.pid.read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if f"--use-file={self.files.configuration}".encode() in words else None

    def _run(self, *options: str) -> None:
        try:
            run = subprocess.run(
                [self._program, *options],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=TEST_SECONDS,
            )
        except FileNotFoundError as error:
            raise KeepalivedError(f"{self._program} is not there; on Debian, install the package keepalived") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise KeepalivedError(f"{self._program} does not run: {error}") from error
        if run.returncode:
            why = _short(run.stdout + run.stderr) or f"it ended with {run.returncode}"
            raise KeepalivedError(f"keepalived refuses its configuration: {why}")

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise KeepalivedError(f"keepalived did not {what} within {SECONDS:g} s; the system's log tells more")
            time.sleep(INTERVAL)


def _short(output: str) -> str:
    """It repeats itself, and says the same of each address."""
    lines = list(dict.fromkeys(line.strip() for line in output.splitlines()))
    return "; ".join([*lines[:2], "...", lines[-1]] if len(lines) > FEW else lines)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeepalivedError(f"keepalived cannot be told: {error}") from error
