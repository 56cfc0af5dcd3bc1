"""What a benchmark found."""

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
