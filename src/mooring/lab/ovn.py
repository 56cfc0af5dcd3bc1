"""OVN: the two databases and northd on the control plane, and on each chassis OVS in user space with ovn-controller."""

import os
from functools import partial
from pathlib import Path

from mooring.lab import processes, servers
from mooring.lab.assets import openvswitch
from mooring.lab.lab import Lab
from mooring.lab.parts import Part
from mooring.lab.spec import Spec

NB_PORT, SB_PORT = 6641, 6642
_QUIET = ("-vconsole:warn", "-vsyslog:off", "-vfile:off")


def parts(spec: Spec) -> list[Part]:
    """Databases, northd, and three processes per chassis."""
    central = [
        Part(
            "ovn-nb",
            partial(start_database, name="nb", port=NB_PORT),
            needs=("cables", "certificates", "ovs-binaries"),
            after=("databases",),  # the golden copy holds the Northbound rows
            group="ovn",
        ),
        Part(
            "ovn-sb",
            partial(start_database, name="sb", port=SB_PORT),
            needs=("cables", "certificates", "ovs-binaries"),
            after=("databases",),  # the golden copy holds the Northbound rows
            group="ovn",
        ),
        Part("ovn-northd", start_northd, needs=("ovn-nb", "ovn-sb"), group="ovn"),
    ]
    for chassis in spec.chassis_names:
        central += [
            Part(
                f"ovsdb-{chassis}", partial(start_ovsdb, chassis=chassis), needs=("cables", "ovs-binaries"), group="ovn"
            ),
            Part(
                f"vswitchd-{chassis}",
                partial(start_vswitchd, chassis=chassis),
                needs=(f"ovsdb-{chassis}",),
                group="ovn",
            ),
            Part(
                f"ovn-controller-{chassis}",
                partial(start_controller, chassis=chassis),
                needs=(f"vswitchd-{chassis}", "ovn-northd", "certificates"),
                group="ovn",
            ),
        ]
    return central


def start_database(lab: Lab, *, name: str, port: int) -> None:
    """Northbound or Southbound: by a Unix socket for the control plane, by TLS for everybody else."""
    part, file = f"ovn-{name}", lab.place.data / f"ovn-{name}.db"
    if not file.exists():
        processes.run([lab.ovs("ovsdb-tool"), "create", file, openvswitch.schema(f"ovn/ovn-{name}")])
    pair = lab.authority.issue(part, part, addresses=[lab.control])
    socket = _fresh(lab.socket(part))
    lab.spawn(
        part,
        [
            lab.ovs("ovsdb-server"),
            file,
            f"--remote=punix:{socket}",
            f"--remote=pssl:{port}:{lab.control}",
            f"--private-key={pair.key}",
            f"--certificate={pair.certificate}",
            f"--ca-cert={lab.authority.certificate}",
            f"--unixctl={_fresh(lab.place.run / (part + '.ctl'))}",
            *_QUIET,
        ],
        host="control",
    )
    lab.wait(part, partial(servers.listens, socket), seconds=20, what=f"{part} to listen")


def start_northd(lab: Lab) -> None:
    """Translates Northbound into Southbound."""
    databases = [f"--ovn{name}-db=unix:{lab.socket('ovn-' + name)}" for name in ("nb", "sb")]
    control = _fresh(lab.place.run / "ovn-northd.ctl")
    lab.spawn("ovn-northd", [lab.ovs("ovn-northd"), *databases, f"--unixctl={control}", *_QUIET], host="control")
    lab.wait("ovn-northd", partial(servers.listens, control), seconds=20, what="northd to listen")
    nbctl(lab, "--wait=sb", "init")


def nbctl(lab: Lab, *argv: str) -> str:
    """Run ovn-nbctl."""
    return processes.run([lab.ovs("ovn-nbctl"), "--timeout=120", f"--db=unix:{lab.socket('ovn-nb')}", *argv])


def sbctl(lab: Lab, *argv: str) -> str:
    """Run ovn-sbctl."""
    return processes.run([lab.ovs("ovn-sbctl"), "--timeout=120", f"--db=unix:{lab.socket('ovn-sb')}", *argv])


