"""Real agents that end at a chosen effect: each one is forked from here, so that it need not import anything first.

    doomed_agent.py CONFIG PLAN LOG

It is spoken to by lines: `start` answers the agent's pid; `ended` the status of an agent that has ended, or `running`.
The plan is a file that an agent reads before every effect on its host: at which one it ends, or is refused. What it
came by stands in another file beside it.
"""

import asyncio
import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from mooring.agent import main
from mooring.agent.main import Parts
from mooring.cli import config_file, logs
from mooring.host.connections import Connections, Way
from mooring.host.disk import DiskError, Folder
from mooring.host.errors import HostError
from mooring.host.keepalived import Instances, Keepalived, KeepalivedError
from mooring.host.nftables import Nftables, NftError
from mooring.model.rules import Element, Transaction

HAND = "gateway"
"""The thread that changes the host. What the clock does meanwhile is nobody's effect."""
NOWHERE = Element("ip", "services", bytes(12), "nowhere")
"""What a kernel refuses: it goes to a chain that is not there."""

Failure = Callable[[], HostError]


class Plan(Struct, frozen=True):
    """What happens at which effect since this plan is there. `at` is -1: nothing, it is written down what is done."""

    number: int
    at: int = -1
    when: Literal["before", "half", "after"] = "before"
    how: Literal["kill", "refuse"] = "kill"


class Fate:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._number = -1
        self._reached = 0

    def meets(self, name: str) -> Plan | None:
        """Write an effect down; the plan, if this is the one."""
        if not threading.current_thread().name.startswith(HAND):
            return None
        try:
            plan = msgspec.json.decode(self._file.read_bytes(), type=Plan)
        except FileNotFoundError:
            return None
        if plan.number != self._number:
            self._number, self._reached = plan.number, 0
        with self._file.with_name(f"trace-{plan.number}").open("a") as trace:
            trace.write(f"{name}\n")
        self._reached += 1
        return plan if self._reached == plan.at + 1 else None

    @contextmanager
    def effect(self, name: str, failure: Failure) -> Iterator[Plan | None]:
        plan = self.meets(name)
        _strike(plan, "before", failure)
        yield plan
        _strike(plan, "after", failure)


def _strike(plan: Plan | None, when: str, failure: Failure) -> None:
    if plan is None or plan.when != when:
        return
    if plan.how == "refuse":
        raise failure()
    os.kill(os.getpid(), signal.SIGKILL)


