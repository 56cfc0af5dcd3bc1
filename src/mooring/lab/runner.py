"""Starts parts, each as soon as all that it needs is there, and tells somebody about it."""

import queue
import threading
import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from mooring.lab.errors import LabError, PartError
from mooring.lab.lab import Lab
from mooring.lab.parts import Part


class Watcher(Protocol):
    """Told what happens while parts start."""

    def planned(self, parts: Sequence[Part]) -> None:
        """These parts will be started."""

    def began(self, part: str) -> None:
        """A part is being started."""

    def finished(self, part: str, seconds: float) -> None:
        """A part is up."""

    def failed(self, part: str) -> None:
        """A part is not coming up; nothing more is started."""


class Took(msgspec.Struct, frozen=True):
    """How long a part took, and when it began, in seconds since the start."""

    part: str
    began: float
    seconds: float
    after: str
    """The part that it waited for last: followed backwards, these make the path that decided the whole time."""


def run(parts: Sequence[Part], lab: Lab, watcher: Watcher) -> list[Took]:
    """Start all parts; the first failure ends it. Threads of others are left behind: they end with the process."""
    start = time.monotonic()
    waiting = {part.name: part for part in parts}
    needs = {part.name: {*part.needs, *part.after} & waiting.keys() for part in parts}
    last_need = dict.fromkeys(waiting, "")
    ended: queue.Queue[tuple[str, float, BaseException | None]] = queue.Queue()
    took: list[Took] = []
    began: dict[str, float] = {}
    watcher.planned(parts)
    while len(took) < len(parts):
        for name in [name for name in waiting if not needs[name]]:
            part = waiting.pop(name)
            began[name] = time.monotonic() - start
            watcher.began(name)
            threading.Thread(target=_start, args=(part, lab, ended), name=name, daemon=True).start()
        name, seconds, error = ended.get()
        if error is not None:
            watcher.failed(name)
            raise _explained(name, error, lab) from error
        watcher.finished(name, seconds)
        took.append(Took(part=name, began=began[name], seconds=seconds, after=last_need[name]))
        for other, left in needs.items():
            if name in left:
                left.discard(name)
                last_need[other] = name
    return took


def path(took: Sequence[Took]) -> list[Took]:
    """The chain of parts that decided how long everything took, from the first to the last."""
    by_name = {each.part: each for each in took}
    chain = [max(took, key=lambda each: each.began + each.seconds)]
    while chain[-1].after:
        chain.append(by_name[chain[-1].after])
    return chain[::-1]


def _start(part: Part, lab: Lab, ended: "queue.Queue[tuple[str, float, BaseException | None]]") -> None:
    begin = time.monotonic()
    try:
        part.start(lab)
    except BaseException as error:  # noqa: BLE001 - the outermost frame of a thread: the error is handed on whole
        ended.put((part.name, time.monotonic() - begin, error))
    else:
        ended.put((part.name, time.monotonic() - begin, None))


def _explained(part: str, error: BaseException, lab: Lab) -> LabError:
    if isinstance(error, PartError):
        return error
    if isinstance(error, LabError):
        return lab.processes.error(part, error.what, hint=error.hint)
    return lab.processes.error(part, f"{type(error).__name__}: {error}")
