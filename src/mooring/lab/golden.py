"""The golden copy: databases, keys and OVN's Northbound rows as they were when the first lab of this kind was ready.

A lab that begins with it has the same objects with the same ids, and nothing to migrate or to create. OVN's
Southbound database is not part of it: northd and the chassis make it anew.
"""

from pathlib import Path

from mooring.lab import place, processes
from mooring.lab.assets import openvswitch, python, store
from mooring.lab.lab import Lab
from mooring.lab.spec import Spec

PIECES = ("mariadb", "fernet", "credential", "ovn-nb.db", "topology.json")
_MAKERS = ("cloud.py", "topology.py", "golden.py", "spec.py", "data/openstack")


def folder(spec: Spec) -> Path:
    """Where the copy for labs of this kind is: it depends on what makes the objects and on how many hosts there are."""
    code = [Path(__file__).parent / name for name in _MAKERS]
    programs = (python.openstack_folder().name, openvswitch.folder().name)
    return (
        place.CACHE / f"golden-{store.key(*code, *programs, f'{spec.nodes} {spec.gateways} {spec.distributed_fips}')}"
    )


def exists(spec: Spec) -> bool:
    """Is there a copy for labs of this kind?"""
    return folder(spec).exists()


def used(lab: Lab) -> bool:
    """Did this lab begin with the copy?"""
    return (lab.place.data / "golden").exists()


def restore(lab: Lab) -> None:
    """Begin with the copy, where there is one."""
    if exists(lab.spec) and not (lab.place.data / "mariadb").exists():
        for piece in PIECES:
            processes.run(["cp", "--archive", "--reflink=auto", folder(lab.spec) / piece, lab.place.data])
        (lab.place.data / "golden").touch()


def keep(lab: Lab) -> None:
    """Make the copy. The database server must have ended; OVN's file may be in use, it only ever grows."""
    store.ensure(folder(lab.spec), lambda draft: _copy(lab.place.data, draft))


def _copy(data: Path, target: Path) -> None:
    for piece in PIECES:
        processes.run(["cp", "--archive", "--reflink=auto", data / piece, target])
