"""What a lab could leave behind on the machine outside of its own folders."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mooring.lab import place, processes

# Where programs of the lab would write if nothing kept them from it.
WATCHED = ("/run", "/etc", "/opt", "/var/lib", "/var/log", "/usr/libexec")
SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")


class Machine(msgspec.Struct, frozen=True):
    """A picture of the machine; two of them can be compared."""

    processes: frozenset[str]
    namespaces: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]
    links: frozenset[str]
    files: frozenset[str]
    network: str
    settings: tuple[str, ...]

    def left_since(self, before: "Machine") -> dict[str, object]:
        """What is here now and was not before, by kind; empty when nothing was left."""
        found: dict[str, object] = {}
        for kind in ("processes", "namespaces", "mounts", "groups", "links", "files"):
            if more := getattr(self, kind) - getattr(before, kind):
                found[kind] = sorted(more)
        for kind in ("network", "settings"):
            if getattr(self, kind) != getattr(before, kind):
                found[kind] = (getattr(before, kind), getattr(self, kind))
        return found


def look(lab: str) -> Machine:
    """Take the picture; of processes and namespaces only those that have to do with the lab of this name."""
    root = str(place.place_of(lab).root)
    mine = {pid for pid in _pids() if _belongs(pid, lab, root)}
    return Machine(
        processes=frozenset(f"{pid} {_read(pid, 'cmdline')}" for pid in mine),
        namespaces=frozenset(str(Path(f"/proc/{pid}/ns/net").readlink()) for pid in mine),
        mounts=frozenset(line.split(" ", 4)[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        groups=frozenset(str(path) for path in Path("/sys/fs/cgroup").rglob(f"mooring-{lab}*")),
        links=frozenset(path.name for path in Path("/sys/class/net").glob(f"mo-{lab}*")),
        files=frozenset(_files()),
        network="\n".join(processes.run(["ip", *words]) for words in (("rule",), ("route", "show", "table", "all"))),
        settings=tuple(Path("/proc/sys", name).read_text().strip() for name in SETTINGS),
    )


def _pids() -> Iterator[int]:
    yield from (int(path.name) for path in Path("/proc").glob("[0-9]*"))


def _belongs(pid: int, lab: str, root: str) -> bool:
    """Does it live, and mention the lab's folder or stand in its control group?"""
    if pid == os.getpid() or processes.start_time(pid) is None:
        return False
    group = f"/mooring-{lab}/"
    return any(root + "/" in _read(pid, file) for file in ("cmdline", "environ")) or group in _read(pid, "cgroup")


def _read(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _files() -> Iterator[str]:
    own = (str(place.STATE), str(place.CACHE))
    for top in WATCHED:
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not f"{folder}/{name}".startswith(own)]
            yield from (f"{folder}/{name}" for name in (*folders, *files))
