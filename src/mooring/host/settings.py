"""The kernel's settings that forwarding needs, and that connections need which move from one gateway to another."""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from mooring.host.errors import HostError

ROOT = Path("/proc/sys")
MOST_CONNECTIONS = 131_072


class SettingError(HostError):
    """A setting is not as it has to be, and is not to be set or cannot be. The text says which, why and what to do."""


class Need(Struct, frozen=True):
    """One setting, what it should become, whether it is well as it is, and what for."""

    name: str
    wanted: str
    well: Callable[[str], bool]
    why: str


class Change(Struct, frozen=True):
    name: str
    before: str
    now: str


def needs(interface: str) -> Iterator[Need]:
    for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
        yield Need(name, "1", "1".__eq__, "without it no packet is forwarded")
    for name, why in (
        ("net.netfilter.nf_conntrack_tcp_loose", "a connection that comes from another gateway is taken up"),
        ("net.netfilter.nf_conntrack_tcp_be_liberal", "also one that was here before and moved on meanwhile"),
    ):
        yield Need(name, "1", "1".__eq__, why)
    strict = "1".__ne__
    why = "packets of one connection may come and go by different ways; 0 and 2 are well"
    yield Need("net.ipv4.conf.all.rp_filter", "2", strict, why)
    yield Need(f"net.ipv4.conf.{interface}.rp_filter", "2", strict, why)
    yield Need(
        "net.netfilter.nf_conntrack_max",
        str(MOST_CONNECTIONS),
        lambda value: int(value) >= MOST_CONNECTIONS,
        "so many connections are known at once, and further ones are dropped",
    )


def apply(interface: str, root: Path = ROOT) -> tuple[Change, ...]:
    """Set what is not as it has to be, and say what that was."""
    return tuple(change for need in needs(interface) if (change := _apply(root, need)) is not None)


def check(interface: str, root: Path = ROOT) -> tuple[str, ...]:
    """What is not as it has to be, for people."""
    found = ((need, _read(root, need)) for need in needs(interface))
    return tuple(
        f"{need.name} is {value}, and should be {need.wanted}: {need.why}; set it on the host"
        for need, value in found
        if value is not None and not need.well(value)
    )


def _apply(root: Path, need: Need) -> Change | None:
    before = _read(root, need)
    if before is None or need.well(before):
        return None
    try:
        _file(root, need).write_text(f"{need.wanted}\n")
    except OSError as error:
        told = f"{need.name} has to be {need.wanted} and cannot be set ({error.strerror}); set it on the host"
        raise SettingError(told) from error
    return Change(need.name, before, need.wanted)


def _read(root: Path, need: Need) -> str | None:
    """What it is; None for an interface that is not there yet."""
    try:
        return _file(root, need).read_text().strip()
    except FileNotFoundError as error:
        if ".conf." in need.name:
            return None
        raise SettingError(
            f"{need.name} is not there: the kernel lacks a module; try `modprobe nf_conntrack`"
        ) from error
    except OSError as error:
        raise SettingError(f"{need.name} cannot be read ({error.strerror})") from error


def _file(root: Path, need: Need) -> Path:
    """Names of interfaces may have dots."""
    if ".conf." in need.name and need.name.endswith(".rp_filter"):
        interface = need.name.removeprefix("net.ipv4.conf.").removesuffix(".rp_filter")
        return root / "net/ipv4/conf" / interface / "rp_filter"
    return root / need.name.replace(".", "/")
