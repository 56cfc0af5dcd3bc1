"""What the lab's programs and images come from."""

import hashlib
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from mooring.lab.assets import debian, golang, images, openvswitch
from mooring.lab.errors import LabError
from tests.tools import apart

needs_busybox = pytest.mark.skipif(not images.BUSYBOX.exists(), reason="busybox-static is not installed yet")


def test_programs_of_the_user_go_before_our_own(tmp_path: Path) -> None:
    assert golang.folder_of("etcd", assets=str(tmp_path)) == tmp_path
    assert golang.folder_of("etcd") == golang.folder_of("kubelet") != golang.folder_of("coredns")


def test_programs_that_the_user_lacks_are_named(tmp_path: Path) -> None:
    for name in ("etcd", "kubectl"):
        (tmp_path / name).touch()
    with pytest.raises(LabError) as refused:
        golang.ensure("kubernetes", assets=str(tmp_path))
    missing = "kube-apiserver, kube-controller-manager, kube-proxy, kube-scheduler, kubelet"
    assert refused.value.what == f"{missing} missing in {tmp_path}"
    assert "--assets" in refused.value.hint
    for name in golang.KUBERNETES:
        (tmp_path / name).touch()
    golang.ensure("kubernetes", assets=str(tmp_path))


@pytest.mark.parametrize("module", ["coredns", "kubernetes"])
def test_every_program_has_a_main(module: str) -> None:
    mains = {file.parent.name for file in (golang.SOURCES / module).rglob("main.go")}
    assert mains == set(golang.MODULES[module])


def test_the_version_is_that_of_the_lock() -> None:
    assert re.fullmatch(r"v1\.\d+\.\d+", golang.kubernetes_version())


def test_the_suite_is_that_of_the_same_version() -> None:
    assert f"k8s.io/kubernetes {golang.kubernetes_version()}\n" in (golang.SOURCES / "e2e/go.mod").read_text()


def test_lists_name_everything_once() -> None:
    for names in (debian.PACKAGES, openvswitch.PACKAGES, images.APPLETS):
        assert len(set(names)) == len(names)
    assert list(debian.PACKAGES) == sorted(debian.PACKAGES)


ENSURE = """
import sys
from mooring.lab.assets import images
images.ensure(assets=sys.argv[1])
print(images.file(assets=sys.argv[1]))
"""


def archive(folder: Path, *, coredns: bytes) -> bytes:
    """The archive of images, made in a scratch cache, around a program that stands for CoreDNS."""
    assets = folder / "assets"
    assets.mkdir(exist_ok=True, parents=True)
    (assets / "coredns").write_bytes(coredns)
    return Path(apart.run(ENSURE, folder, assets).strip()).read_bytes()


def members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {each.name: (tar.extractfile(each) or io.BytesIO()).read() for each in tar.getmembers() if each.isfile()}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="module")
def made(folder: Path) -> bytes:
    return archive(folder, coredns=b"the program")


@needs_busybox
def test_every_image_has_the_layer_and_the_configuration_that_its_digests_name(made: bytes) -> None:
    files = members(made)
    manifest: list[dict[str, Any]] = json.loads(files["manifest.json"])
    tags = [tag for image in manifest for tag in image["RepoTags"]]
    assert tags == [f"docker.io/mooring/{name}:1" for name in ("pause", "web", "shell", "coredns")]
    for image in manifest:
        config = files[image["Config"]]
        assert image["Config"] == f"{digest(config)}.json"
        layers = [digest(files[name]) for name in image["Layers"]]
        assert image["Layers"] == [f"{layer}.tar" for layer in layers]
        assert json.loads(config)["rootfs"]["diff_ids"] == [f"sha256:{layer}" for layer in layers]
    assert set(files) == {"manifest.json"} | {
        name for image in manifest for name in (image["Config"], *image["Layers"])
    }


@needs_busybox
def test_what_an_image_starts_is_in_its_layer(made: bytes) -> None:
    files = members(made)
    for image in json.loads(files["manifest.json"]):
        [program, *_] = json.loads(files[image["Config"]])["config"]["Entrypoint"]
        with tarfile.open(fileobj=io.BytesIO(files[image["Layers"][0]])) as layer:
            entry = layer.getmember(program.removeprefix("/"))
            if entry.issym():
                entry = layer.getmember(f"bin/{entry.linkname}")
            assert entry.mode == 0o755
            content = layer.extractfile(entry)
            assert content is not None
            expected = b"the program" if "coredns" in image["RepoTags"][0] else images.BUSYBOX.read_bytes()
            assert content.read() == expected
            assert all(layer.getmember(name).isdir() for name in ("etc", "tmp", "proc", "sys", "dev"))


@needs_busybox
def test_the_same_programs_give_the_same_bytes(made: bytes, tmp_path: Path) -> None:
    assert digest(archive(tmp_path, coredns=b"the program")) == digest(made)


@needs_busybox
def test_another_program_in_the_users_folder_is_another_image(made: bytes, folder: Path) -> None:
    assert digest(archive(folder, coredns=b"another program")) != digest(made)
