"""keepalived as it is started, told and found again, with a program in its place that only does what we ask of it."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mooring.host.keepalived import Instances, Keepalived, KeepalivedError
from mooring.host.keepalived_files import UPTIME
from mooring.lab import waiting
from mooring.model.gateway import Vrrp

PROGRAM = """\
#!/bin/sh
# Plays keepalived: notes how it was called, refuses a text with `bad` in it, and reads it again when it is told to.
# With `hang` in it, it is never done with that; with `dead`, it does not start.
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
if grep -q dead "$file"; then echo "no memory"; exit 1; fi
cp "$file" "$folder/read"
(
  trap 'cp "$file" "$folder/read"; grep -q hang "$file" || rm "${file%.conf}.reload"' HUP
  : >"$folder/ready"
  while true; do sleep 0.01; done
) </dev/null >/dev/null 2>&1 &
until [ -e "$folder/ready" ]; do sleep 0.01; done
rm "$folder/ready"
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

    def other(self, address: str, *further: str, interface: str = "lo") -> Keepalived:
        """Another agent's view of the same one; loopback has the first address, and no other of these.

        Addresses that end in an odd figure belong to the second instance.
        """
        instances = Instances(interface, address, further, lambda each: int(each[-1]) % 2 if further else 0)
        return Keepalived(self.folder / "state", instances, program=str(self.program), seconds=2.5)

    def say(self, *lines: str) -> None:
        """What keepalived would."""
        with self.files.fifo.open("w") as fifo:
            fifo.writelines(f"{line}\n" for line in lines)

    def configure(self, text: str) -> None:
        self.daemon.configure(text, held=NOBODY, released=NOBODY)

    def end(self) -> None:
        with suppress(OSError, ValueError):
            os.kill(int(self.files.vrrp_pid.read_text()), signal.SIGKILL)
        waiting.until(lambda: not self.daemon.running(), seconds=5, what="it to end")

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
    bench.end()


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


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_refused_which_keepalived_would_take(bench: Bench, text: str) -> None:
    bench.configure("first")
    with pytest.raises(KeepalivedError, match="is missing or empty"):
        bench.configure(text)
    assert bench.daemon.configuration() == "first"


def test_without_a_configuration_it_is_not_started(bench: Bench) -> None:
    with pytest.raises(KeepalivedError, match="is missing or empty"):
        bench.daemon.start()
    assert not (bench.folder / "calls").exists()


def test_what_it_does_not_read_in_time_is_taken_back(bench: Bench) -> None:
    bench.configure("first")
    with pytest.raises(KeepalivedError, match="did not read its configuration again; if it hangs, end process"):
        bench.configure("hang")
    assert bench.daemon.configuration() == "first"
    bench.configure("third")
    assert bench.read == "third"


def test_what_it_does_not_start_with_is_taken_back(bench: Bench) -> None:
    bench.configure("first")
    bench.end()
    with pytest.raises(KeepalivedError, match="does not start: no memory"):
        bench.configure("dead")
    assert bench.daemon.configuration() == "first"
    bench.daemon.start()
    assert bench.read == "first"


def test_a_master_that_does_not_hold_what_it_should_is_told_the_old_again(bench: Bench) -> None:
    bench.configure("first")
    with pytest.raises(KeepalivedError, match="did not hold the addresses"):
        bench.daemon.configure("second", held=frozenset({"198.51.100.1"}), released=NOBODY)
    assert bench.daemon.configuration() == bench.read == "first"


def test_a_master_that_does_not_release_what_it_should_is_told_the_old_again(bench: Bench) -> None:
    bench.configure("first")
    with pytest.raises(KeepalivedError, match="did not hold the addresses"):
        bench.daemon.configure("second", held=NOBODY, released=frozenset({"127.0.0.1"}))
    assert bench.daemon.configuration() == bench.read == "first"


def test_only_the_addresses_of_instances_that_it_is_master_of_are_awaited(bench: Bench) -> None:
    one = bench.other("127.0.0.1", "198.51.100.9")
    one.configure("first", held=frozenset({"198.51.100.1", "198.51.100.3"}), released=NOBODY)
    other = bench.other("198.51.100.9", "127.0.0.1")
    with pytest.raises(KeepalivedError, match="did not hold the addresses"):
        other.configure("second", held=frozenset({"198.51.100.1"}), released=NOBODY)
    other.configure("third", held=frozenset({"198.51.100.2"}), released=NOBODY)


def test_who_is_master_of_what(bench: Bench) -> None:
    bench.configure("first")
    assert bench.daemon.holding() == {0}
    assert bench.other("198.51.100.1", "127.0.0.1").holding() == {1}
    assert bench.other("198.51.100.1", "127.0.0.1").state() is Vrrp.MASTER
    assert bench.other("198.51.100.1", "198.51.100.2").holding() == frozenset()
    assert bench.other("198.51.100.1", "198.51.100.2").state() is Vrrp.BACKUP


def test_a_fault_is_heard_and_so_is_its_end(bench: Bench) -> None:
    bench.configure("first")
    backup = bench.other("198.51.100.1")
    changes = backup.changes()
    assert changes is not None
    assert not select.select([changes], [], [], 0)[0]
    bench.say('INSTANCE "mooring" BACKUP 250', 'INSTANCE "mooring" FAULT 250')
    assert select.select([changes], [], [], 0)[0]
    assert backup.state() is Vrrp.FAULT
    assert not select.select([changes], [], [], 0)[0], "all of it was heard"
    bench.say('INSTANCE "mooring" BACKUP 250')
    assert backup.heard() == {"mooring": Vrrp.BACKUP}
    assert backup.state() is Vrrp.BACKUP
    assert bench.other("198.51.100.1").state() is Vrrp.BACKUP, "one that is new has heard nothing"


def test_who_has_the_address_is_master_whatever_was_heard(bench: Bench) -> None:
    bench.configure("first")
    bench.daemon.changes()
    bench.say('INSTANCE "mooring" FAULT 250')
    assert bench.daemon.heard() == {"mooring": Vrrp.FAULT}
    assert bench.daemon.state() is Vrrp.MASTER


def test_without_its_interface_it_is_in_fault(bench: Bench) -> None:
    bench.configure("first")
    assert bench.other("198.51.100.1", interface="nowhere").state() is Vrrp.FAULT


def test_who_has_the_address_is_master(bench: Bench) -> None:
    assert bench.daemon.state() is Vrrp.STOPPED
    bench.configure("first")
    assert bench.daemon.state() is Vrrp.MASTER
    assert bench.other("198.51.100.1").state() is Vrrp.BACKUP


def test_the_number_of_a_process_of_others_is_not_taken_for_it(bench: Bench) -> None:
    bench.configure("first")
    bench.files.pid.write_text(f"{os.getpid()}\n")
    assert not bench.daemon.running()


def test_a_program_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    daemon = Keepalived(tmp_path, Instances("lo", "198.51.100.1"), program="/nowhere/keepalived")
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
