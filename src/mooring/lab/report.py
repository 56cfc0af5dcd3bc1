"""What is there: the parts of a lab with their state, and how to reach them. Looks, and changes nothing."""

import os
import sys
import time
from pathlib import Path

import msgspec
from rich.console import Group
from rich.table import Table
from rich.text import Text

from mooring.lab import lifecycle, processes, product
from mooring.lab.cage import Cage
from mooring.lab.hosts import holder
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
    busy: bool = False

    @property
    def whole(self) -> bool:
        """Was it completed, and does everything run?"""
        return self.ready and all(part.state == "running" for part in self.parts)


def observe(lab: Lab) -> LabSeen:
    """Look at every process."""
    parts = [_part(lab, part.name, part.group) for part in lifecycle.wanted_parts(lab.spec) if part.process]
    cut = [marker.stem.replace("+", " ") for marker in sorted(lab.place.run.glob("*.cut"))]
    whole = sum(processes.memory(pid) for pid in lab.cage.pids())
    return LabSeen(
        name=lab.spec.name,
        ready=lab.place.ready.exists(),
        parts=parts,
        cut=cut,
        memory=whole,
        busy=lifecycle.busy(lab.spec.name),
    )


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
    return Group(view, Text("\n".join([*lines, *advice(seen)])))


def advice(seen: LabSeen) -> list[str]:
    """What to do about what is not as it should be; nothing when all is well."""
    name = f"--name {seen.name}"
    told = [f"Pulled cables: {', '.join(seen.cut)} (`mooring lab heal {name}`)"] if seen.cut else []
    dead = [part.part for part in seen.parts if part.state in ("dead", "not started")]
    if seen.busy:
        told.append("A command is starting parts of it right now.")
    elif not seen.ready:
        told.append(f"It was never completed: `mooring lab up {name}` makes it anew.")
    elif any(part.startswith(holder("")) for part in dead):
        told.append(f"A host has died: `mooring lab up {name}` makes the lab anew, and what is in it is lost.")
    elif dead:
        told.append(f"`mooring lab up {name}` starts again what has died.")
    paused = [part.part for part in seen.parts if part.state == "paused"]
    return told + [f"`mooring lab resume {name} {part}` lets it go on." for part in paused]


def line(name: str) -> str:
    """One line about a lab, of which perhaps only remains are left."""
    there, running = place_of(name), len(Cage(name).pids())
    state = "up" if there.ready.exists() and running else "remains"
    return f"{name:<12} {state:<8} {running:4} processes  {there.root}"


def environment(lab: Lab) -> dict[str, str]:
    """What a shell needs to talk to the lab, as far as it has the parts."""
    there = {part.name for part in lifecycle.wanted_parts(lab.spec)}
    exports = {"MOORING_LAB": lab.spec.name}
    folders = [_tools(lab)]
    if "kube-apiserver" in there:
        exports["KUBECONFIG"] = str(lab.place.kubeconfig)
        folders.append(lab.program("kubectl").parent)
    if lab.spec.mooring:
        exports["MOORING_CONFIG"] = str(product.configuration(lab.place))
    if "keystone" in there:
        exports |= {"OS_CLIENT_CONFIG_FILE": str(lab.place.clouds), "OS_CLOUD": "admin"}
    if "ovn-nb" in there:
        exports |= {f"OVN_{name.upper()}_DB": f"unix:{lab.socket(f'ovn-{name}')}" for name in ("nb", "sb")}
        folders.append(lab.ovs("ovn-nbctl").parent)
    before = [each for each in os.environ.get("PATH", "/usr/bin:/bin").split(":") if Path(each) not in folders]
    return exports | {"PATH": ":".join([*map(str, folders), *before])}


def environment_in(lab: Lab, host: str) -> dict[str, str]:
    """What a command in a host needs besides: `ovs-vsctl` finds the switch of its own chassis."""
    return {"OVS_RUNDIR": str(lab.runtime(host))} if host in lab.spec.chassis_names else {}


def _tools(lab: Lab) -> Path:
    """A folder with just the commands that people want: the rest of their environments would hide the user's own."""
    folder = lab.place.root / "bin"
    folder.mkdir(exist_ok=True)
    for program in (lab.openstack("openstack"), Path(sys.executable).parent / "mooring"):
        link = folder / program.name
        if not link.is_symlink():
            link.symlink_to(program)
    return folder


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
