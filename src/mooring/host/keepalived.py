"""keepalived, which holds the addresses: given a configuration, started, found again, asked how it is.

It is a daemon of its own and outlives us: whoever starts us again finds it by its pid file, and by the name of our
configuration file in its command line, since the kernel gives numbers of dead processes to others. Knows nothing of
what the configuration says.

A configuration that keepalived refuses, or does not follow in time, leaves the one before it in its file: what the file
says is what keepalived follows now, or will when it is itself again.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from mooring.host import addresses, commands, links
from mooring.host.errors import HostError
from mooring.host.keepalived_files import Files
from mooring.host.vrrp_fifo import Fifo
from mooring.model.gateway import Vrrp

PROGRAM = "keepalived"
SECONDS = 3.0
INTERVAL = 0.005
PATIENCE = 15.0
"""Seconds without a question, after which it hangs."""
SIX = Path("/proc/sys/net/ipv6/conf")
FOR_EACH = 0.001
"""Seconds that it has more for each address: ten thousand take it three on a busy host."""
TEST_SECONDS = 30.0
FEW = 4


class KeepalivedError(HostError):
    """keepalived cannot be started, refuses its configuration or does not obey it. The text says which and why."""


class Instances(Struct, frozen=True):
    """By what it is seen which instances of VRRP are master here.

    `address` is on `interface` where the first one is; where there are several, each of the `further` ones has another,
    in their order, and `of` tells to which an address belongs that it is to hold.
    """

    interface: str
    address: str
    further: tuple[str, ...] = ()
    of: Callable[[str], int] = lambda _: 0


class Keepalived:
    """One keepalived of our own, with a folder of ours. It has so many `seconds` to do what it is told."""

    def __init__(self, folder: Path, instances: Instances, *, program: str = PROGRAM, seconds: float = SECONDS) -> None:
        self.files = Files(folder)
        self._interface = instances.interface
        self._advertised = (instances.address, *instances.further)
        self._instance_of = instances.of
        self._program = program
        self._seconds = seconds
        self._configuration = self.files.configuration
        self._draft = self.files.draft
        self._fifo = Fifo(self.files.fifo)

    def configuration(self) -> str:
        """What it was given last; empty, if it never was."""
        with told():
            try:
                return self._configuration.read_text()
            except FileNotFoundError:
                return ""

    def configure(self, text: str, *, held: frozenset[str], released: frozenset[str]) -> None:
        """Give it another configuration. Returns when it follows that.

        A master then has the addresses that it is to hold, and no longer those that it is to release.
        """
        before = self.configuration()
        with told():
            self.files.prepare()
            self._place(text)
            try:
                self._follow()
            except KeepalivedError:
                self._put_back(before)
                raise
            try:
                more = FOR_EACH * len(held | released)
                self._await(lambda: self._obeyed(held, released), "hold the addresses that it was given", more=more)
            except KeepalivedError:
                self._put_back(before)
                with suppress(KeepalivedError):
                    self._follow()
                raise

    def start(self) -> None:
        """Start it with the configuration that it was given last."""
        with told():
            self._start()

    def running(self) -> bool:
        return self._pid() is not None

    def state(self) -> Vrrp:
        """The addresses on the interface say most, whatever was heard before; master of one instance is master."""
        if not self.running():
            return Vrrp.STOPPED
        if self.holding():
            return Vrrp.MASTER
        in_fault = not links.up(self._interface) or Vrrp.FAULT in self.heard().values()
        return Vrrp.FAULT if in_fault else Vrrp.BACKUP

    def holding(self) -> frozenset[int]:
        """The instances that it is master of."""
        return frozenset(number for number, each in enumerate(self._advertised) if addresses.is_here(each))

    def changes(self) -> int | None:
        """A descriptor that can be read when its state has changed, by `heard` alone; None, where nobody tells us."""
        with told():
            self.files.prepare()
            return self._fifo.open()

    def heard(self) -> Mapping[str, Vrrp]:
        """What each instance said last that it is. Nothing, if none has said anything since we were started."""
        with told():
            return self._fifo.heard()

    def there(self) -> frozenset[str]:
        """All addresses that the host has."""
        return addresses.held()

    def has_six(self) -> bool:
        """Whether its interface takes addresses of IPv6."""
        try:
            return (SIX / self._interface / "disable_ipv6").read_text().strip() == "0"
        except OSError:  # there is no such interface yet, or no IPv6 at all
            return False

    def hangs(self) -> bool:
        """Whether it is there, and has not asked our script for a while, as it does once a second."""
        return self.running() and self.files.unasked_for() > PATIENCE

    def end(self) -> None:
        """End it at once. Its addresses stay until it is started again."""
        for file in (self.files.vrrp_pid, self.files.pid):
            with suppress(OSError, ValueError):
                os.kill(int(file.read_text()), signal.SIGKILL)
        self._await(lambda: not self.running(), "end")

    def leave(self) -> None:
        """End it politely, so that it gives its addresses back, and never start it with this configuration again."""
        with told():
            pid = self._pid()
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
                self._await(lambda: not self.running(), "end", more=PATIENCE)
            self._configuration.unlink(missing_ok=True)

    def lowered(self) -> bool:
        """Whether it was lowered last, by whichever agent."""
        return self.files.lowered()

    def lower(self, by: int) -> None:
        """Lower its priority by so much."""
        with told():
            self.files.lower(by)

    def mark_alive(self, seconds: float) -> None:
        """Let it know that we live. It gives way to others when this is not done again in that time."""
        with told():
            self.files.mark_alive(seconds)

    def _place(self, text: str) -> None:
        """Put a configuration in its place, if keepalived takes it; it would end if it read one that it does not."""
        self._fifo.make()
        self._draft.write_text(text)
        self._test(self._draft)
        self._draft.rename(self._configuration)

    def _follow(self) -> None:
        """One that was about to end does not read it any more; then there is another."""
        if not self.running() or not self._reloaded():
            self._start()

    def _start(self) -> None:
        files = self.files
        _check_content(files.configuration)
        for file in (files.pid, files.vrrp_pid, files.reload, files.asked):  # of one that has ended
            file.unlink(missing_ok=True)
        files.prepare()
        self._fifo.make()
        code, output = self._run(
            "--vrrp",
            f"--use-file={files.configuration}",
            f"--pid={files.pid}",
            f"--vrrp_pid={files.vrrp_pid}",
            f"--checkers_pid={files.folder / 'keepalived.checkers.pid'}",
        )
        if code:
            raise KeepalivedError(f"keepalived does not start: {short(output) or f'it ended with {code}'}")
        self._await(lambda: self.running() and files.vrrp_pid.exists(), "start")

    def _reloaded(self) -> bool:
        """Whether it has read its configuration again; a backup gives no other sign than that the file is removed."""
        pid = self._pid()
        if pid is None:
            return False
        self.files.reload.write_text("wanted\n")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGHUP)
        what = f"read its configuration again; if it hangs, end process {pid}, and it is started again,"
        self._await(lambda: not self.files.reload.exists() or self._pid() != pid, what)
        return self._pid() == pid

    def _put_back(self, before: str) -> None:
        """Without one before there is nothing to go back to."""
        if before:
            self._draft.write_text(before)
            self._draft.rename(self._configuration)

    def _test(self, file: Path) -> None:
        _check_content(file)
        code, output = self._run("--config-test", f"--use-file={file}")
        if code:
            raise KeepalivedError(f"keepalived refuses its configuration: {short(output) or f'it ended with {code}'}")

    def _obeyed(self, held: frozenset[str], released: frozenset[str]) -> bool:
        there = addresses.held(self._interface)
        masters = frozenset(number for number, each in enumerate(self._advertised) if each in there)
        wrong = (held - there) | (released & there)
        return not any(self._instance_of(each) in masters for each in wrong)

    def _pid(self) -> int | None:
        words = command_line(self.files.pid)
        return words[0] if words and f"--use-file={self.files.configuration}" in words[1] else None

    def _run(self, *options: str) -> tuple[int, str]:
        try:
            return commands.run([self._program, *options], seconds=TEST_SECONDS)
        except FileNotFoundError as error:
            raise KeepalivedError(f"{self._program} is not there; on Debian, install the package keepalived") from error
        except OSError as error:
            raise KeepalivedError(f"{self._program} does not run: {error}") from error

    def _await(self, condition: Callable[[], bool], what: str, *, more: float = 0.0) -> None:
        seconds = self._seconds + more
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                time_over = f"within {seconds:g} s; the system's log tells more"
                raise KeepalivedError(f"keepalived did not {what} {time_over}")
            time.sleep(INTERVAL)


def command_line(pid_file: Path) -> tuple[int, list[str]] | None:
    """The process that a file names, if there is one, and how it was called."""
    try:
        pid = int(pid_file.read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid, [word.decode(errors="replace") for word in words]


def short(output: str) -> str:
    """It repeats itself, and says the same of each address."""
    lines = list(dict.fromkeys(line.strip() for line in output.splitlines()))
    return "; ".join([*lines[:2], "...", lines[-1]] if len(lines) > FEW else lines)


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeepalivedError(f"keepalived cannot be told: {error}") from error


def _check_content(file: Path) -> None:
    """To keepalived one that is missing or empty is as good as any."""
    if not file.exists() or not file.read_text().strip():
        raise KeepalivedError(f"keepalived has no configuration: {file} is missing or empty; the agent writes it")
