"""A folder for one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.host.errors import HostError

NAME = "lock"


class Locked(HostError):
    """Somebody else has it."""


def is_held(folder: Path) -> bool:
    """Whether somebody has the folder for himself. Changes nothing there."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Locked(f"{folder / NAME}: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Have a folder for oneself; the kernel lets go of it when the process ends, however that is."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Locked(f"{folder / NAME}: {error.strerror or error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise Locked(
            f"another agent works with {folder}; end it first, or set agent.state to another folder"
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)
