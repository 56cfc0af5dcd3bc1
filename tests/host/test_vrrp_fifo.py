"""What keepalived says of itself: each line that changes something, each that does not, whole or in parts."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.host import vrrp_fifo
from mooring.host.vrrp_fifo import Fifo
from mooring.model.gateway import Vrrp

BEFORE = {"mooring": Vrrp.BACKUP}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('INSTANCE "mooring" MASTER 250', {"mooring": Vrrp.MASTER}),
        ('INSTANCE "mooring" FAULT 200', {"mooring": Vrrp.FAULT}),
        ('INSTANCE "mooring" STOP 250', {"mooring": Vrrp.STOPPED}),
        ('INSTANCE "mooring_1" MASTER 249', {"mooring": Vrrp.BACKUP, "mooring_1": Vrrp.MASTER}),
        ('INSTANCE "mooring" DELETED 250', {}),
        ('INSTANCE "other" DELETED 250', BEFORE),
        ('INSTANCE "mooring" MASTER_RX_LOWER_PRI 250', BEFORE),
        ('GROUP "mooring" MASTER 250', BEFORE),
        ('INSTANCE "mooring" MASTER', BEFORE),
        ("", BEFORE),
    ],
)
def test_each_line(line: str, expected: dict[str, Vrrp]) -> None:
    assert vrrp_fifo.after(BEFORE, line) == expected
    assert BEFORE == {"mooring": Vrrp.BACKUP}


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    fifo = Fifo(tmp_path / "fifo")
    yield fifo
    fifo.close()


def test_lines_are_heard_whole_in_whatever_parts_they_come(fifo: Fifo) -> None:
    descriptor = fifo.open()
    os.write(descriptor, b'INSTANCE "mooring" MAST')
    assert fifo.heard() == {}
    os.write(descriptor, b'ER 250\nINSTANCE "mooring_1" FAULT 1\nINS')
    assert fifo.heard() == {"mooring": Vrrp.MASTER, "mooring_1": Vrrp.FAULT}


def test_what_was_said_while_nobody_listened_is_heard_later(fifo: Fifo, tmp_path: Path) -> None:
    """As long as keepalived, which holds it open, lives."""
    keepalived = fifo.open()
    os.write(keepalived, b'INSTANCE "mooring" FAULT 250\n')
    later = Fifo(tmp_path / "fifo")
    assert later.heard() == {"mooring": Vrrp.FAULT}
    later.close()


def test_a_file_in_its_place_is_replaced(fifo: Fifo, tmp_path: Path) -> None:
    (tmp_path / "fifo").write_text('INSTANCE "mooring" FAULT 250\n')
    assert fifo.heard() == {}
    assert (tmp_path / "fifo").is_fifo()


@given(line=st.text())
def test_no_line_is_too_odd(line: str) -> None:
    assert set(vrrp_fifo.after({}, line).values()) <= set(Vrrp)
