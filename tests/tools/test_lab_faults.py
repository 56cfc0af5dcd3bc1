"""Breaking a lab on purpose: what can be broken is found, what cannot is answered with what could be."""

import signal

import msgspec
import pytest

from mooring.lab import faults
from mooring.lab.errors import LabError, PartError
from mooring.lab.lab import Lab
from mooring.lab.topology import NeutronPort, Topology


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("KILL", signal.SIGKILL),
        ("SIGKILL", signal.SIGKILL),
        ("kill", signal.SIGKILL),
        ("9", signal.SIGKILL),
        ("sigTerm", signal.SIGTERM),
        ("HUP", signal.SIGHUP),
        ("USR1", signal.SIGUSR1),
    ],
)
def test_a_signal_by_its_name(name: str, number: int) -> None:
    assert faults.signal_number(name) == number


@pytest.mark.parametrize("name", ["", "SIG", "NONSENSE", "99", "SIGSIGKILL", "_DFL", "KILL "])
def test_a_signal_that_does_not_exist_is_answered_with_those_that_do(name: str) -> None:
    with pytest.raises(LabError) as refused:
        faults.signal_number(name)
    assert refused.value.what == f"there is no signal {name}"
    assert {"KILL", "TERM", "HUP", "STOP"} <= set(refused.value.hint.removeprefix("there are: ").split(", "))


def port(number: int) -> NeutronPort:
    return NeutronPort(id=f"{number:08}-1111-2222", mac="fa:16:3e:00:00:01", mtu=1442, addresses=(), gateways=())


def plug(lab: Lab) -> None:
    """Neutron's ports, as they are once the cloud is up."""
    ports = {name: port(number) for number, name in enumerate((*lab.spec.gateway_names, *lab.spec.node_names))}
    there = Topology(project="p", networks={}, subnets={}, router="r", router_outside=[], groups={}, ports=ports)
    lab.place.topology.write_bytes(msgspec.json.encode(there))


def test_every_cable_can_be_pulled(lab: Lab) -> None:
    found = faults.links(lab)
    assert found["control", "eth0"] == ("wire", "control-eth0")
    assert found["x1", "ext0"] == ("wire", "x1-ext0")
    assert found["gw1", "eth1"] == ("wire", "gw1-eth1")
    assert len(found) == len(list(lab.spec.cables()))


def test_legs_in_ovn_can_be_pulled_once_they_are_there(lab: Lab) -> None:
    before = faults.links(lab)
    plug(lab)
    legs = {link: end for link, end in faults.links(lab).items() if link not in before}
    assert legs == {
        ("gw1", "eth0"): ("n1", "tap00000000-11"),
        ("gw2", "eth0"): ("n2", "tap00000001-11"),
        ("n1", "ovn0"): ("n1", "tap00000002-11"),
        ("n2", "ovn0"): ("n2", "tap00000003-11"),
    }
    assert all(len(name) <= 15 for _, name in faults.links(lab).values())
    assert len(set(faults.links(lab).values())) == len(faults.links(lab))


def test_a_host_that_does_not_exist(lab: Lab) -> None:
    with pytest.raises(LabError) as refused:
        faults.cut(lab, "n3", "eth0")
    assert refused.value.what == f"lab {lab.spec.name} has no host n3"
    assert refused.value.hint == "there are: wire, control, client, x1, n1, n2, gw1, gw2"


@pytest.mark.parametrize(("host", "own"), [("n1", "eth0, tun0"), ("gw1", "eth1"), ("wire", "none")])
def test_a_link_that_a_host_does_not_have(host: str, own: str, lab: Lab) -> None:
    with pytest.raises(LabError) as refused:
        faults.cut(lab, host, "eth7")
    assert refused.value.what == f"host {host} has no link eth7 that can be cut"
    assert refused.value.hint == f"there are: {own}"
    assert faults.heal(lab) == []


def test_healing_a_host_that_does_not_exist_is_refused(lab: Lab) -> None:
    with pytest.raises(LabError, match="has no host n3"):
        faults.heal(lab, "n3")


def test_nothing_was_cut(lab: Lab) -> None:
    assert faults.heal(lab) == []
    assert faults.heal(lab, "n1") == []


@pytest.mark.parametrize("part", ["nonsense", "cables"])
def test_a_part_without_a_process_cannot_be_hit(part: str, lab: Lab) -> None:
    for act in (faults.kill, faults.freeze):
        with pytest.raises(LabError, match=f"has no part {part} with a process"):
            act(lab, part, signal.SIGSTOP)


def test_a_part_that_does_not_run_cannot_be_hit(lab: Lab) -> None:
    for act in (faults.kill, faults.freeze):
        with pytest.raises(PartError, match="etcd: is not running"):
            act(lab, "etcd", signal.SIGSTOP)
