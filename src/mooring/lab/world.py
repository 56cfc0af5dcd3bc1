"""The list of all parts that a lab consists of. Read it to know what runs."""

from mooring.lab import cloud, gateways, kubernetes, network, nodes, ovn, product
from mooring.lab.assets import debian, golang, images, openvswitch, python
from mooring.lab.lab import Lab
from mooring.lab.parts import ASSETS, Part
from mooring.lab.spec import Spec


def parts(spec: Spec) -> list[Part]:
    """Everything, in no order but that of their needs."""
    return [
        *_assets(),
        *network.parts(spec),
        Part("certificates", _certificates, group="hosts", process=False),
        *ovn.parts(spec),
        *cloud.parts(spec),
        *kubernetes.parts(spec),
        *nodes.parts(spec),
        *gateways.parts(spec),
        *product.parts(spec),
    ]


def _assets() -> list[Part]:
    return [
        Part("debian-packages", lambda _: debian.install(), group=ASSETS, process=False),
        Part("ovs-binaries", lambda _: openvswitch.ensure(), needs=("debian-packages",), group=ASSETS, process=False),
        Part("openstack-environment", lambda _: python.ensure_openstack(), group=ASSETS, process=False),
        Part(
            "kubernetes-binaries",
            lambda lab: golang.ensure("kubernetes", assets=lab.spec.assets),
            group=ASSETS,
            process=False,
        ),
        Part(
            "coredns-binary",
            lambda lab: golang.ensure("coredns", assets=lab.spec.assets),
            needs=("kubernetes-binaries",),
            group=ASSETS,
            process=False,
        ),
        Part(
            "images",
            lambda lab: images.ensure(assets=lab.spec.assets),
            needs=("coredns-binary", "debian-packages"),
            group=ASSETS,
            process=False,
        ),
    ]


def _certificates(lab: Lab) -> None:
    lab.authority.create()
