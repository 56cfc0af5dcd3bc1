"""OVS 3.5 and OVN 25.03 from Debian's next release, run through that release's own loader.

The system's OVS 3.1 dies in its user space connection tracking, and OVN 23.03 loses the answers of a pod that calls
a floating IP of its own router; so these are unpacked into the cache and nothing of the system is replaced.
"""

from pathlib import Path

from mooring.lab import place
from mooring.lab.assets import debian, store

SUITE = "trixie"
PACKAGES = ("openvswitch-switch", "ovn-central", "ovn-host")
_RECIPE = "2"
_PROGRAMS = (
    # not usr/sbin/ovs-vswitchd: that is an alternatives link, which would start the system's own
    "usr/lib/openvswitch-switch/ovs-vswitchd",
    "usr/bin/ovs-appctl",
    "usr/bin/ovs-ofctl",
    "usr/bin/ovs-vsctl",
    "usr/bin/ovn-controller",
    "usr/bin/ovn-nbctl",
    "usr/bin/ovn-northd",
    "usr/bin/ovn-sbctl",
    "usr/bin/ovsdb-client",
    "usr/bin/ovsdb-tool",
    "usr/sbin/ovsdb-server",
)


def folder() -> Path:
    """Where OVS and OVN are, or will be."""
    return place.CACHE / f"ovs-{store.key(SUITE, *PACKAGES, *_PROGRAMS, _RECIPE)}"


def schema(name: str) -> Path:
    """A database schema: `openvswitch/vswitch`, `ovn/ovn-nb`, `ovn/ovn-sb`."""
    return folder() / "root/usr/share" / f"{name}.ovsschema"


def ensure() -> None:
    """Have OVS and OVN in the cache."""
    store.ensure(folder(), _make)


def _make(target: Path) -> None:
    root = debian.unpack(SUITE, PACKAGES, target)
    home = folder() / "root"  # where the draft will stand at the end
    libraries = home / "usr/lib/x86_64-linux-gnu"
    (target / "bin").mkdir()
    for program in _PROGRAMS:
        if not (root / program).exists():
            raise FileNotFoundError(f"{program} is not in Debian's packages {', '.join(PACKAGES)} of {SUITE}")
        wrapper = target / "bin" / Path(program).name
        loader = libraries / "ld-linux-x86-64.so.2"
        wrapper.write_text(f'#!/bin/sh\nexec {loader} --library-path {libraries} {home / program} "$@"\n')
        wrapper.chmod(0o755)
