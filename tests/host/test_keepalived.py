"""keepalived as it is started, told and found again, with a program in its place that only does what we ask of it."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mooring.host.keepalived import UPTIME, Keepalived, KeepalivedError
from mooring.lab import waiting
from mooring.model.gateway import Vrrp

PROGRAM = """\
#!/bin/sh
# Plays keepalived: notes how it was called, refuses a text with `bad` in it, and reads it again when it is told to.
folder=${0%/*}
echo "$*" >>"$folder/calls"
for each in "$@"; do
  case $each in
    --use-file=*) file=${each#*=} ;;
    --pid=*) pid=${each#*=} ;;
    --vrrp_pid=*) vrrp_pid=${each#*=} ;;
  esac
done
if [ "$1" = --config-test ]; then
  if grep -q bad "$file"; then echo "line 1: bad"; exit 1; fi
  exit 0
fi
(
  trap 'cp "$file" "$folder/read"; rm "${file%.conf}.reload"' HUP
  cp "$file" "$folder/read"
  while true; do sleep 0.01; done
) </dev/null >/dev/null 2>&1 &
echo $! >"$vrrp_pid"
echo $! >"$pid"
"""
NOBODY = frozenset[str]()


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "keepalived"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o700)
        self.daemon = self.other("127.0.0.1")
        self.files = self.daemon.files

    def other(self, address: str) -> Keepalived:
        """Another agent's view of the same one; loopback has the first address, and no other of these."""
        return Keepalived(self.folder / "state", interface="lo", address=address, program=str(self.program))

    def configure(self, text: str) -> None:
        self.daemon.configure(text, held=NOBODY, released=NOBODY)

    @property
    def calls(self) -> list[str]:
        return [line.split()[0] for line in (self.folder / "calls").read_text().splitlines()]

    @property
    def read(self) -> str:
        return (self.folder / "read").read_text()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    with suppress(OSError, ValueError):
        os.kill(int(bench.files.vrrp_pid.read_text()), signal.SIGKILL)


def test_it_is_started_once_and_then_told_to_read_again(bench: Bench) -> None:
    assert not bench.daemon.running()
    bench.configure("first")
    assert bench.daemon.running()
    assert bench.other("127.0.0.1").running()
    bench.configure("second")
    assert bench.read == "second"
    assert bench.daemon.configuration() == "second"
    assert bench.calls == ["--config-test", "--vrrp", "--config-test"]


def test_what_it_refuses_is_never_put_in_its_place(bench: Bench) -> None:
    bench.configure("first")
    with pytest.raises(KeepalivedError, match="refuses its configuration: line 1: bad"):
        bench.configure("bad")
    assert bench.daemon.configuration() == "first"
    assert bench.read == "first"


def test_who_has_the_address_is_master(bench: Bench) -> None:
    assert bench.daemon.state() is Vrrp.STOPPED
    bench.configure("first")
    assert bench.daemon.state() is Vrrp.MASTER
    assert bench.other("192.0.2.1").state() is Vrrp.BACKUP


def test_the_number_of_a_process_of_others_is_not_taken_for_it(bench: Bench) -> None:
    bench.configure("first")
    bench.files.pid.write_text(f"{os.getpid()}\n")
    assert not bench.daemon.running()


def test_a_program_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    daemon = Keepalived(tmp_path, interface="lo", address="192.0.2.1", program="/nowhere/keepalived")
    with pytest.raises(KeepalivedError, match="install the package keepalived"):
        daemon.configure("first", held=NOBODY, released=NOBODY)


def asked(bench: Bench) -> bool:
    """What keepalived gets to hear."""
    return subprocess.run([bench.files.script], check=False, stderr=subprocess.DEVNULL).returncode == 0


def test_the_agent_lives_for_as_long_as_it_says(bench: Bench) -> None:
    bench.configure("first")
    assert not asked(bench), "it has said nothing yet"
    bench.daemon.mark_alive(30.0)
    assert asked(bench)
    bench.daemon.mark_alive(0.2)
    waiting.until(lambda: not asked(bench), seconds=5, what="its word to end")


@pytest.mark.parametrize("text", ["", "yes\n", "9999999999999999\n"])
def test_what_stands_there_by_mistake_or_from_another_start_is_no_life(bench: Bench, text: str) -> None:
    bench.configure("first")
    bench.files.alive.write_text(text)
    assert not asked(bench)


def test_uptime_is_read_as_the_script_reads_it() -> None:
    assert len(UPTIME.read_text().split()[0].partition(".")[2]) == 2


def test_nobody_else_can_change_what_keepalived_runs(bench: Bench) -> None:
    bench.configure("first")
    bench.files.script.chmod(0o777)
    bench.configure("second")
    assert bench.files.script.stat().st_mode & 0o777 == 0o700
    assert bench.files.folder.stat().st_mode & 0o777 == 0o700
