"""The parts of a lab as data: what each needs, and which of them a lab consists of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mooring.lab.errors import LabError

if TYPE_CHECKING:
    from mooring.lab.lab import Lab


ASSETS = "assets"


@dataclass(frozen=True)
class Part:
    """One thing that has to be done, and started, for the lab to be whole.

    needs    cannot be without these, and starts after them
    after    starts after these where they are part of the lab, and does without them elsewhere
    group    what `--without` may name to leave out several parts at once
    process  leaves a process behind that can be watched, killed and started again
    shared   what its process starts lives on without it, as containers do
    """

    name: str
    start: "Callable[[Lab], None]"
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    group: str = ""
    process: bool = True
    shared: bool = False


def select(parts: Sequence[Part], without: Iterable[str]) -> tuple[list[Part], list[str]]:
    """The parts that are left when some parts or groups are left out, and the names of all that fall away with them."""
    unwanted = set(without)
    known = {part.name for part in parts} | {part.group for part in parts if part.group}
    if unknown := sorted(unwanted - known):
        raise LabError(
            f"no part or group is called {', '.join(unknown)}", hint=f"there are: {', '.join(sorted(known))}"
        )
    gone: set[str] = set()
    kept: list[Part] = []
    for part in ordered(parts):
        if part.name in unwanted or part.group in unwanted or gone.intersection(part.needs):
            gone.add(part.name)
        else:
            kept.append(part)
    if not any(part.process for part in kept):
        raise LabError(f"nothing is left without {', '.join(sorted(unwanted))}", hint="leave out less")
    return _needed(kept), sorted(gone)


def _needed(parts: Sequence[Part]) -> list[Part]:
    """The parts without assets that none of the others needs."""
    wanted = {part.name for part in parts if part.group != ASSETS}
    for part in reversed(parts):
        if part.name in wanted:
            wanted.update(part.needs)
    return [part for part in parts if part.name in wanted]


def ordered(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts, each after those that it needs."""
    left = {part.name: part for part in parts}
    done: set[str] = set()
    while left:
        ready = [part for part in left.values() if done.issuperset(part.needs) and not left.keys() & set(part.after)]
        if not ready:
            raise ValueError(
                f"these parts need each other, or something that does not exist: {', '.join(sorted(left))}"
            )
        for part in ready:
            yield left.pop(part.name)
            done.add(part.name)


def only(parts: Sequence[Part], names: set[str]) -> list[Part]:
    """Some of the parts, each needing those of the others that it needs by whatever way."""
    reached: dict[str, set[str]] = {}
    for part in ordered(parts):
        direct = {*part.needs, *part.after}
        reached[part.name] = direct.union(*(reached.get(need, set()) for need in direct))
    return [
        replace(part, needs=tuple(sorted(reached[part.name] & names)), after=()) for part in parts if part.name in names
    ]
