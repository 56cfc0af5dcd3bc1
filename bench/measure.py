"""What a benchmark found, and what was hoped for."""

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
        """How many times cheaper ours is."""
        return round(self.peer / self.ours, 2)


class Goal(msgspec.Struct, frozen=True):
    """What we must not exceed, in every figure whose id begins so, at a size or (0) at all of them."""

    id: str
    most: float
    size: int = 0

    def missed(self, each: Measured) -> bool:
        return each.id.startswith(self.id) and self.size in {0, each.size} and each.ours > self.most
