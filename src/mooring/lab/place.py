"""Where a lab keeps its files, and where all labs share what is expensive to make."""

import os
from pathlib import Path

import msgspec

from mooring.lab.errors import LabError
from mooring.lab.spec import name_problem

STATE = Path(os.environ.get("MOORING_STATE", "/var/lib/mooring"))
CACHE = Path(os.environ.get("MOORING_CACHE", "/var/cache/mooring"))
DATA = Path(__file__).parent / "data"

# Unix sockets have room for 107 characters; the longest of ours, below a lab's folder, has 40.
LONGEST_ROOT = 66


class Place(msgspec.Struct, frozen=True):
    """The folders of one lab; all that it ever writes lies below `root`."""

    root: Path

    @property
    def log(self) -> Path:
        """What the parts wrote."""
        return self.root / "log"

    @property
    def run(self) -> Path:
        """Sockets, and one record per process."""
        return self.root / "run"

    @property
    def etc(self) -> Path:
        """Configuration files, made anew at each start."""
        return self.root / "etc"

    @property
    def pki(self) -> Path:
        """The lab's own certificate authority and what it signed."""
        return self.root / "pki"

    @property
    def data(self) -> Path:
        """Databases and container roots."""
        return self.root / "data"

    @property
    def spec(self) -> Path:
        """What the lab was asked to be."""
        return self.root / "spec.json"

    @property
    def ready(self) -> Path:
        """Written when everything was up; holds the times."""
        return self.root / "ready.json"

    @property
    def topology(self) -> Path:
        """Ids and addresses of the OpenStack objects that the lab was given."""
        return self.data / "topology.json"

    @property
    def kubeconfig(self) -> Path:
        """For people: cluster administrator."""
        return self.etc / "kubeconfig"

    @property
    def clouds(self) -> Path:
        """For people: OpenStack clouds `admin` and `mooring`."""
        return self.etc / "clouds.yaml"

    def log_of(self, part: str) -> Path:
        """The log file of a part."""
        return self.log / f"{part}.log"

    def make(self) -> None:
        """Create the folders."""
        for folder in (self.log, self.run, self.etc, self.pki, self.data):
            folder.mkdir(parents=True, exist_ok=True)


def labs_folder() -> Path:
    """Where all labs have their folders."""
    return STATE / "labs"


def place_of(name: str) -> Place:
    """The folders of the lab of that name, whether it exists or not."""
    if problem := name_problem(name):
        raise LabError(problem)
    return Place(labs_folder() / name)


def lab_names() -> list[str]:
    """Labs that have left files on this machine, running or not."""
    folder = labs_folder()
    if not folder.exists():
        return []
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not name_problem(entry.name))
