"""The kernel's settings, in a folder that looks like the kernel's."""

from pathlib import Path

import pytest

from mooring.host import settings
from mooring.host.settings import Change, SettingError

WELL = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/forwarding": "1",
    "net/netfilter/nf_conntrack_tcp_loose": "1",
    "net/netfilter/nf_conntrack_tcp_be_liberal": "1",
    "net/netfilter/nf_conntrack_max": "262144",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/eth0.7/rp_filter": "2",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, value in WELL.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return tmp_path


def test_what_is_right_is_left_alone(root: Path) -> None:
    assert settings.apply("eth0.7", root) == ()
    assert settings.check("eth0.7", root) == ()


@pytest.mark.parametrize(
    ("file", "bad", "now"),
    [
        ("net/ipv4/ip_forward", "0", "1"),
        ("net/netfilter/nf_conntrack_tcp_be_liberal", "0", "1"),
        ("net/netfilter/nf_conntrack_max", "4096", "131072"),
        ("net/ipv4/conf/all/rp_filter", "1", "2"),
        ("net/ipv4/conf/eth0.7/rp_filter", "1", "2"),
    ],
)
def test_what_is_wrong_is_told_and_set(root: Path, file: str, bad: str, now: str) -> None:
    (root / file).write_text(f"{bad}\n")
    [told] = settings.check("eth0.7", root)
    name = file.replace("/", ".")
    assert told.startswith(f"{name} is {bad}, and should be {now}: ")
    assert (root / file).read_text() == f"{bad}\n", "to look changes nothing"
    assert settings.apply("eth0.7", root) == (Change(name, bad, now),)
    assert (root / file).read_text() == f"{now}\n"
    assert settings.apply("eth0.7", root) == ()


def test_an_interface_that_is_not_there_yet_has_no_settings(root: Path) -> None:
    assert settings.apply("eth9", root) == ()


def test_what_is_not_there_says_what_to_do(root: Path) -> None:
    (root / "net/netfilter/nf_conntrack_tcp_loose").unlink()
    for look in (settings.apply, settings.check):
        with pytest.raises(SettingError, match=r"nf_conntrack_tcp_loose.*modprobe nf_conntrack"):
            look("eth0.7", root)


def test_what_cannot_be_read_or_set_says_which_and_why(root: Path) -> None:
    (root / "net/ipv4/ip_forward").unlink()
    (root / "net/ipv4/ip_forward").mkdir()
    with pytest.raises(SettingError, match=r"net.ipv4.ip_forward cannot be read \(Is a directory\)"):
        settings.apply("eth0.7", root)
