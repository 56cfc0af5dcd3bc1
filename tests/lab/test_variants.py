"""Labs of other shapes than the usual one."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mooring.lab import commands, gateways, golden, lifecycle, ovn, report
from mooring.lab.assets import golang
from mooring.lab.errors import LabError, PartError
from mooring.lab.lab import Lab, open_lab
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec
from tests.lab.gateway_path import connections_kept
from tests.lab.tenant import Tenant

NAME = "variant"


@pytest.fixture
def none_left() -> Iterator[None]:
    lifecycle.down(NAME)
    yield
    lifecycle.down(NAME)


def up(spec: Spec) -> Lab:
    lifecycle.up(spec, PlainProgress())
    return open_lab(NAME)


@pytest.fixture
def binaries(tmp_path: Path) -> Path:
    """A folder of somebody's own with all programs that we would build."""
    for program in (*golang.KUBERNETES, *golang.COREDNS):
        (tmp_path / program).symlink_to(golang.folder_of(program) / program)
    return tmp_path


@pytest.mark.usefixtures("none_left")
def test_kubernetes_alone_on_one_node_from_binaries_that_somebody_has(lab: Lab, binaries: Path) -> None:
    assert lab.spec.name != NAME  # the fixture's lab has built them
    lab = up(Spec(name=NAME, nodes=1, gateways=1, without=("openstack", "ovn"), assets=str(binaries)))
    assert report.observe(lab).whole
    assert lab.kubectl("get", "nodes", "--output=name").split() == ["node/n1"]
    assert "OS_CLOUD" not in report.environment(lab)
    assert {"keystone", "ovn-nb", "keepalived-gw1"}.isdisjoint(part.part for part in report.observe(lab).parts)


@pytest.mark.usefixtures("none_left")
def test_reset_makes_a_lab_as_it_was_when_it_was_new() -> None:
    lab = up(Spec(name=NAME, nodes=1, gateways=1, without=("openstack", "ovn")))
    lab.kubectl("create", "namespace", "mine")
    done = CliRunner().invoke(commands.lab, ["reset", "--name", NAME])
    assert done.exit_code == 0, done.output
    assert open_lab(NAME).spec == lab.spec
    assert "mine" not in open_lab(NAME).kubectl("get", "namespaces")


@pytest.mark.usefixtures("none_left")
def test_a_program_that_ends_at_once_is_told_as_the_part_that_failed(lab: Lab, binaries: Path) -> None:
    assert lab.spec.name != NAME
    broken = binaries / "kube-proxy"
    broken.unlink()
    broken.write_text("#!/bin/sh\necho no address for me\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(PartError) as failure:
        up(Spec(name=NAME, nodes=1, gateways=1, without=("openstack", "ovn"), assets=str(binaries)))
    assert failure.value.part == "kube-proxy-n1"
    assert failure.value.log_tail() == ["no address for me"]


@pytest.mark.usefixtures("none_left")
def test_a_lab_that_lost_a_host_is_made_anew_and_says_so() -> None:
    lab = up(Spec(name=NAME, nodes=1, gateways=1, without=("openstack", "ovn")))
    lab.processes.signal("host-n1", signal.SIGKILL, whole_group=True)
    assert "what is in it is lost" in "".join(report.advice(report.observe(lab)))
    done = CliRunner().invoke(commands.lab, ["up", "--name", NAME])  # keeps the options that it has
    assert done.exit_code == 0, done.output
    assert "have died (n1): it is made anew, with nothing in it" in done.output
    assert report.observe(open_lab(NAME)).whole
    assert open_lab(NAME).spec == lab.spec


@pytest.mark.usefixtures("none_left")
def test_openstack_alone_with_three_chassis_and_gateways_without_a_golden_copy() -> None:
    spec = Spec(name=NAME, nodes=3, gateways=3, without=("kubernetes", "octavia"))
    shutil.rmtree(golden.folder(spec), ignore_errors=True)
    lab = up(spec)
    assert golden.exists(spec)
    assert not golden.used(lab)
    assert report.observe(lab).whole
    assert set(ovn.sbctl(lab, "--bare", "--columns=name", "list", "chassis").split()) == {"x1", "n1", "n2", "n3"}
    assert len(gateways.holders(lab)) == 1
    assert "KUBECONFIG" not in report.environment(lab)


@pytest.mark.usefixtures("none_left")
def test_connections_through_a_distributed_floating_ip_outlive_their_gateway() -> None:
    lab = up(Spec(name=NAME, distributed_fips=True, without=("octavia",)))
    tenant = Tenant(lab, "moved")
    tenant.create()
    assert connections_kept(tenant, 4, count=20) == 20


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (Spec(name="Upper"), "small letters"),
        (Spec(name="far-too-long-a-name"), "1 to 12"),
        (Spec(name=NAME, nodes=0), "nodes 0: 1 to 8"),
        (Spec(name=NAME, gateways=9), "gateways 9: 1 to 8"),
        (Spec(name=NAME, without=("nova",)), "no part or group is called nova"),
        (Spec(name=NAME, without=("hosts",)), "nothing is left"),
    ],
)
def test_nonsense_is_refused_before_anything_is_made(spec: Spec, said: str) -> None:
    with pytest.raises(LabError, match=said):
        lifecycle.up(spec, PlainProgress())
    assert spec.name not in lifecycle.names()
