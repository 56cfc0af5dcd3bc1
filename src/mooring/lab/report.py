"""What is there: the parts of a lab with their state, and how to reach them. Looks, and changes nothing."""

import os
import sys
import time
from pathlib import Path

import msgspec
from rich.console import Group
from rich.table import Table
from rich.text import Text

from mooring.lab import lifecycle, processes
from mooring.lab.cage import Cage
from mooring.lab.lab import Lab
from mooring.lab.place import place_of


class PartSeen(msgspec.Struct, frozen=True):
    """One part with a process."""

    part: str
    group: str
    host: str
    state: str
    pid: int
    memory: int
    seconds: float


class LabSeen(msgspec.Struct, frozen=True):
    """A lab as it is now."""

    name: str
    ready: bool
    parts: list[PartSeen]
    cut: list[str]
    memory: int

    @property
    def whole(self) -> bool:
        """Was it completed, and does everything run?"""
        return self.ready and all(part.state == "running" for part in self.parts)


def observe(lab: Lab) -> LabSeen:
    """Look at every process."""
    parts = [_part(lab, part.name, part.group) for part in lifecycle.wanted_parts(lab.spec) if part.process]
    cut = [marker.stem.replace("+", " ") for marker in sorted(lab.place.run.glob("*.cut"))]
    whole = sum(processes.memory(pid) for pid in lab.cage.pids())
    return LabSeen(name=lab.spec.name, ready=lab.place.ready.exists(), parts=parts, cut=cut, memory=whole)


def table(seen: LabSeen) -> Group:
    """For people."""
    view = Table(box=None, header_style="bold")
    for column in ("part", "host", "state", "pid", "memory", "up"):
        view.add_column(column, justify="right" if column in ("pid", "memory", "up") else "left")
    colours = {"running": "green", "paused": "yellow", "dead": "red bold", "not started": "dim"}
    for part in sorted(seen.parts, key=lambda part: (part.group, part.part)):
        state = Text(part.state, style=colours[part.state])
        view.add_row(part.part, part.host, state, str(part.pid or "-"), _mebibytes(part.memory), _age(part.seconds))
    running = sum(part.state == "running" for part in seen.parts)
    lines = [f"\n{running} of {len(seen.parts)} processes run; the lab takes {_mebibytes(seen.memory)}."]
    if seen.cut:
        lines.append(f"Pulled cables: {', '.join(seen.cut)} (`mooring lab heal --name {seen.name}`)")
    if not seen.ready:
        lines.append(f"It was never completed: `mooring lab up --name {seen.name}` makes it anew.")
    elif not seen.whole:
        lines.append(f"`mooring lab up --name {seen.name}` starts again what has died.")
    return Group(view, Text("\n".join(lines)))


def line(name: str) -> str:
    """One line about a lab, of which perhaps only remains are left."""
    there, running = place_of(name), len(Cage(name).pids())
    state = "up" if there.ready.exists() and running else "remains"
    return f"{name:<12} {state:<8} {running:4} processes  {there.root}"


def environment(lab: Lab) -> dict[str, str]:
    """What a shell needs to talk to the lab."""
    programs = {str(folder): None for folder in (lab.program("kubectl").parent, lab.ovs("ovs-vsctl").parent)}
    tools = _tools(lab)
    return {
        "MOORING_LAB": lab.spec.name,
        "KUBECONFIG": str(lab.place.kubeconfig),
        "OS_CLIENT_CONFIG_FILE": str(lab.place.clouds),
        "OS_CLOUD": "admin",
        "OVN_NB_DB": f"unix:{lab.socket('ovn-nb')}",
        "OVN_SB_DB": f"unix:{lab.socket('ovn-sb')}",
        "PATH": ":".join([*programs, str(tools), _path_without([*programs, str(tools)])]),
    }


def _tools(lab: Lab) -> Path:
    """A folder with just the commands that people want: the rest of their environments would hide the user's own."""
    folder = lab.place.root / "bin"
    folder.mkdir(exist_ok=True)
    for program in (lab.openstack("openstack"), Path(sys.executable).parent / "mooring"):
        link = folder / program.name
        if not link.is_symlink():
            link.symlink_to(program)
    return folder


def _path_without(folders: list[str]) -> str:
    return ":".join(each for each in os.environ.get("PATH", "/usr/bin:/bin").split(":") if each not in folders)


def _part(lab: Lab, name: str, group: str) -> PartSeen:
    record = lab.processes.record(name)
    if record is None:
        return PartSeen(part=name, group=group, host="", state="not started", pid=0, memory=0, seconds=0)
    if not lab.processes.alive(name):
        return PartSeen(part=name, group=group, host=record.host, state="dead", pid=0, memory=0, seconds=0)
    state = "paused" if processes.is_stopped(record.pid) else "running"
    memory = sum(processes.memory(pid) for pid in lab.cage.pids(name))
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - record.start_time / os.sysconf("SC_CLK_TCK")
    return PartSeen(part=name, group=group, host=record.host, state=state, pid=record.pid, memory=memory, seconds=age)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB" if size else "-"


def _age(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 120 else f"{seconds:.0f} s"  # noqa: PLR2004 - minutes are clearer from two on
