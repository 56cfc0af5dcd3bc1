"""Making, ending and mending whole labs."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mooring.lab import cage, place, processes, runner, waiting, world
from mooring.lab.cage import Cage
from mooring.lab.errors import LabError
from mooring.lab.hosts import holder
from mooring.lab.lab import Lab, open_lab
from mooring.lab.parts import Part, select
from mooring.lab.place import LONGEST_ROOT, Place, place_of
from mooring.lab.runner import Took, Watcher
from mooring.lab.spec import MAX_SLOTS, Spec


def up(spec: Spec, watcher: Watcher) -> list[Took]:
    """Bring a lab up: what is there stays, what has died is started again, what is half-made is made anew."""
    _refuse_nonsense(spec)
    with _locked():
        target = place_of(spec.name)
        if _is_whole(target, spec):
            return revive(open_lab(spec.name), watcher)
        _remove(spec.name)
        spec = msgspec.structs.replace(spec, slot=_free_slot())
        target.make()
        target.spec.write_bytes(msgspec.json.encode(spec))
    lab = Lab(spec, target)
    took = runner.run(wanted_parts(spec), lab, watcher)
    target.ready.write_bytes(msgspec.json.encode(took))
    return took


def revive(lab: Lab, watcher: Watcher) -> list[Took]:
    """Start the parts again whose processes have died."""
    dead = [part for part in wanted_parts(lab.spec) if part.process and not lab.processes.alive(part.name)]
    if any(part.name.startswith(holder("")) for part in dead):
        raise LabError(
            f"a host of lab {lab.spec.name} has died, and its network with it",
            hint=f"`mooring lab reset --name {lab.spec.name}` makes the lab anew",
        )
    for part in dead:  # children that outlived their parent
        lab.processes.stop(part.name, shared=part.shared)
    return runner.run(dead, lab, watcher)


def down(name: str) -> bool:
    """End a lab and remove all that it left; True when there was something."""
    with _locked():
        return _remove(name)


def restart(lab: Lab, name: str, watcher: Watcher) -> list[Took]:
    """End a part's process and start it again."""
    part = find(lab, name)
    if part.name.startswith(holder("")):
        raise LabError(
            f"{name} holds the namespaces of a host",
            hint=f"`mooring lab reset --name {lab.spec.name}` makes the lab anew",
        )
    lab.processes.stop(name, shared=part.shared)
    return runner.run([part], lab, watcher)


def find(lab: Lab, name: str) -> Part:
    """A part that has a process, by its name."""
    for part in wanted_parts(lab.spec):
        if part.name == name and part.process:
            return part
    known = ", ".join(part.name for part in wanted_parts(lab.spec) if part.process)
    raise LabError(f"lab {lab.spec.name} has no part {name} with a process", hint=f"there are: {known}")


def wanted_parts(spec: Spec) -> list[Part]:
    """The parts of a lab, in the order in which they can start."""
    kept, _ = select(world.parts(spec), spec.without)
    return kept


def names() -> list[str]:
    """Labs of which anything is left on this machine."""
    return sorted({*place.lab_names(), *cage.names()})


def _is_whole(target: Place, spec: Spec) -> bool:
    """Was a lab of this name brought up completely? One that was asked to be different is somebody else's."""
    if not (target.ready.exists() and target.spec.exists()):
        return False
    there = msgspec.json.decode(target.spec.read_bytes(), type=Spec)
    if not Cage(spec.name).pids():
        return False
    if msgspec.structs.replace(there, slot=0) != msgspec.structs.replace(spec, slot=0):
        raise LabError(
            f"lab {spec.name} is up with other options",
            hint=f"`mooring lab down --name {spec.name}` first, or choose another --name",
        )
    return True


def _remove(name: str) -> bool:
    target, group = place_of(name), Cage(name)
    there = target.root.exists() or group.folder.exists()
    interface = Path(f"/sys/class/net/{Spec(name=name).machine_interface}")
    group.kill()
    group.sweep()
    waiting.until(lambda: not interface.exists(), seconds=30, what=f"{interface.name} to vanish with its namespace")
    shutil.rmtree(target.root, ignore_errors=True)
    return there


def _refuse_nonsense(spec: Spec) -> None:
    if problems := list(spec.problems()):
        raise LabError("; ".join(problems))
    select(world.parts(spec), spec.without)
    if os.geteuid() != 0:
        raise LabError("the lab makes namespaces and control groups, which only root may", hint="run it as root")
    if len(str(place_of(spec.name).root)) > LONGEST_ROOT:
        raise LabError(
            f"the path {place_of(spec.name).root} is too long for Unix sockets",
            hint="set MOORING_STATE to a shorter one",
        )


def _free_slot() -> int:
    taken = {open_lab(name).spec.slot for name in place.lab_names() if place_of(name).spec.exists()}
    routes = processes.run(["ip", "-4", "route", "show", "table", "all"])
    for slot in range(MAX_SLOTS):
        prefix = Spec(slot=slot).management_network.removesuffix("0/24")
        if slot not in taken and prefix not in routes:
            return slot
    raise LabError(
        f"all {MAX_SLOTS} management networks (172.30.100.0/24 and following) are taken",
        hint="end a lab: `mooring lab status --all`",
    )


@contextmanager
def _locked() -> Iterator[None]:
    """Labs are made and removed one at a time; starting their parts may overlap."""
    place.labs_folder().mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place.STATE / "labs.lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
