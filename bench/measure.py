"""What a benchmark found, and what was hoped for."""

import math
from collections.abc import Iterator, Sequence

import msgspec


class Measured(msgspec.Struct, frozen=True):
    """One cost of ours beside that of the other way, at one size."""

    id: str
    size: int
    ours: float
    peer: float
    unit: str

    @property
    def ratio(self) -> float:
        """How many times cheaper ours is; 0, if it costs nothing."""
        return round(self.peer / self.ours, 2) if self.ours else 0.0


class Goal(msgspec.Struct, frozen=True):
    """What we hope for, in every figure whose id begins so, at a size or (0) at all of them.

    `most` and `ratio` are of one figure. `slope` and `growth` are of all sizes: how the cost grows from `smallest` to
    the largest size, as an exponent and as a factor.
    """

    id: str
    most: float = math.inf
    size: int = 0
    ratio: float = 0.0
    slope: float = math.inf
    growth: float = math.inf
    smallest: int = 0

    def missed(self, measured: Sequence[Measured]) -> Iterator[str]:
        """What misses it, for people."""
        mine = [each for each in measured if each.id.startswith(self.id)]
        if not mine:
            yield f"{self.id} was not measured"
        for each in mine:
            if self.size not in {0, each.size}:
                continue
            if each.ours > self.most:
                yield f"{each.id} at {each.size} is {each.ours} {each.unit}, more than {self.most:g}"
            if each.ours and each.ratio < self.ratio:
                yield f"{each.id} at {each.size} is {each.ratio:g} times cheaper, less than {self.ratio:g}"
        for identity, few in _by_id(mine).items():
            small, large = _ends([each for each in few if each.size >= self.smallest])
            if slope(few, smallest=self.smallest) > self.slope:
                told = f"{slope(few, smallest=self.smallest):g}, more than {self.slope:g}"
                yield f"{identity} grows from {small.size} to {large.size} with a slope of {told}"
            if large.ours > self.growth * small.ours:
                told = f"{large.ours / small.ours:.2f} times, more than {self.growth:g}"
                yield f"{identity} grows from {small.size} to {large.size} to {told}"


def slopes(measured: Sequence[Measured]) -> dict[str, float]:
    return {identity: slope(few) for identity, few in _by_id(measured).items()}


def slope(few: Sequence[Measured], *, smallest: int = 0) -> float:
    """How cost grows with size, as the exponent between the smallest and the largest: 0 = not at all, 1 = in step."""
    small, large = _ends([each for each in few if each.size >= smallest])
    if small.size == large.size or not (small.ours and large.ours):
        return 0.0
    return round(math.log(large.ours / small.ours) / math.log(large.size / small.size), 2)


def _by_id(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {}
    for each in measured:
        found.setdefault(each.id, []).append(each)
    return found


def _ends(few: Sequence[Measured]) -> tuple[Measured, Measured]:
    ordered = sorted(few, key=lambda each: each.size)
    return ordered[0], ordered[-1]
