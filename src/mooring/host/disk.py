"""A folder on a real disk, with the steps that a crash can come between: write, sync, rename, sync the names.

Knows nothing of what the files are for.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mooring.host.errors import HostError


class DiskError(HostError):
    """A file cannot be written or read. The text says which one and why."""


class Disk(Protocol):
    """Files by name, in one folder."""

    def read(self, name: str) -> bytes | None:
        """What a file holds; None, if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file anew; what it held is gone."""

    def append(self, name: str, content: bytes) -> None:
        """Write at the end of a file that is there."""

    def rename(self, old: str, new: str) -> None:
        """Let a file stand in the place of another."""

    def sync(self, name: str) -> None:
        """Make sure what a file holds."""

    def sync_names(self) -> None:
        """Make sure which file each name stands for."""


class Folder:
    """A folder that is made with the first file. Only its owner may read in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> bytes | None:
        with _told(self._path / name):
            try:
                return (self._path / name).read_bytes()
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        with _told(self._path / name):
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._path / name).write_bytes(content)

    def append(self, name: str, content: bytes) -> None:
        with _told(self._path / name):
            descriptor = os.open(self._path / name, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                written = os.write(descriptor, content)
            finally:
                os.close(descriptor)
            if written < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def rename(self, old: str, new: str) -> None:
        with _told(self._path / new):
            (self._path / old).rename(self._path / new)

    def sync(self, name: str) -> None:
        with _told(self._path / name):
            _sync(self._path / name)

    def sync_names(self) -> None:
        with _told(self._path):
            _sync(self._path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror or error}") from error
