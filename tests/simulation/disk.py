"""A disk on which only what was synced is sure to be there after a crash."""

import random


class Disk:
    """Files by name. A write or a rename is seen at once; a crash may undo all that was not synced, in any mixture."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}
        self._sure: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self._seen.get(name)

    def write(self, name: str, content: bytes) -> None:
        self._seen[name] = content

    def rename(self, old: str, new: str) -> None:
        self._seen[new] = self._seen.pop(old)

    def sync(self, name: str) -> None:
        """Make a file's content sure under the name that it has."""
        self._sure[name] = self._seen[name]

    def sync_names(self) -> None:
        """Make the renames sure. What a file that was not synced holds stays open: it may turn out empty."""
        for name in list(self._sure):
            if name not in self._seen:
                del self._sure[name]
        for name, content in self._seen.items():
            self._sure.setdefault(name, content)

    def crash(self, chance: random.Random) -> None:
        """Each file is as it was last synced, or as it was last written, or cut."""
        after = dict(self._sure)
        for name in sorted(self._seen.keys() | self._sure.keys()):
            new = self._seen.get(name)
            if new == self._sure.get(name):
                continue
            fate = chance.randrange(3)
            if fate == 0 and new is not None:
                after[name] = new
            elif fate == 1 and new is not None and name not in self._sure:
                after[name] = new[: chance.randrange(len(new) + 1)]
        self._seen = after
        self._sure = dict(after)