class DoomedFolder(Folder):
    def __init__(self, fate: Fate, path: Path) -> None:
        super().__init__(path)
        self._fate = fate

    def write(self, name: str, content: bytes) -> None:
        with self._fate.effect("disk write", partial(_no_disk, name)) as plan:
            if plan is not None and plan.when == "half":
                super().write(name, content[: len(content) // 2])
                _strike(plan, "half", partial(_no_disk, name))
            super().write(name, content)

    def append(self, name: str, content: bytes) -> None:
        with self._fate.effect("disk append", partial(_no_disk, name)) as plan:
            if plan is not None and plan.when == "half":
                super().append(name, content[: len(content) // 2])
                _strike(plan, "half", partial(_no_disk, name))
            super().append(name, content)

    def rename(self, old: str, new: str) -> None:
        with self._fate.effect("disk rename", partial(_no_disk, new)):
            super().rename(old, new)

    def sync(self, name: str) -> None:
        with self._fate.effect("disk sync", partial(_no_disk, name)):
            super().sync(name)

    def sync_names(self) -> None:
        with self._fate.effect("disk sync names", partial(_no_disk, "the folder")):
            super().sync_names()


class DoomedNftables(Nftables):
    """What is refused here, the kernel refuses; after a change, its answer is lost."""

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self._fate = fate

    def run(self, text: str) -> str:
        with self._refusing("nft run") as plan:
            return super().run(f"{text}add element ip mooring_c services {{ }}\n" if _refused(plan) else text)

    def change(self, table: str, change: Transaction, chains: dict[int, str]) -> None:
        if not change and not chains:
            return
        with self._refusing("nft change") as plan:
            more = (*change.added, NOWHERE) if _refused(plan) else change.added
            super().change(table, msgspec.structs.replace(change, added=more), chains)

    def fill(self, table: str, elements: Iterable[Element]) -> None:
        with self._refusing("nft fill") as plan:
            super().fill(table, (*elements, NOWHERE) if _refused(plan) else elements)

    def copy(self, family: str, old: str, new: str, name: str, wanted: Callable[[Element], bool]) -> list[Element]:
        with self._fate.effect(f"nft copy {name} {family}", _no_answer):
            return super().copy(family, old, new, name, wanted)

    def forget(self, family: str, table: str, name: str, unwanted: Callable[[Element], bool]) -> int:
        with self._fate.effect("nft forget", _no_answer):
            return super().forget(family, table, name, unwanted)

    def switch(self, on: str, off: str) -> None:
        with self._fate.effect("nft switch", _no_answer):
            super().switch(on, off)

    @contextmanager
    def _refusing(self, name: str) -> Iterator[Plan | None]:
        """What is to be refused before it is done is done by the kernel itself."""
        plan = self._fate.meets(name)
        if not _refused(plan):
            _strike(plan, "before", _no_answer)
        yield plan
        _strike(plan, "after", _no_answer)


class DoomedKeepalived(Keepalived):
    """Each step of giving it a configuration is an effect of its own."""

    def __init__(self, fate: Fate, folder: Path, instances: Instances) -> None:
        super().__init__(folder, instances)
        self._fate = fate

    def configure(self, text: str, *, held: frozenset[str], released: frozenset[str]) -> None:
        with self._fate.effect("vrrp configure", _no_vrrp):
            super().configure(text, held=held, released=released)

    def lower(self, by: int) -> None:
        with self._fate.effect("vrrp lower", _no_vrrp):
            super().lower(by)

    def mark_alive(self, seconds: float) -> None:
        with self._fate.effect("vrrp mark alive", _no_vrrp):
            super().mark_alive(seconds)

    def _place(self, text: str) -> None:
        with self._fate.effect("vrrp place", _no_vrrp):
            super()._place(text)

    def _test(self, file: Path) -> None:
        with self._fate.effect("vrrp test", _no_vrrp):
            super()._test(file)

    def _follow(self) -> None:
        with self._fate.effect("vrrp follow", _no_vrrp):
            super()._follow()

    def _await(self, condition: Callable[[], bool], what: str, *, more: float = 0.0) -> None:
        with self._fate.effect("vrrp await", _no_vrrp):
            super()._await(condition, what, more=more)


class DoomedConnections(Connections):
    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    def forget_ways(self, ways: Collection[Way]) -> int:
        with self._fate.effect("connections forget", _no_answer):
            return super().forget_ways(ways)


def _refused(plan: Plan | None) -> bool:
    return plan is not None and (plan.how, plan.when) == ("refuse", "before")


def _no_disk(name: str) -> DiskError:
    return DiskError(f"{name}: {os.strerror(errno.EIO)}")


def _no_answer() -> NftError:
    return NftError("the kernel's packet filter: no answer")


def _no_vrrp() -> KeepalivedError:
    return KeepalivedError("keepalived did not do it")


def be_agent(config: Path, plan: Path, log: Path) -> None:
    """What the command does, with parts that may end it."""
    with log.open("a") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        fate = Fate(plan)
        parts = Parts(
            partial(DoomedFolder, fate),
            partial(DoomedNftables, fate),
            partial(DoomedKeepalived, fate),
            partial(DoomedConnections, fate),
        )
        settings = config_file.load_for("agent", config)
        logger = logs.make(settings.log, said)
        with logs.libraries(logger):
            asyncio.run(main.run(settings, logger, parts))


def serve() -> None:
    config, plan, log = map(Path, sys.argv[1:])
    pid = 0
    for line in sys.stdin:
        if line == "start\n":
            pid = os.fork()
            if pid == 0:
                os.close(0)
                try:
                    be_agent(config, plan, log)
                except BaseException:  # noqa: BLE001 - nothing of it may get out into what it was forked from
                    traceback.print_exc()
                os._exit(1)
            told = str(pid)
        else:
            ended, status = os.waitpid(pid, os.WNOHANG)
            told = str(os.waitstatus_to_exitcode(status)) if ended else "running"
        print(told, flush=True)  # noqa: T201 - this is how it answers


if __name__ == "__main__":
    serve()
