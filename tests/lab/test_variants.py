"""Labs of other shapes than the usual one."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from mooring.lab import commands, gateways, lifecycle, ovn, report
from mooring.lab.errors import LabError
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


@pytest.mark.usefixtures("none_left")
def test_kubernetes_alone_on_one_node() -> None:
    lab = up(Spec(name=NAME, nodes=1, gateways=1, without=("openstack", "ovn")))
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
def test_openstack_alone_with_three_chassis_and_three_gateways() -> None:
    lab = up(Spec(name=NAME, nodes=3, gateways=3, without=("kubernetes", "octavia")))
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
