"""One lab, as its parts see it: its spec, files, hosts and processes. Opens nothing and starts nothing by itself."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from mooring.host.certificates import Authority
from mooring.lab import processes
from mooring.lab.assets import golang, openvswitch, python
from mooring.lab.cage import Cage
from mooring.lab.errors import CommandError, LabError
from mooring.lab.hosts import Hosts
from mooring.lab.place import Place, place_of
from mooring.lab.processes import Processes, Record
from mooring.lab.spec import Spec
from mooring.lab.waiting import Condition


class Lab:
    """Handed to every part when it starts."""

    def __init__(self, spec: Spec, place: Place) -> None:
        self.spec = spec
        self.place = place
        self.cage = Cage(spec.name)
        self.processes = Processes(place, self.cage)
        self.hosts = Hosts(spec, self.processes, place)
        self.authority = Authority(place.pki)

    @property
    def control(self) -> str:
        """The address of the control plane."""
        return self.spec.management("control")

    def program(self, name: str) -> Path:
        """A program that we built: Kubernetes, etcd or CoreDNS."""
        return golang.folder_of(name, assets=self.spec.assets) / name

    def ovs(self, name: str) -> Path:
        """A program of OVS or OVN."""
        return openvswitch.folder() / "bin" / name

    def openstack(self, name: str) -> Path:
        """A program of the OpenStack environment."""
        return python.openstack_folder() / "bin" / name

    def socket(self, name: str) -> Path:
        """A Unix socket of the lab."""
        return self.place.run / f"{name}.sock"

    def runtime(self, chassis: str) -> Path:
        """Where OVS of a chassis has its sockets."""
        folder = self.place.run / chassis
        folder.mkdir(exist_ok=True)
        return folder

    def spawn(
        self, part: str, argv: Sequence[str | Path], *, host: str, env: Mapping[str, str] | None = None
    ) -> Record:
        """Start a part's process in a host."""
        return self.processes.spawn(part, [*self.hosts.enter(host), *argv], host=host, env=env)

    def wait(self, part: str, condition: Condition, *, seconds: float, what: str) -> None:
        """Wait until a part does what it is there for."""
        self.processes.wait(part, condition, seconds=seconds, what=what)

    def answers_in(self, host: str, url: str, *options: str | Path) -> bool:
        """Does a server answer well to somebody in its own host?"""
        try:
            self.hosts.run(
                host, ["curl", "--silent", "--fail", "--max-time", "5", "--output", "/dev/null", *options, url]
            )
        except CommandError:
            return False
        return True

    def kubectl(self, *argv: str, stdin: str = "") -> str:
        """Run kubectl as cluster administrator."""
        return processes.run([self.program("kubectl"), f"--kubeconfig={self.place.kubeconfig}", *argv], stdin=stdin)

    def vsctl(self, chassis: str, *argv: str) -> str:
        """Run ovs-vsctl against a chassis."""
        return processes.run(
            [self.ovs("ovs-vsctl"), "--timeout=120", f"--db=unix:{self.runtime(chassis)}/db.sock", *argv]
        )


def open_lab(name: str) -> Lab:
    """A lab that was made before."""
    place = place_of(name)
    if not place.spec.exists():
        raise LabError(f"there is no lab {name}", hint=f"`mooring lab up --name {name}` makes one")
    try:
        spec = msgspec.json.decode(place.spec.read_bytes(), type=Spec)
    except msgspec.DecodeError as error:
        hint = f"`mooring lab down --name {name}` removes what is left of that lab"
        raise LabError(f"{place.spec} cannot be read: {error}", hint=hint) from error
    return Lab(spec, place)
