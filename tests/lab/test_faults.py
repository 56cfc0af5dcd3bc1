"""What breaks is noticed and told; what was broken on purpose can be mended."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mooring.lab import faults, lifecycle, report, servers, waiting
from mooring.lab.errors import LabError, PartError
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec
from tests.lab import probe
from tests.lab.octavia import balanced
from tests.lab.tenant import Tenant

MOORING = str(Path(sys.executable).parent / "mooring")
SLICE = ("etcd", "kube-apiserver", "kubelet-n1", "neutron", "octavia-driver-agent", "vswitchd-n2", "mariadb", "ovn-sb")
KILL, STOP, CONT = faults.signal_number("KILL"), faults.signal_number("STOP"), faults.signal_number("CONT")


def states(lab: Lab) -> dict[str, str]:
    return {part.part: part.state for part in report.observe(lab).parts if part.state != "running"}


def mooring(lab: Lab, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [MOORING, "lab", argv[0], "--name", lab.spec.name, *argv[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class World(NamedTuple):
    """What has to work for the world to work: addresses of a Service inside, and of a load balancer outside."""

    inside: str
    inside6: str
    outside: str


@pytest.fixture(scope="module")
def world(lab: Lab) -> Iterator[World]:
    tenant = Tenant(lab, "world")
    tenant.create()
    tenant.deploy("web", replicas=2)
    service = tenant.expose("web", port=80, target=8080)["spec"]
    with balanced(tenant, service["ports"][0]["nodePort"]) as outside:
        yield World(service["clusterIPs"][0], f"[{service['clusterIPs'][1]}]", outside)
    tenant.delete()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Which parts die: all that have a process with --whole, a fixed slice of them otherwise."""
    if "mortal" in metafunc.fixturenames:
        every = [
            part.name for part in lifecycle.wanted_parts(Spec()) if part.process and not part.name.startswith("host-")
        ]
        metafunc.parametrize("mortal", every if metafunc.config.getoption("--whole") else SLICE)


def test_a_part_that_dies_is_noticed_and_after_up_packets_flow_again(lab: Lab, world: World, mortal: str) -> None:
    faults.kill(lab, mortal, KILL)
    waiting.until(lambda: states(lab) == {mortal: "dead"}, seconds=10, what=f"{mortal} to be dead, and nothing else")
    shown = mooring(lab, "status")
    assert shown.returncode == 1
    assert f"{mortal} " in shown.stdout
    assert f"`mooring lab up --name {lab.spec.name}` starts again what has died" in shown.stdout
    lifecycle.up(lab.spec, PlainProgress())
    assert states(lab) == {}
    assert probe.first_answer(lab, "n1", world.inside).startswith("web-")
    assert probe.first_answer(lab, "n2", world.inside6).startswith("web-")
    assert probe.first_answer(lab, "client", world.outside).startswith("web-")


def test_many_parts_that_died_together_come_back_in_their_order(lab: Lab, tenant: Tenant, world: World) -> None:
    for part in ("mariadb", "keystone", "neutron", "octavia", "octavia-driver-agent", "ovn-nb", "ovn-sb", "ovn-northd"):
        faults.kill(lab, part, KILL)
    took = {each.part: each for each in lifecycle.up(lab.spec, PlainProgress())}
    neutron = took["neutron"]
    assert took["octavia-driver-agent"].began >= neutron.began + neutron.seconds
    assert states(lab) == {}
    assert probe.first_answer(lab, "client", world.outside).startswith("web-")
    tenant.deploy("new", image="web")
    node_port = tenant.expose("new", port=80, target=8080)["spec"]["ports"][0]["nodePort"]
    with balanced(tenant, node_port) as address:
        assert probe.first_answer(lab, "client", address).startswith("new-")


def test_a_part_is_started_by_one_command_at_a_time(lab: Lab) -> None:
    commands = [
        subprocess.Popen([MOORING, "lab", "restart", "--name", lab.spec.name, "kube-scheduler"], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    said = [command.communicate()[1].decode() for command in commands]
    assert sum(command.returncode == 0 for command in commands) >= 1
    refused = [each for each in said if each]
    assert all(f"another command is starting parts of lab {lab.spec.name}" in each for each in refused)
    assert states(lab) == {}


def test_containers_outlive_containerd(lab: Lab, tenant: Tenant) -> None:
    tenant.deploy("web", replicas=2)
    before = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in tenant.get("pods")["items"]}
    faults.kill(lab, "containerd-n1", KILL)
    assert all(probe.get(lab, "gw1", address, 8080) == name for name, address in before.items())
    lifecycle.restart(lab, "containerd-n1", PlainProgress())
    pods = tenant.get("pods")["items"]
    assert {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in pods} == before
    assert sum(status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"]) == 0


def test_a_paused_part_is_silent_until_it_is_resumed(lab: Lab) -> None:
    ready = f"https://{lab.control}:6443/readyz"
    faults.freeze(lab, "kube-apiserver", STOP)
    assert states(lab) == {"kube-apiserver": "paused"}
    assert not servers.answers(ready, ca=lab.authority.certificate)
    faults.freeze(lab, "kube-apiserver", CONT)
    waiting.until(lambda: servers.answers(ready, ca=lab.authority.certificate), seconds=20, what="an answer")
    assert states(lab) == {}


@pytest.mark.parametrize(("host", "link"), [("n1", "eth0"), ("gw1", "eth1"), ("gw1", "eth0"), ("n2", "ovn0")])
def test_a_cut_cable_is_cut_until_it_is_healed(lab: Lab, host: str, link: str) -> None:
    def carrier() -> bool:
        return "NO-CARRIER" not in lab.hosts.run(host, ["ip", "link", "show", "dev", link])

    assert carrier()
    faults.cut(lab, host, link)
    waiting.until(lambda: not carrier(), seconds=5, what="no carrier")
    assert f"{host} {link}" in mooring(lab, "status").stdout
    assert faults.heal(lab, host) == [f"{host} {link}"]
    waiting.until(carrier, seconds=5, what="carrier")
    assert faults.heal(lab) == []


def test_wrong_names_are_answered_with_the_right_ones(lab: Lab) -> None:
    with pytest.raises(LabError, match="no part etcd9") as refused:
        faults.kill(lab, "etcd9", KILL)
    assert "kube-apiserver" in refused.value.hint
    with pytest.raises(LabError, match="no host n9") as refused:
        faults.cut(lab, "n9", "eth0")
    assert "gw1" in refused.value.hint
    with pytest.raises(LabError, match="no link eth7") as refused:
        faults.cut(lab, "n1", "eth7")
    assert "ovn0" in refused.value.hint


def test_a_part_that_cannot_start_is_told_with_the_end_of_its_log(lab: Lab) -> None:
    broken = lab.place.pki / "kube-apiserver.crt"
    good = broken.read_text()
    broken.write_text("no certificate")
    try:
        with pytest.raises(PartError) as failure:
            lifecycle.restart(lab, "kube-apiserver", PlainProgress())
        assert failure.value.part == "kube-apiserver"
        assert any("failed to find any PEM data" in line for line in failure.value.log_tail())
        assert f"mooring lab logs --name {lab.spec.name} kube-apiserver" in failure.value.hint
    finally:
        broken.write_text(good)
        lifecycle.up(lab.spec, PlainProgress())
    assert states(lab) == {}
