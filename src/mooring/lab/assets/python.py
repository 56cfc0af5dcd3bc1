"""The environments of other people's Python: OpenStack in one of its own, from a list that is locked by hash."""

import sys
from pathlib import Path

import uv

from mooring.lab import place, processes
from mooring.lab.assets import store

_LOCK = place.DATA / "openstack/requirements.txt"


def openstack_folder() -> Path:
    """Where OpenStack is, or will be."""
    return place.CACHE / f"openstack-{store.key(_LOCK, sys.version)}"


def ensure_openstack() -> None:
    """Have OpenStack in the cache, compiled: four of its services start on two cores."""
    folder = openstack_folder()
    with store.locked(folder.name):
        if (
            folder / "complete"
        ).exists():  # an environment knows its own path, so it cannot be made elsewhere and moved
            return
        install(_LOCK, folder)
        (folder / "complete").touch()


def install(lock: Path, folder: Path) -> None:
    """Make an environment from a locked list."""
    tool = uv.find_uv_bin()
    processes.run([tool, "venv", "--quiet", "--clear", "--python", sys.executable, folder])
    sync = [
        tool,
        "pip",
        "sync",
        "--quiet",
        "--require-hashes",
        "--compile-bytecode",
        "--python",
        f"{folder}/bin/python",
    ]
    processes.run([*sync, lock])
