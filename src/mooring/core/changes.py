"""Whose forwards may be others than they were when they were last made."""

from collections.abc import Iterable

from mooring.model.kubernetes import Name


class Changes:
    """Some Services', or everybody's, as at the beginning. Mutable, owned by one task."""

    def __init__(self) -> None:
        self._names: set[Name] | None = None

    def add(self, names: Iterable[Name]) -> None:
        if self._names is not None:
            self._names.update(names)

    def add_everybody(self) -> None:
        self._names = None

    def take(self) -> frozenset[Name] | None:
        """Those since the last time; None: everybody's."""
        names, self._names = self._names, set()
        return None if names is None else frozenset(names)
