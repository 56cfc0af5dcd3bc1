"""The host's keepalived as it is told by a file and a command, with programs in their place that do what we ask."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.host.hosted_keepalived import Hosted, HostedKeepalived
from mooring.host.keepalived import Instances, KeepalivedError
from mooring.lab import waiting
from mooring.model.gateway import Vrrp

PROGRAM = """\
#!/bin/sh
# Plays keepalived: lives, or refuses what it is to test if there is `bad` in what the host includes.
if [ "$1" = --config-test ]; then
  if grep -q bad "${0%/*}"/conf.d/*; then echo "line 1: bad"; exit 1; fi
  if grep -q script "${0%/*}"/conf.d/*; then echo "scripts are run but script_security not enabled."; exit 6; fi
  exit 0
fi
while true; do sleep 0.01; done
"""
RELOAD = """\
#!/bin/sh
# Plays the command: what is read now, and how it ends.
if grep -q hang "$1"; then sleep 60; fi
if grep -q fail "$1"; then echo "no such unit"; exit 5; fi
cp "$1" "$2"
"""
NOBODY = frozenset[str]()


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "keepalived"
        self.reload = folder / "reload"
        for file, text in ((self.program, PROGRAM), (self.reload, RELOAD)):
            file.write_text(text)
            file.chmod(0o700)
        self.file = folder / "conf.d" / "mooring.conf"
        self.file.parent.mkdir()
        self.main = folder / "keepalived.conf"
        self.main.write_text("global_defs {\n}\ninclude conf.d/*.conf\n")
        command = (str(self.reload), str(self.file), str(folder / "read"))
        self.hosted = Hosted(self.file, self.main, folder / "pid", command, seconds=0.5)
        self.process = subprocess.Popen([self.program])
        self.hosted.pid_file.write_text(f"{self.process.pid}\n")

    def daemon(self, hosted: Hosted | None = None, *, address: str = "192.0.2.1") -> HostedKeepalived:
        """Loopback does not have the address."""
        return HostedKeepalived(
            self.folder / "state",
            Instances("lo", address),
            hosted or self.hosted,
            program=str(self.program),
            seconds=0.5,
        )

    def configure(self, text: str, hosted: Hosted | None = None) -> None:
        self.daemon(hosted).configure(text, held=NOBODY, released=NOBODY)

    @property
    def read(self) -> str:
        return (self.folder / "read").read_text()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    waiting.until(bench.daemon().running, seconds=5, what="it to live")
    yield bench
    bench.end()


def test_it_reads_what_is_written_and_is_never_started(bench: Bench) -> None:
    bench.configure("first")
    assert bench.read == bench.daemon().configuration() == "first"
    bench.daemon().start()
    assert [each.name for each in bench.file.parent.iterdir()] == ["mooring.conf"]


def test_what_it_refuses_is_taken_back(bench: Bench) -> None:
    with pytest.raises(KeepalivedError, match="refuses its configuration: line 1: bad"):
        bench.configure("bad")
    assert not bench.file.exists(), "there was none before"
    bench.configure("first")
    with pytest.raises(KeepalivedError, match="refuses its configuration: line 1: bad"):
        bench.configure("bad")
    assert bench.read == bench.daemon().configuration() == "first"


@pytest.mark.parametrize(
    ("text", "told"), [("fail", "fails: no such unit; see vrrp.reload"), ("hang", r"did not end within 0\.5 s")]
)
def test_what_it_is_not_told_is_taken_back(bench: Bench, text: str, told: str) -> None:
    bench.configure("first")
    with pytest.raises(KeepalivedError, match=told):
        bench.configure(text)
    assert bench.read == bench.daemon().configuration() == "first"


def test_a_command_that_is_not_there_is_told(bench: Bench) -> None:
    with pytest.raises(KeepalivedError, match=r"`/nowhere/x y` fails: .*No such file"):
        bench.configure("first", msgspec.structs.replace(bench.hosted, reload=("/nowhere/x", "y")))
    assert not bench.file.exists()


def test_an_empty_text_is_refused(bench: Bench) -> None:
    with pytest.raises(KeepalivedError, match="the text is empty"):
        bench.configure("\n")
    assert not bench.file.exists()


def test_that_scripts_may_be_run_is_the_hosts_to_say(bench: Bench) -> None:
    with pytest.raises(KeepalivedError, match="put enable_script_security into global_defs of "):
        bench.configure("script")


def test_one_that_does_not_run_is_the_hosts_to_start(bench: Bench) -> None:
    bench.end()
    daemon = bench.daemon()
    assert daemon.state() is Vrrp.STOPPED
    with pytest.raises(KeepalivedError, match="it is the host's to start it"):
        daemon.start()
    with pytest.raises(KeepalivedError, match="it is the host's to start it"):
        bench.configure("first")
    assert not bench.file.exists()


def test_another_process_is_not_taken_for_it(bench: Bench) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        bench.hosted.pid_file.write_text(f"{other.pid}\n")
        assert not bench.daemon().running()
        other.kill()


@pytest.mark.parametrize(
    ("text", "included"),
    [
        ("include conf.d/*.conf", True),
        ("  includea conf.d/mooring.conf", True),
        ('include "conf.d/*"', True),
        ("include more.conf", True),
        ("include *.conf", True),
        ("include c*.conf", False),
        ("include other.d/*.conf", False),
        ("include_check conf.d/mooring.conf", False),
        ("# include conf.d/*.conf", False),
        ("include", False),
        ("", False),
    ],
)
def test_a_file_that_nobody_would_read_is_not_written(bench: Bench, text: str, included: bool) -> None:  # noqa: FBT001
    (bench.folder / "more.conf").write_text("include conf.d/mooring.conf\ninclude more.conf\n")
    bench.main.write_text(f"{text}\n")
    if included:
        bench.configure("first")
        return
    with pytest.raises(KeepalivedError, match=r"does not include .*; put a line into it: include "):
        bench.configure("first")
    assert not bench.file.exists()


def test_a_main_configuration_that_is_not_there_is_told(bench: Bench) -> None:
    bench.main.unlink()
    with pytest.raises(KeepalivedError, match=r"No such file or directory: .*keepalived\.conf"):
        bench.configure("first")


def test_its_state_is_known_by_its_addresses(bench: Bench) -> None:
    assert bench.daemon().state() is Vrrp.BACKUP
    assert bench.daemon(address="127.0.0.1").state() is Vrrp.MASTER
    assert bench.daemon().changes() is None
    assert bench.daemon().heard() == {}
