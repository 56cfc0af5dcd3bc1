"""What breaks is noticed and told; what was broken on purpose can be mended."""

import subprocess
import sys
from pathlib import Path

import pytest

from mooring.lab import faults, lifecycle, report, servers, waiting
from mooring.lab.errors import LabError, PartError
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from tests.lab import probe
from tests.lab.tenant import Tenant

KILL, STOP, CONT = faults.signal_number("KILL"), faults.signal_number("STOP"), faults.signal_number("CONT")


def states(lab: Lab) -> dict[str, str]:
    return {part.part: part.state for part in report.observe(lab).parts if part.state != "running"}


def mooring(lab: Lab, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "mooring"), "lab", argv[0], "--name", lab.spec.name, *argv[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "part",
    ["etcd", "kube-apiserver", "kubelet-n1", "neutron", "octavia-driver-agent", "vswitchd-n2", "mariadb", "ovn-sb"],
)
def test_a_part_that_dies_is_noticed_and_up_starts_it_again(lab: Lab, part: str) -> None:
    faults.kill(lab, part, KILL)
    waiting.until(lambda: states(lab) == {part: "dead"}, seconds=10, what=f"{part} to be dead, and nothing else")
    shown = mooring(lab, "status")
    assert shown.returncode == 1
    assert f"{part} " in shown.stdout
    assert "dead" in shown.stdout
    lifecycle.up(lab.spec, PlainProgress())
    assert states(lab) == {}


def test_the_world_works_after_the_deaths_of_its_parts(lab: Lab, tenant: Tenant) -> None:
    """Comes after the test above: whatever was killed there is really back."""
    tenant.deploy("web", replicas=2)
    address = tenant.expose("web", port=80, target=8080)["spec"]["clusterIP"]
    assert probe.first_answer(lab, "n1", address).startswith("web-")
    port = tenant.cloud().network.create_ip(
        floating_network_id=next(iter(tenant.cloud().network.networks(name="public"))).id
    )
    assert port.floating_ip_address.startswith("203.0.113.")


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
