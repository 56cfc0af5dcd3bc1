"""What a lab could leave behind on the machine outside of its own folders."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mooring.lab import cage, place, processes

# Where programs of the lab would write if nothing kept them from it.
WATCHED = ("/run", "/etc", "/opt", "/var/lib", "/var/log", "/usr/libexec", "/usr/sbin")
SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")


class Machine(msgspec.Struct, frozen=True):
    """A picture of the machine; two of them can be compared."""

    processes: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]
    links: frozenset[str]
    files: frozenset[str]
    network: str
    settings: tuple[str, ...]

    def left_since(self, before: "Machine") -> dict[str, object]:
        """What is here now and was not before, by kind; empty when nothing was left."""
        found: dict[str, object] = {}
        for kind in ("processes", "mounts", "groups", "links", "files"):
            if more := getattr(self, kind) - getattr(before, kind):
                found[kind] = sorted(more)
        for kind in ("network", "settings"):
            if getattr(self, kind) != getattr(before, kind):
                found[kind] = (getattr(before, kind), getattr(self, kind))
        return found


def look(lab: str) -> Machine:
    """Take the picture, without what belongs to other labs and without what lives as all others do."""
    mine = {pid for pid in _pids() if _is_odd(pid, lab)}
    foreign = {f"mo-{name}" for name in cage.names() if name != lab}
    return Machine(
        processes=frozenset(f"{pid} {_read(pid, 'cmdline')}" for pid in mine),
        mounts=frozenset(line.split(" ", 4)[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        groups=frozenset(_groups(lab)),
        links=frozenset(path.name for path in Path("/sys/class/net").iterdir() if path.name not in foreign),
        files=frozenset(_files()),
        network="\n".join(line for line in _network_lines() if not foreign.intersection(line.split())),
        settings=tuple(Path("/proc/sys", name).read_text().strip() for name in SETTINGS),
    )


def _network_lines() -> Iterator[str]:
    for words in (("rule",), ("route", "show", "table", "all")):
        yield from processes.run(["ip", *words]).splitlines()


def _pids() -> Iterator[int]:
    yield from (int(path.name) for path in Path("/proc").glob("[0-9]*"))


def _is_odd(pid: int, lab: str) -> bool:
    """Does it live, belong to no other lab, and to this one or to another network than the machine's own?"""
    group = _read(pid, "cgroup")
    if pid == os.getpid() or processes.start_time(pid) is None or _is_foreign(group, lab):
        return False
    root = f"{place.place_of(lab).root}/"
    named = any(root in _read(pid, file) for file in ("cmdline", "environ")) or f"/mooring-{lab}/" in group
    return named or _network(pid) not in (_network(os.getpid()), "")


def _is_foreign(group: str, lab: str) -> bool:
    """Is this the group of another lab?"""
    return any(f"/mooring-{name}/" in f"{group}/" for name in cage.names() if name != lab)


def _groups(lab: str) -> Iterator[str]:
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        if not _is_foreign(folder, lab):
            yield folder


def _network(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


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