def start_ovsdb(lab: Lab, *, chassis: str) -> None:
    """The configuration database of a chassis."""
    file = lab.place.data / f"ovs-{chassis}.db"
    if not file.exists():
        processes.run([lab.ovs("ovsdb-tool"), "create", file, openvswitch.schema("openvswitch/vswitch")])
    socket = _fresh(lab.runtime(chassis) / "db.sock")
    control = _fresh(lab.place.run / f"ovsdb-{chassis}.ctl")
    lab.spawn(
        f"ovsdb-{chassis}",
        [lab.ovs("ovsdb-server"), file, f"--remote=punix:{socket}", f"--unixctl={control}", *_QUIET],
        host=chassis,
    )
    lab.wait(f"ovsdb-{chassis}", partial(servers.listens, socket), seconds=20, what="ovsdb to listen")
    lab.vsctl(chassis, "--no-wait", "init")


def start_vswitchd(lab: Lab, *, chassis: str) -> None:
    """The switch itself, and the bridges that belong to the machine: tunnel underlay and outside network."""
    part = f"vswitchd-{chassis}"
    folder = lab.runtime(chassis)
    control = _fresh(lab.place.run / f"{part}.ctl")
    argv: list[str | Path] = [
        lab.ovs("ovs-vswitchd"),
        f"unix:{folder}/db.sock",
        f"--unixctl={control}",
        *_QUIET,
    ]
    lab.spawn(part, argv, host=chassis, env={"OVS_RUNDIR": str(folder)})
    lab.wait(part, partial(servers.listens, control), seconds=20, what="vswitchd to listen")
    # tunnels of the user space datapath need their address on a bridge that holds the underlay device
    _bridge(lab, chassis, "br-phy", "tun0")
    lab.hosts.ip(
        chassis, f"addr replace {lab.spec.tunnel(chassis)}/24 dev br-phy", "link set br-phy up", "link set tun0 up"
    )
    # The kernel too hears what OVS receives by tun0. Were it to answer there for the address of br-phy, others would
    # now and then send their tunnels' packets to tun0 itself, where OVS does not take them for its own.
    lab.hosts.sysctl(chassis, net__ipv4__conf__tun0__arp_ignore=1)
    if lab.spec.is_outside(chassis):
        _bridge(lab, chassis, "br-ex", "ext0")
        lab.hosts.ip(chassis, "link set ext0 up")


def start_controller(lab: Lab, *, chassis: str) -> None:
    """Connects a chassis to the Southbound database, by TLS over the management network."""
    spec, part = lab.spec, f"ovn-controller-{chassis}"
    ids = {
        "system-id": chassis,
        "hostname": chassis,
        "ovn-remote": f"ssl:{lab.control}:{SB_PORT}",
        "ovn-encap-type": "geneve",
        "ovn-encap-ip": spec.tunnel(chassis),
        "ovn-bridge-datapath-type": "netdev",
    }
    if spec.is_outside(chassis):
        ids |= {"ovn-bridge-mappings": "physnet1:br-ex"}
    if chassis == "x1":
        ids |= {"ovn-cms-options": "enable-chassis-as-gw"}
    lab.vsctl(chassis, "set", "open", ".", *(f'external_ids:{key}="{value}"' for key, value in ids.items()))
    pair = lab.authority.issue(part, chassis, addresses=[spec.management(chassis)])
    tls = [f"--private-key={pair.key}", f"--certificate={pair.certificate}", f"--ca-cert={lab.authority.certificate}"]
    folder = lab.runtime(chassis)
    argv: list[str | Path] = [
        lab.ovs("ovn-controller"),
        f"unix:{folder}/db.sock",
        *tls,
        f"--unixctl={_fresh(lab.place.run / (part + '.ctl'))}",
        *_QUIET,
    ]
    lab.spawn(part, argv, host=chassis, env={"OVS_RUNDIR": str(folder), "OVN_RUNDIR": str(folder)})
    lab.wait(
        part,
        lambda: sbctl(lab, "--bare", "--columns=name", "find", "chassis", f"name={chassis}").strip() != "",
        seconds=30,
        what=f"chassis {chassis} to register",
    )


def _bridge(lab: Lab, chassis: str, bridge: str, device: str) -> None:
    lab.vsctl(
        chassis,
        "--may-exist",
        "add-br",
        bridge,
        "--",
        "set",
        "bridge",
        bridge,
        "datapath_type=netdev",
        "--",
        "--may-exist",
        "add-port",
        bridge,
        device,
    )


def _fresh(socket: Path) -> Path:
    """The place of a socket, cleared of what an earlier process left, so that its existence means something."""
    if os.path.lexists(socket):
        socket.unlink()
    return socket
