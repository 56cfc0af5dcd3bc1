"""What people see while a lab comes up, where the time went, and the ends of logs."""

import io
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from mooring.lab.errors import PartError, tail
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.progress import NOTICEABLE, LiveProgress, PlainProgress, progress, times
from mooring.lab.runner import Took


def nothing(_: Lab) -> None:
    pass


PARTS = [Part(name, nothing) for name in ("cables", "etcd", "neutron")]


def tell(watcher: PlainProgress) -> None:
    with watcher:
        watcher.planned(PARTS)
        for part in PARTS:
            watcher.began(part.name)
        watcher.finished("cables", NOTICEABLE / 2)
        watcher.finished("etcd", 1.25)
        watcher.failed("neutron")


def test_plain_lines_tell_of_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    tell(PlainProgress())
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub(r"^ +\d+\.\d s +", "", line) for line in lines] == [
        "1/3  cables (0.0 s)",
        "2/3  etcd (1.2 s)",
        "2/3  neutron FAILED",
    ]


def test_live_lines_tell_what_took_noticeable_time() -> None:
    out = io.StringIO()
    tell(LiveProgress(Console(file=out, force_terminal=True, width=80, color_system=None, _environ={"TERM": "xterm"})))
    text = out.getvalue()
    assert re.search(r"✔ etcd +1\.2 s", text)
    assert "✘ neutron" in text
    assert "✔ cables" not in text
    assert "2 of 3 parts" in text


def test_without_a_terminal_lines_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    made = progress()
    assert type(made) is PlainProgress
    assert capsys.readouterr().out == ""


def rows(took: list[Took], **count: int) -> list[list[str]]:
    out = io.StringIO()
    Console(file=out, width=120).print(times(took, **count))
    lines = [line.split() for line in out.getvalue().splitlines()]
    return lines[lines.index(["part", "began", "took"]) + 1 :]


def took(part: str, began: float, seconds: float, after: str = "") -> Took:
    return Took(part=part, began=began, seconds=seconds, after=after)


def test_times_are_those_of_the_path() -> None:
    all_of_them = [took("a", 0, 2), took("short", 2, 0.01, "a"), took("aside", 0, 1), took("b", 2.01, 3.5, "short")]
    assert rows(all_of_them) == [["a", "0.0", "s", "2.0", "s"], ["b", "2.0", "s", "3.5", "s"]]


def test_times_are_the_last_ones_of_a_long_path() -> None:
    chain = [took(f"p{number}", number, 1, f"p{number - 1}" if number else "") for number in range(20)]
    assert [row[0] for row in rows(chain, count=3)] == ["p17", "p18", "p19"]
    assert len(rows(chain)) == 12


lines = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "Zs"]), max_size=60), max_size=30)


@settings(
    max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example writes the file anew
@given(written=lines, count=st.integers(1, 20))
def test_the_tail_of_a_log_is_its_last_lines(written: list[str], count: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"{line}\n" for line in written))
    assert tail(log, count) == written[-count:]


def test_long_lines_are_not_torn(tmp_path: Path) -> None:
    written = [f"{number} " + "x" * 3000 for number in range(10)]
    (tmp_path / "log").write_text("\n".join(written))
    assert tail(tmp_path / "log", 3) == written[-3:]


def test_a_log_that_is_not_there_has_no_tail(tmp_path: Path) -> None:
    assert tail(tmp_path / "nothing", 5) == []
    assert PartError("x", "died", log=tmp_path / "nothing").log_tail() == []


def test_a_log_with_broken_text_and_no_last_line_feed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\n\xff two\nthree")
    assert tail(log, 2) == ["\ufffd two", "three"]


def test_no_lines_are_none(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("one\ntwo\n")
    assert tail(tmp_path / "log", 0) == []


def test_a_part_that_failed_says_what_to_do_in_its_own_lab(tmp_path: Path) -> None:
    log = tmp_path / "east/log/etcd.log"
    silent = PartError("etcd", "died", log=log)
    assert silent.what == "etcd: died"
    assert "`mooring lab down --name east`" in silent.hint
    assert "mooring lab logs" not in silent.hint
    log.parent.mkdir(parents=True)
    log.write_text("last words\n")
    talking = PartError("etcd", "died", log=log)
    assert "`mooring lab logs --name east etcd`" in talking.hint
    assert talking.log_tail() == ["last words"]
    assert PartError("etcd", "died", log=log, hint="buy a disk").hint == "buy a disk"
