"""A disk on which only what was synced is sure to be there after a crash.

A file has content, a directory gives names to files, and each is synced on its own: to sync a file says nothing of its
name, and to sync the names says nothing of what the files hold. Names change on the disk in the order in which they
were changed.
"""

import random


class _File:
    """What is read from a file now, and what a crash cannot take away."""

    def __init__(self) -> None:
        self.content = b""
        self.sure = b""

    def crash(self, chance: random.Random) -> None:
        """As it was last synced, or empty, or cut, or as it was last written. What was added to may lack only that."""
        if self.content != self.sure:
            least = len(self.sure) if self.content.startswith(self.sure) else 0
            cut = self.content[: chance.randrange(least, len(self.content) + 1)]
            self.content = chance.choice((self.sure, self.content[:least], cut, self.content))
        self.sure = self.content


class Disk:
    """Files by name, in one directory. A write or a rename is seen at once."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._states: list[dict[str, _File]] = [{}]
        """The directory as it was last synced, and after each change since."""

    def read(self, name: str) -> bytes | None:
        file = self._files.get(name)
        return None if file is None else file.content

    def write(self, name: str, content: bytes) -> None:
        """Write a file anew; it stays the same file if there is one of this name."""
        if name not in self._files:
            self._files[name] = _File()
            self._names_changed()
        self._files[name].content = content

    def append(self, name: str, content: bytes) -> None:
        self._files[name].content += content

    def rename(self, old: str, new: str) -> None:
        self._files[new] = self._files.pop(old)
        self._names_changed()

    def sync(self, name: str) -> None:
        """Make sure what a file holds, by whatever name it is found then."""
        file = self._files[name]
        file.sure = file.content

    def sync_names(self) -> None:
        """Make sure which names there are, and which file each stands for."""
        self._states = [dict(self._files)]

    def crash(self, chance: random.Random) -> None:
        """Of the changes of names the first few were made, or none; each file that was not synced has its fate."""
        self._files = dict(chance.choice(self._states))
        for name in sorted(self._files):
            self._files[name].crash(chance)
        self.sync_names()

    def _names_changed(self) -> None:
        self._states.append(dict(self._files))
