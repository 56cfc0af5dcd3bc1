"""What a machine needs for a lab, and whether it has it."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from rich.markup import escape
from rich.table import Table

from mooring.lab import cage, place, processes
from mooring.lab.assets import debian, golang
from mooring.lab.errors import CommandError, LabError

MEMORY = 4 * 2**30
DISK = 12 * 2**30
PYTHON = (3, 11)


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    what: str
    ok: bool
    seen: str
    remedy: str = ""
    will_be_installed: bool = False


def examine() -> list[Finding]:
    """Look at everything; changes nothing but namespaces that vanish again."""
    return [finding for check in _CHECKS for finding in check()]


def table(findings: list[Finding]) -> Table:
    """For people."""
    view = Table(box=None, header_style="bold")
    for column in ("", "what", "seen", "what to do"):
        view.add_column(column)
    for each in findings:
        mark = "[green]ok[/]" if each.ok else "[yellow]later[/]" if each.will_be_installed else "[red]no[/]"
        view.add_row(mark, escape(each.what), escape(each.seen), "" if each.ok else escape(each.remedy))
    return view


def _user() -> Iterator[Finding]:
    yield Finding(
        "root", os.geteuid() == 0, f"uid {os.geteuid()}", "run as root: the lab makes namespaces and control groups"
    )


def _python() -> Iterator[Finding]:
    yield Finding(
        "Python 3.11 or newer", sys.version_info[:2] >= PYTHON, sys.version.split()[0], "install a newer Python"
    )


def _release() -> Iterator[Finding]:
    text = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    name = next(
        (line.partition("=")[2].strip('"') for line in text.splitlines() if line.startswith("PRETTY_NAME")), "unknown"
    )
    yield Finding(
        "Debian 12",
        "Debian GNU/Linux 12" in name,
        name,
        "other releases have other versions of containerd, nft and MariaDB; untested",
    )


def _architecture() -> Iterator[Finding]:
    machine = os.uname().machine
    yield Finding("x86-64", machine == "x86_64", machine, "the lab's images and its OVS are made for that alone")


def _size() -> Iterator[Finding]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding(
        "4 GiB of memory",
        memory >= MEMORY,
        f"{memory / 2**30:.1f} GiB",
        "a lab takes about 1.7 GiB, building Kubernetes 3 GiB",
    )
    folder = next(each for each in (place.CACHE, *place.CACHE.parents) if os.path.exists(each))  # noqa: PTH110 - never raises
    free = shutil.disk_usage(folder).free
    yield Finding(
        "12 GiB of free disk",
        free >= DISK,
        f"{free / 2**30:.0f} GiB at {folder}",
        "Go's caches take 4 GiB, ours 2 GiB; MOORING_CACHE moves ours",
    )


def _groups() -> Iterator[Finding]:
    try:
        folder = cage.hierarchy()
    except LabError as error:
        yield Finding("cgroup2", ok=False, seen="not mounted", remedy=error.hint)
        return
    probe = folder / f"doctor-of-mooring-{os.getpid()}"
    try:
        probe.mkdir()
        can_kill = (probe / "cgroup.kill").exists()
        probe.rmdir()
    except OSError as error:
        yield Finding("cgroup2", ok=False, seen=str(error), remedy=f"{folder} must be writable")
        return
    yield Finding("cgroup2 with cgroup.kill", can_kill, str(folder), "a kernel of 5.14 or newer")


def _kernel() -> Iterator[Finding]:
    trials = {
        "network namespaces": "true",
        "veth": "ip link add t0 type veth peer name t1",
        "bridges": "ip link add t0 type bridge",
        "nftables with NAT": "nft 'add table ip t; add chain ip t c { type nat hook prerouting priority dstnat; }'",
        "tap devices (OVS in user space)": "ip tuntap add t0 mode tap",
        "overlay file system": "mount -t tmpfs none /mnt; cd /mnt; mkdir l u w m; "
        "mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w m",
    }
    for what, trial in trials.items():
        try:
            processes.run(["unshare", "--net", "--mount", "/bin/sh", "-ec", trial])
            yield Finding(what, ok=True, seen="works")
        except CommandError as error:
            lacking = error.code == processes.NOT_FOUND
            remedy = "`mooring lab up` installs it" if lacking else "a kernel that has it, and root"
            seen = error.output.strip().splitlines()[-1] if error.output.strip() else f"code {error.code}"
            yield Finding(what, ok=False, seen=seen, remedy=remedy, will_be_installed=lacking)


def _packages() -> Iterator[Finding]:
    try:
        lacking = debian.missing()
    except LabError as error:
        yield Finding("Debian's packages", ok=False, seen=error.what, remedy=error.hint)
        return
    yield Finding(
        "Debian's packages",
        not lacking,
        ", ".join(lacking) or "all there",
        "`mooring lab up` installs them",
        will_be_installed=True,
    )


def _go() -> Iterator[Finding]:
    found = golang.go()
    try:
        built = golang.folder_of("kubectl").exists() and golang.folder_of("coredns").exists()
    except OSError as error:
        yield Finding("our own files", ok=False, seen=str(error), remedy="run as root, or as a user who may read them")
        return
    seen = "built already" if built else str(found) if found else "none that is new enough"
    yield Finding(
        "Kubernetes, or Go to build it",
        built or found is not None,
        seen,
        "`mooring lab up` fetches Go as a Python package",
        will_be_installed=True,
    )


_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _user,
    _python,
    _release,
    _architecture,
    _size,
    _groups,
    _kernel,
    _packages,
    _go,
)
