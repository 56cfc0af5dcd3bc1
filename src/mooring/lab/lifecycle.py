"""Making, ending and mending whole labs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from mooring.lab import cage, locking, place, product, runner, waiting, world
from mooring.lab.cage import Cage
from mooring.lab.errors import LabError
from mooring.lab.hosts import holder
from mooring.lab.lab import Lab, open_lab
from mooring.lab.parts import Part, only, select
from mooring.lab.place import LONGEST_ROOT, Place, place_of
from mooring.lab.runner import Took, Watcher
from mooring.lab.spec import MAX_SLOTS, Spec


def up(spec: Spec, watcher: Watcher) -> list[Took]:
    """Bring a lab up: what is there stays, what has died is started again, what is half-made is made anew."""
    refuse_nonsense(spec)
    target = place_of(spec.name)
    with _alone(spec.name):
        if _stands(target, spec):
            return revive(open_lab(spec.name), watcher)
        with _locked():
            _remove(spec.name)
            lab = Lab(msgspec.structs.replace(spec, slot=_free_slot()), target)
            target.make()
            target.spec.write_bytes(msgspec.json.encode(lab.spec))
        took = _start(lab, wanted_parts(lab.spec), watcher)
        target.ready.write_bytes(msgspec.json.encode(took))
        return took


def revive(lab: Lab, watcher: Watcher) -> list[Took]:
    """Start the parts again whose processes have died."""
    parts = wanted_parts(lab.spec)
    dead = {part.name for part in parts if part.process and not lab.processes.alive(part.name)}
    again = only(parts, dead)
    for part in again:  # children that outlived their parent
        lab.processes.stop(part.name, shared=part.shared)
    return _start(lab, again, watcher)


def lost_hosts(lab: Lab) -> list[str]:
    """Hosts of a completed lab that have died, and their networks with them: such a lab can only be made anew."""
    if not lab.place.ready.exists():
        return []
    return [host for host in lab.spec.hosts if not lab.processes.alive(holder(host))]


def down(name: str) -> bool:
    """End a lab and remove all that it left; True when there was something."""
    with _locked():
        return _remove(name)


def restart(lab: Lab, name: str, watcher: Watcher) -> list[Took]:
    """End a part's process and start it again; what is of Mooring ends by itself, as it does at an upgrade."""
    part = find(lab, name)
    if part.name.startswith(holder("")):
        raise LabError(
            f"{name} holds the namespaces of a host",
            hint=f"`mooring lab reset --name {lab.spec.name}` makes the lab anew",
        )
    with _alone(lab.spec.name):
        ours = {each.name for each in product.parts(lab.spec)}
        lab.processes.stop(name, seconds=10 if name in ours else 0, shared=part.shared)
        return _start(lab, [part], watcher)


def deploy(lab: Lab, mooring: str, watcher: Watcher) -> list[Took]:
    """Install Mooring in a lab that stands, in another way than before, or take it away (an empty text)."""
    spec = msgspec.structs.replace(lab.spec, mooring=mooring)
    refuse_nonsense(spec)
    with _alone(spec.name):
        before = {part.name for part in wanted_parts(lab.spec)}
        after = wanted_parts(spec)
        if lab.spec.mooring and lab.spec.mooring != mooring:
            product.remove(lab)
            before -= {part.name for part in product.parts(lab.spec)}
        for gone in before.difference(part.name for part in after):
            lab.processes.stop(gone, seconds=10)
        lab.place.spec.write_bytes(msgspec.json.encode(spec))
        new = {part.name for part in after} - before
        return _start(open_lab(spec.name), only(after, new), watcher)


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


def _start(lab: Lab, parts: list[Part], watcher: Watcher) -> list[Took]:
    with lab.cage.inside():
        took = runner.run(parts, lab, watcher)
    for part in parts:
        if part.process and not lab.processes.alive(part.name):
            raise lab.processes.error(part.name, "ended soon after it was started")
    return took


def _stands(target: Place, spec: Spec) -> bool:
    """Was a lab of this name completed, and do its hosts live? One that was asked to be different is left alone."""
    if not (target.ready.exists() and target.spec.exists()):
        return False
    there = open_lab(spec.name)
    if lost_hosts(there):
        return False
    if msgspec.structs.replace(there.spec, slot=0) != msgspec.structs.replace(spec, slot=0):
        hint = f"`mooring lab down --name {spec.name}` first, or choose another --name"
        raise LabError(f"lab {spec.name} is up with other options", hint=hint)
    return True


def _remove(name: str) -> bool:
    target, group = place_of(name), Cage(name)
    there = target.root.exists() or name in cage.names()
    interface = Path(f"/sys/class/net/{Spec(name=name).machine_interface}")
    group.kill()
    group.sweep()
    waiting.until(lambda: not interface.exists(), seconds=30, what=f"{interface.name} to vanish with its namespace")
    if target.root.exists():
        shutil.rmtree(target.root)
    return there


def refuse_nonsense(spec: Spec) -> None:
    """Say what of a wish cannot be granted, before anything is made."""
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
    taken = {slot for name in place.lab_names() if (slot := _slot_of(name)) is not None}
    routes = Path("/proc/net/fib_trie").read_text()  # `ip` may not be installed yet
    for slot in range(MAX_SLOTS):
        prefix = Spec(slot=slot).management_network.removesuffix("0/24")
        if slot not in taken and prefix not in routes:
            return slot
    raise LabError(
        f"all {MAX_SLOTS} management networks (172.30.100.0/24 and following) are taken",
        hint="end a lab: `mooring lab status --all`",
    )


def _slot_of(name: str) -> int | None:
    """The slot of a lab; one whose spec is gone or unreadable holds none but by its routes."""
    with suppress(LabError):
        return open_lab(name).spec.slot
    return None


def _locked() -> AbstractContextManager[None]:
    """Labs are made and removed one at a time; starting their parts may overlap."""
    return locking.held(place.STATE / "labs.lock")


def busy(name: str) -> bool:
    """Is a command starting parts of this lab right now?"""
    try:
        with locking.held(_lock_of(name), wait=False):
            return False
    except BlockingIOError:
        return True


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Only one command at a time starts parts of a lab."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locking.held(_lock_of(name), wait=False))
        except BlockingIOError:
            hint = f"wait for it, or `mooring lab down --name {name}` ends it"
            raise LabError(f"another command is starting parts of lab {name}", hint=hint) from None
        yield


def _lock_of(name: str) -> Path:
    return place.STATE / "locks" / name
