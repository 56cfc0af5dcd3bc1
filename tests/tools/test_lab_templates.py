"""Every template, filled in by the very code that fills it in when a lab starts.

The lab's hosts do not run here, so each start ends where it would enter one; the files are written before that. A name
in a template that the code does not pass is a KeyError instead.
"""

import configparser
import ipaddress
import json
import os
import tomllib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.lab import cloud, gateways, kubernetes, nodes, place, templates
from mooring.lab import spec as ranges
from mooring.lab.errors import LabError
from mooring.lab.lab import Lab
from mooring.lab.place import Place
from mooring.lab.spec import Spec

# template -> the file that is made from it; None: it is no template and is used as it lies there
MADE = {
    "gateway/keepalived.conf": "keepalived-gw1.conf",
    "kubernetes/audit.yaml": None,
    "kubernetes/cni.conflist": "cni-n1/10-pods.conflist",
    "kubernetes/containerd.toml": "containerd-n1.toml",
    "kubernetes/coredns.yaml": "applied.yaml",
    "kubernetes/kube-proxy.yaml": "kube-proxy-n1.yaml",
    "kubernetes/kubeconfig.yaml": "kubeconfig",
    "kubernetes/kubelet.yaml": "kubelet-n1.yaml",
    "kubernetes/mooring.yaml": "applied.yaml",
    "openstack/etc/clouds.yaml": "clouds.yaml",
    "openstack/etc/keystone.conf": "keystone.conf",
    "openstack/etc/ml2_conf.ini": "ml2_conf.ini",
    "openstack/etc/my.cnf": "my.cnf",
    "openstack/etc/neutron.conf": "neutron.conf",
    "openstack/etc/octavia.conf": "octavia.conf",
}
STARTS: list[Callable[[Lab], object]] = [
    cloud.configure,
    partial(nodes.start_containerd, node="n1"),
    partial(nodes.start_kubelet, node="n1"),
    partial(nodes.start_proxy, node="n1"),
    partial(gateways.start_keepalived, gateway="gw1"),
    partial(kubernetes.write_kubeconfig, file="kubeconfig", user="admin", groups=["system:masters"]),
    kubernetes.start_dns,
    kubernetes.make_accounts,
]
# What the cluster is given goes to the standard input of kubectl: this one keeps it.
KUBECTL = """#!/bin/sh
etc="$(dirname "${1#--kubeconfig=}")"
case "$*" in
  *" apply "*) cat >>"$etc/applied.yaml"; echo --- >>"$etc/applied.yaml" ;;
  *" create token "*) echo a-token ;;
esac
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A lab of which nothing runs, after all the starts above."""
    there = Place(tmp_path_factory.mktemp("lab"))
    there.make()
    kubectl = there.root / "programs/kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    made = Lab(Spec(name=f"unit-{os.getpid()}", assets=str(kubectl.parent)), there)
    made.authority.create()
    for start in STARTS:
        # no host runs; and OpenStack's own environment, of which one file is copied, may not be installed
        with suppress(LabError, FileNotFoundError):
            start(made)
    return made


@pytest.fixture
def etc(lab: Lab) -> Path:
    return lab.place.etc


def settings(file: Path) -> dict[str, dict[str, str | None]]:
    parser = configparser.RawConfigParser(allow_no_value=True, strict=True)
    parser.read_string(file.read_text())
    return {section: dict(parser[section]) for section in parser}


def document(file: Path) -> Any:  # noqa: ANN401 - any YAML
    return msgspec.yaml.decode(file.read_bytes())


def test_every_template_is_filled_in(etc: Path) -> None:
    folders = [place.DATA / name for name in ("gateway", "kubernetes", "openstack/etc")]
    there = {file.relative_to(place.DATA).as_posix() for folder in folders for file in folder.iterdir()}
    assert there == set(MADE)
    for template, name in MADE.items():
        text = (place.DATA / template).read_text() if name is None else (etc / name).read_text()
        assert "$" not in text, template
        assert text.strip(), template


def test_a_name_that_nobody_passes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="DNS"):
        templates.text("kubernetes/coredns.yaml", {"OTHER": 1})
    with pytest.raises(KeyError, match="DNS"):
        templates.write("kubernetes/coredns.yaml", tmp_path / "out", {})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["keystone.conf", "neutron.conf", "octavia.conf"])
def test_services_find_database_keystone_and_authority(name: str, etc: Path, lab: Lab) -> None:
    read = settings(etc / name)
    assert f"unix_socket={lab.socket('mariadb')}&" in (read["database"]["connection"] or "")
    if name == "keystone.conf":
        assert read["DEFAULT"]["public_endpoint"] == f"https://{lab.control}:5000/"
        return
    asks = read["keystone_authtoken"]
    assert (asks["auth_url"], asks["cafile"]) == (f"https://{lab.control}:5000", str(lab.authority.certificate))


