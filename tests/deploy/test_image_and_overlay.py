"""The Containerfile names what is in the checkout, and the example is one that works."""

import json
import re

import msgspec

from mooring.cli import config_file
from mooring.core import needs
from mooring.manifests import controller
from tests.source_copy import ROOT

CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text().replace("\\\n", " ")
EXAMPLE = ROOT / "deploy" / "example"


def instructions(word: str) -> list[str]:
    return re.findall(rf"^{word} (.+)$", CONTAINERFILE, re.MULTILINE)


def test_everything_that_is_copied_is_there() -> None:
    copied = [line.split() for line in instructions("COPY") if not line.startswith("--from")]
    sources = [source for *found, _ in copied for source in found]
    assert {"src", "pyproject.toml", "requirements/runtime.txt"} <= set(sources)
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_nothing_comes_from_an_index_without_its_hash() -> None:
    commands = [part.strip() for line in instructions("RUN") for part in line.split("&&")]
    fetching = [each for each in commands if re.search(r"pip (install|sync)|uv build", each)]
    assert len(fetching) == 4
    assert all("--require-hashes" in each or "--no-deps dist/" in each for each in fetching)


def test_it_runs_mooring_as_the_user_that_the_deployment_names() -> None:
    assert instructions("USER") == [f"{controller.USER}:{controller.USER}"]
    [entrypoint] = instructions("ENTRYPOINT")
    assert json.loads(entrypoint) == ["/opt/mooring/bin/mooring"]


def test_the_example_replaces_our_image_and_brings_the_configuration() -> None:
    overlay = msgspec.yaml.decode((EXAMPLE / "kustomization.yaml").read_bytes())
    assert overlay["resources"] == ["../kubernetes"]
    assert [each["name"] for each in overlay["images"]] == [controller.IMAGE.rpartition(":")[0]]
    assert overlay["configMapGenerator"] == [{"name": controller.CONFIG, "files": ["mooring.toml"]}]


def test_the_example_is_a_configuration_that_a_controller_can_start_with() -> None:
    config = config_file.load(EXAMPLE / "mooring.toml").config
    assert needs.missing(config, "controller") == ()
    assert config.kubernetes.kubeconfig is None
