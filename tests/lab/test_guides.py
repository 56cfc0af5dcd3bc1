"""The guides from a cluster without Mooring to one without it, command by command: install, upgrade, remove."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.lab import kubernetes, lifecycle, product
from mooring.lab.lab import Lab, open_lab
from mooring.lab.progress import PlainProgress
from tests import source_copy
from tests.docs import blocks
from tests.lab import moored, pages, probe
from tests.lab.tenant import Tenant

COMMANDS = blocks.commands("walk")
GUIDES = ("docs/guides/install.md", "docs/guides/upgrade.md", "docs/guides/remove.md")
IMAGES = ("registry.example.org/mooring:0.1.0", "registry.example.org/mooring:0.2.0")
GRANTED = "clusterrole,clusterrolebinding"


def test_every_page_has_its_place_in_the_walk() -> None:
    assert {each.file for each in COMMANDS} == set(GUIDES)


@pytest.fixture
def bare(lab: Lab) -> Iterator[Lab]:
    """Agents on the gateways, images on the nodes, and nothing of Mooring in the cluster."""
    lifecycle.deploy(lab, "host", PlainProgress())
    found = open_lab(lab.spec.name)
    for gateway in found.spec.gateway_names:
        found.processes.stop(f"controller-{gateway}", seconds=20)
    found.kubectl("delete", "namespace", product.NAMESPACE, "--wait")
    found.kubectl("delete", GRANTED, "--selector=app.kubernetes.io/name=mooring")
    product.load_image(found, *IMAGES)
    yield found
    kubernetes.give_account(found)
    lifecycle.deploy(found, "", PlainProgress())


def prepared(lab: Lab, folder: Path) -> None:
    """What an operator has written and made before: an overlay, clouds.yaml and certificates."""
    shutil.copytree(source_copy.ROOT / "deploy", folder / "deploy")
    texts = product.pod_files(lab)
    (folder / "deploy/example/mooring.toml").write_text(texts["mooring.toml"])
    for name, text in texts.items():
        (folder / name).write_text(text)
    shutil.copytree(product.controller_certificates(lab.place), folder / "controller")


def walk(lab: Lab, folder: Path, page: str) -> None:
    for command in COMMANDS:
        if command.file == page:
            pages.execute(lab, folder, command)


def test_from_a_cluster_without_mooring_to_one_without_it(bare: Lab, tenant: Tenant, tmp_path: Path) -> None:
    prepared(bare, tmp_path)
    tenant.deploy("web", replicas=1)
    moored.expose(tenant, "web")
    install, upgrade, remove = GUIDES
    walk(bare, tmp_path, install)
    kubernetes.give_account(bare)  # for `mooring` where people work: the old one went with its namespace
    address = moored.address(tenant, "web")
    assert probe.first_answer(bare, "client", address)
    walk(bare, tmp_path, upgrade)
    assert probe.first_answer(bare, "client", address)
    assert moored.addresses(tenant, "web") == [address]
    walk(bare, tmp_path, remove)
    assert moored.addresses(tenant, "web") == []
    assert "mooring" not in bare.kubectl("get", f"namespaces,{GRANTED}", "--output=name")
    for gateway in bare.spec.gateway_names:
        assert "mooring" not in bare.hosts.run(gateway, ["nft", "list", "tables"])
