"""The kernel's settings that forwarding needs, and that connections need which move from one gateway to another."""

from pathlib import Path

from msgspec import Struct

from mooring.host.errors import HostError

NEEDED = {
    "net.ipv4.ip_forward": "1",
    "net.ipv6.conf.all.forwarding": "1",
    "net.netfilter.nf_conntrack_tcp_loose": "1",  # a connection that comes from another gateway is taken up
    "net.netfilter.nf_conntrack_tcp_be_liberal": "1",  # also one that was here before and moved on meanwhile
}


class SettingError(HostError):
    """A setting cannot be set. The text says which one, why and what to do."""


class Change(Struct, frozen=True):
    name: str
    before: str
    now: str


def apply(root: Path = Path("/proc/sys")) -> tuple[Change, ...]:
    """Set what is not as it has to be, and say what that was."""
    return tuple(change for name, value in NEEDED.items() if (change := _apply(root, name, value)) is not None)


def _apply(root: Path, name: str, value: str) -> Change | None:
    file = root / name.replace(".", "/")
    try:
        before = file.read_text().strip()
        if before == value:
            return None
        file.write_text(f"{value}\n")
    except FileNotFoundError as error:
        raise SettingError(f"{name} is not there: the kernel lacks a module; try `modprobe nf_conntrack`") from error
    except OSError as error:
        raise SettingError(
            f"{name} has to be {value} and cannot be set ({error.strerror}); set it on the host"
        ) from error
    return Change(name, before, value)
