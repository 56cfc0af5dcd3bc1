"""The list of all parts: whole for every kind of lab, and each group can be left out."""

from itertools import combinations

import pytest

from mooring.lab import golden, lifecycle, parts, world
from mooring.lab.errors import LabError
from mooring.lab.hosts import holder
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress
from mooring.lab.spec import Spec

GROUPS = {"assets", "hosts", "kubernetes", "octavia", "openstack", "ovn", "vrrp"}
SPECS = [
    Spec(nodes=1, gateways=1),
    Spec(),
    Spec(nodes=3, gateways=1),
    Spec(nodes=1, gateways=3, distributed_fips=True),
    Spec(nodes=8, gateways=8),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.nodes} nodes, {spec.gateways} gateways")
def test_a_world_is_whole(spec: Spec) -> None:
    there = world.parts(spec)
    names = [part.name for part in there]
    assert len(set(names)) == len(names)
    waited_for = {name for part in there for name in (*part.needs, *part.after)}
    assert waited_for <= set(names)  # a word in `after` that no part has would be passed over in silence
    assert len(list(parts.ordered(there))) == len(there)
    assert {part.group for part in there} == GROUPS


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.nodes} nodes, {spec.gateways} gateways")
def test_every_host_has_the_processes_that_make_it_what_it_is(spec: Spec) -> None:
    running = {part.name for part in world.parts(spec) if part.process}
    assert {holder(host) for host in spec.hosts} <= running
    for kind, hosts in (
        ("ovn-controller", spec.chassis_names),
        ("vswitchd", spec.chassis_names),
        ("ovsdb", spec.chassis_names),
        ("kubelet", spec.node_names),
        ("kube-proxy", spec.node_names),
        ("containerd", spec.node_names),
        ("keepalived", spec.gateway_names),
    ):
        assert {name for name in running if name.startswith(f"{kind}-")} == {f"{kind}-{host}" for host in hosts}


@pytest.mark.parametrize(
    ("group", "processes"),
    [
        ("kubernetes", ["etcd", "kube-apiserver", "containerd-n1", "kubelet-n2", "kube-proxy-n1"]),
        ("openstack", ["mariadb", "keystone", "neutron"]),
        ("octavia", ["octavia", "octavia-driver-agent"]),
        ("ovn", ["ovn-nb", "ovn-sb", "ovn-northd", "ovsdb-x1", "vswitchd-n1", "ovn-controller-n2"]),
        ("vrrp", ["keepalived-gw1", "keepalived-gw2"]),
    ],
)
def test_processes_are_in_the_group_where_people_look_for_them(group: str, processes: list[str]) -> None:
    groups = {part.name: part.group for part in world.parts(Spec()) if part.process}
    assert [groups[name] for name in processes] == [group] * len(processes)


@pytest.mark.parametrize(
    ("without", "gone", "whole"),
    [
        ("vrrp", {"vrrp"}, {"hosts", "ovn", "openstack", "octavia", "kubernetes"}),
        ("octavia", {"octavia"}, {"hosts", "ovn", "openstack", "kubernetes", "vrrp"}),
        ("kubernetes", {"kubernetes"}, {"hosts", "ovn", "openstack", "octavia", "vrrp"}),
        ("openstack", {"openstack", "octavia", "vrrp"}, {"hosts", "kubernetes"}),
        ("ovn", {"ovn", "octavia", "vrrp"}, {"hosts", "kubernetes"}),
    ],
)
def test_what_each_group_means(without: str, gone: set[str], whole: set[str]) -> None:
    there = world.parts(Spec())
    kept, _ = parts.select(there, [without])
    left = {part.name for part in kept}
    for group in GROUPS:
        members = {part.name for part in there if part.group == group}
        if group in gone:
            assert not members & left
        if group in whole:
            assert members <= left


@pytest.mark.parametrize("without", ["hosts", "assets", "debian-packages"])
def test_what_everything_stands_on_cannot_be_left_out(without: str) -> None:
    with pytest.raises(LabError, match=f"nothing is left without {without}"):
        parts.select(world.parts(Spec()), [without])


def test_every_other_part_can_be_left_out() -> None:
    there = world.parts(Spec())
    for part in there:
        if part.name != "debian-packages":
            kept, gone = parts.select(there, [part.name])
            assert part.name in gone
            assert not {each.name for each in kept} & set(gone)
            assert len(list(parts.ordered(kept))) == len(kept)


def test_groups_can_be_left_out_together() -> None:
    there = world.parts(Spec())
    for one, other in combinations(sorted(GROUPS - {"hosts", "assets"}), 2):
        kept, _ = parts.select(there, [one, other])
        assert not {part.group for part in kept} & {one, other}


@pytest.mark.parametrize(
    ("without", "spared"),
    [
        ("kubernetes", {"kubernetes-binaries", "coredns-binary", "images"}),
        ("openstack", {"openstack-environment"}),
    ],
)
def test_what_is_expensive_is_made_only_for_those_who_need_it(without: str, spared: set[str]) -> None:
    assets = {part.name for part in world.parts(Spec()) if part.group == "assets"}
    kept, _ = parts.select(world.parts(Spec()), [without])
    assert assets - {part.name for part in kept} == spared


def test_a_part_is_found_by_its_name_if_it_has_a_process(lab: Lab) -> None:
    assert lifecycle.find(lab, "etcd").name == "etcd"
    for name in ("nonsense", "cables"):
        with pytest.raises(LabError) as refused:
            lifecycle.find(lab, name)
        assert refused.value.what == f"lab {lab.spec.name} has no part {name} with a process"
        assert "etcd" in refused.value.hint
        assert "cables" not in refused.value.hint


def test_a_host_cannot_be_started_again_alone(caged: Lab) -> None:
    with pytest.raises(LabError) as refused:
        lifecycle.restart(caged, "host-n1", PlainProgress())
    assert refused.value.what == "host-n1 holds the namespaces of a host"
    assert refused.value.hint.startswith(f"`mooring lab reset --name {caged.spec.name}`")


def test_the_golden_copy_belongs_to_labs_of_one_kind() -> None:
    common = golden.folder(Spec())
    assert golden.folder(Spec(name="other", slot=3, without=("octavia",))) == common
    others = [golden.folder(spec) for spec in (Spec(nodes=1), Spec(gateways=1), Spec(distributed_fips=True))]
    assert len({common, *others}) == 4
