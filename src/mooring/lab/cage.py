"""The control groups of a lab: how every process that it started, and whatever those started, stays known.

A process may fork, detach and change its name, but it does not leave its group. So a part is ended by ending its
group, and nothing is ever looked for by name. Groups live in the version 2 hierarchy; container runtimes on machines
with version 1 controllers make folders of the lab's name there too, which are removed with it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.lab import waiting
from mooring.lab.errors import LabError
from mooring.lab.spec import name_problem

CGROUPS = Path("/sys/fs/cgroup")


def hierarchy() -> Path:
    """The version 2 hierarchy, wherever this machine has it."""
    for folder in (CGROUPS, CGROUPS / "unified"):
        if (folder / "cgroup.procs").exists() and (folder / "cgroup.controllers").exists():
            return folder
    raise LabError("no cgroup2 file system is mounted", hint="mount -t cgroup2 none /sys/fs/cgroup/unified")


class Cage:
    """All processes of one lab, in one group per part."""

    def __init__(self, lab: str) -> None:
        self.name = f"mooring-{lab}"

    @property
    def folder(self) -> Path:
        """The group of the whole lab."""
        return hierarchy() / self.name

    def group(self, part: str) -> Path:
        """The group of a part; made when it is not there."""
        folder = self.folder / part
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def room(self, name: str) -> str:
        """A place for groups that others make, in every hierarchy of the machine; returns its path below each."""
        for top in {hierarchy(), *(file.parent for file in CGROUPS.glob("*/cgroup.procs"))}:
            for folder in (top / self.name, top / self.name / name):
                folder.mkdir(exist_ok=True)
                for setting in ("cpuset.cpus", "cpuset.mems"):  # empty in a new group of version 1, and then of no use
                    if (folder / setting).exists() and not (folder / setting).read_text().strip():
                        (folder / setting).write_text((folder.parent / setting).read_text())
        return f"/{self.name}/{name}"

    def enter(self, part: str) -> None:
        """Become a process of the lab, for good."""
        (self.group(part) / "cgroup.procs").write_text("0")

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Stand in the cage oneself for a while: what a command runs is then ended with the lab, even if it dies."""
        home = hierarchy() / Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
        self.enter("command")
        try:
            yield
        finally:
            (home / "cgroup.procs").write_text("0")

    def pids(self, part: str | None = None) -> list[int]:
        """Processes of a part with all descendants, or of the whole lab."""
        return sorted(_pids(self.folder if part is None else self.folder / part))

    def kill(self, part: str | None = None) -> None:
        """End all processes of a part, or of the whole lab, and remove the groups."""
        folder = self.folder if part is None else self.folder / part
        if not folder.exists():
            return
        (folder / "cgroup.kill").write_text("1")
        waiting.until(lambda: not list(_pids(folder)), seconds=20, what=f"the processes in {folder} to end")
        _remove(folder)

    def sweep(self) -> None:
        """Remove what container runtimes left in the version 1 hierarchies."""
        for folder in CGROUPS.glob(f"*/{self.name}"):
            if folder != self.folder:
                _remove(folder)


def names() -> list[str]:
    """Labs that have groups on this machine."""
    tops = {hierarchy(), *(file.parent for file in CGROUPS.glob("*/cgroup.procs"))}
    found = {folder.name.removeprefix("mooring-") for top in tops for folder in top.glob("mooring-*")}
    return sorted(name for name in found if not name_problem(name))


def _pids(folder: Path) -> Iterator[int]:
    for path, _, files in os.walk(folder):
        if "cgroup.procs" in files:
            try:
                yield from map(int, (Path(path) / "cgroup.procs").read_text().split())
            except (FileNotFoundError, OSError):  # the group went away while we looked
                continue


def _remove(folder: Path) -> None:
    """A group can be removed once it is empty; the kernel may need a moment after the last exit."""

    def gone() -> bool:
        for path, _, _ in os.walk(folder, topdown=False):
            try:
                Path(path).rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True

    waiting.until(gone, seconds=10, what=f"the control group {folder} to be empty")