def test_neutron_and_octavia_talk_to_the_same_ovn(etc: Path, lab: Lab) -> None:
    for name in ("ml2_conf.ini", "octavia.conf"):
        read = settings(etc / name)["ovn"]
        assert read["ovn_nb_connection"] == f"unix:{lab.socket('ovn-nb')}"
        assert read["ovn_sb_connection"] == f"unix:{lab.socket('ovn-sb')}"
    assert settings(etc / "ml2_conf.ini")["ovn"]["enable_distributed_floating_ip"] == "False"
    assert settings(etc / "my.cnf")["mariadbd"]["socket"] == str(lab.socket("mariadb"))


def test_people_get_two_clouds(etc: Path, lab: Lab) -> None:
    clouds = document(etc / "clouds.yaml")["clouds"]
    assert {name: each["auth"]["username"] for name, each in clouds.items()} == {"admin": "admin", "mooring": "mooring"}
    for each in clouds.values():
        assert each["auth"]["auth_url"] == f"https://{lab.control}:5000/v3"
        assert each["cacert"] == str(lab.authority.certificate)
    assert lab.place.clouds == etc / "clouds.yaml"


def test_kubeconfig(etc: Path, lab: Lab) -> None:
    read = document(etc / "kubeconfig")
    assert read["clusters"][0]["cluster"] == {
        "server": f"https://{lab.control}:6443",
        "certificate-authority": str(lab.authority.certificate),
    }
    assert all(Path(file).is_file() for file in read["users"][0]["user"].values())
    assert lab.place.kubeconfig == etc / "kubeconfig"


def test_kubelet(etc: Path, lab: Lab) -> None:
    read = document(etc / "kubelet-n1.yaml")
    assert read["address"] == lab.spec.management("n1")
    assert read["containerRuntimeEndpoint"] == f"unix://{lab.socket('containerd-n1')}"
    assert read["clusterDNS"] == [ranges.DNS_SERVICE]
    assert read["cgroupRoot"] == f"/{lab.cage.name}/pods-n1"
    assert all(Path(read[key]).is_file() for key in ("tlsCertFile", "tlsPrivateKeyFile"))


def test_kube_proxy(etc: Path, lab: Lab) -> None:
    read = document(etc / "kube-proxy-n1.yaml")
    assert read["hostnameOverride"] == "n1"
    assert read["clusterCIDR"] == f"{ranges.PODS_V4},{ranges.PODS_V6}"
    legs = [lab.spec.management_network, ranges.NODES_V4, lab.spec.management_network6, ranges.NODES_V6]
    assert [ipaddress.ip_network(each) for each in read["nodePortAddresses"]] == [*map(ipaddress.ip_network, legs)]
    assert Path(read["clientConnection"]["kubeconfig"]).is_file()


def test_containerd_and_pod_network(etc: Path, lab: Lab) -> None:
    read = tomllib.loads((etc / "containerd-n1.toml").read_text())
    assert read["grpc"]["address"] == str(lab.socket("containerd-n1"))
    pods = json.loads((etc / "cni-n1/10-pods.conflist").read_text())
    assert read["plugins"]["io.containerd.grpc.v1.cri"]["cni"]["conf_dir"] == str(etc / "cni-n1")
    subnets = [each["subnet"] for [each] in pods["plugins"][0]["ipam"]["ranges"]]
    assert tuple(subnets) == lab.spec.pod_ranges("n1")


def applied(etc: Path) -> list[Any]:
    """The objects that the cluster was given."""
    texts = (etc / "applied.yaml").read_text().split("\n---\n")
    return [msgspec.yaml.decode(text) for text in texts if text]


def test_the_account_of_mooring(etc: Path, lab: Lab) -> None:
    read = document(etc / "mooring.kubeconfig")
    token = Path(read["users"][0]["user"]["tokenFile"])
    assert token.read_text() == "a-token\n"
    assert token.stat().st_mode & 0o777 == 0o600
    assert read["clusters"][0]["cluster"]["server"] == f"https://{lab.control}:6443"
    [account] = [each["metadata"] for each in applied(etc) if each["metadata"]["name"] == "mooring"]
    assert account["namespace"] in [each["metadata"]["name"] for each in applied(etc) if each["kind"] == "Namespace"]


def test_cluster_dns(etc: Path) -> None:
    objects = applied(etc)
    [service] = [each for each in objects if each["kind"] == "Service"]
    assert service["spec"]["clusterIP"] == ranges.DNS_SERVICE
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["metadata"]["labels"] == service["spec"]["selector"]


def test_the_audit_policy_is_used_as_it_is() -> None:
    assert document(place.DATA / "kubernetes/audit.yaml")["kind"] == "Policy"


def test_keepalived(etc: Path, lab: Lab) -> None:
    text = (etc / "keepalived-gw1.conf").read_text()
    assert text.count("{") == text.count("}")
    assert "router_id gw1\n" in text
    assert f"{lab.spec.gateway_address}/32 dev eth1" in text
    assert f"{lab.spec.gateway_address6}/128 dev eth1" in text
