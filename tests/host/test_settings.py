"""The kernel's settings, in a folder that looks like the kernel's."""

from pathlib import Path

import pytest

from mooring.host import settings
from mooring.host.settings import NEEDED, Change, SettingError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in NEEDED:
        file = tmp_path / name.replace(".", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1\n")
    return tmp_path


def test_what_is_right_is_left_alone(root: Path) -> None:
    assert settings.apply(root) == ()


def test_what_is_wrong_is_set_and_told(root: Path) -> None:
    (root / "net/ipv4/ip_forward").write_text("0\n")
    assert settings.apply(root) == (Change("net.ipv4.ip_forward", "0", "1"),)
    assert (root / "net/ipv4/ip_forward").read_text() == "1\n"
    assert settings.apply(root) == ()


def test_what_is_not_there_says_what_to_do(root: Path) -> None:
    (root / "net/netfilter/nf_conntrack_tcp_loose").unlink()
    with pytest.raises(SettingError, match=r"nf_conntrack_tcp_loose.*modprobe nf_conntrack"):
        settings.apply(root)


def test_what_cannot_be_set_says_which_and_why(root: Path) -> None:
    (root / "net/ipv4/ip_forward").unlink()
    (root / "net/ipv4/ip_forward").mkdir()
    with pytest.raises(SettingError, match=r"net.ipv4.ip_forward has to be 1.*Is a directory"):
        settings.apply(root)
