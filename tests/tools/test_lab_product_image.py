"""Mooring as an image: what goes into it, how it is packed, and that it runs by itself."""

import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from mooring.lab.assets import archives, parts_of_python, product
from mooring.lab.assets.archives import Image
from tests import source_copy
from tests.tools import apart

long = pytest.mark.long
"""What makes the whole archive, in a scratch cache."""


def test_packages_are_those_of_the_run_time_with_their_extras() -> None:
    found = parts_of_python.required("mooring")
    assert {"mooring", "aiohttp", "openstacksdk", "lightkube", "pyyaml"} <= found
    assert {"h2", "wsproto"} <= found  # lightkube asks for its HTTP client's extras
    assert {"pytest", "sphinx", "mypy", "ruff", "hatchling", "uv", "pip"}.isdisjoint(found)


def test_packages_bring_modules_and_versions_and_neither_tests_nor_programs() -> None:
    found = parts_of_python.packages("mooring")
    assert {"openstack/__init__.py", "typing_extensions.py"} <= set(found)
    assert [name for name in found if name.startswith("aiohttp-") and name.endswith("/METADATA")]
    assert not [name for name in found if ".." in name or "/tests/" in name or "__pycache__" in name]
    assert not [name for name in found if name.startswith("mooring")]
    assert all(file.is_file() for file in found.values())


def test_the_interpreter_comes_with_its_library_where_it_is_here() -> None:
    found = parts_of_python.interpreter()
    assert found[str(parts_of_python.EXECUTABLE).lstrip("/")] == parts_of_python.EXECUTABLE
    names = {str(file.relative_to(parts_of_python.STANDARD_LIBRARY)) for file in list(found.values())[1:]}
    assert {"os.py", "asyncio/__init__.py", "importlib/metadata/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("test/", "idlelib/", "config-", "site-packages/"))]


def test_libraries_are_found_by_the_loader() -> None:
    found = parts_of_python.libraries([parts_of_python.EXECUTABLE])
    names = {Path(name).name for name in found}
    assert "libc.so.6" in names
    assert [name for name in names if name.startswith("ld-")]
    assert parts_of_python.libraries([parts_of_python.EXECUTABLE, *found.values()]) == {}


def test_a_package_says_its_version() -> None:
    [(name, file)] = parts_of_python.description("mooring").items()
    assert name.startswith("mooring-")
    assert "Name: mooring\n" in file.read_text()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "tmp").mkdir()
    (root / "bin/run").write_text("#!")
    (root / "bin/run").chmod(0o700)
    (root / "bin/also").symlink_to("/bin/run")
    (root / "text").write_text("x")
    (root / "text").chmod(0o600)
    return root


def test_a_layer_belongs_to_root_can_be_read_by_all_and_has_no_age(root: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archives.layer_of(root))) as layer:
        entries = {each.name: each for each in layer.getmembers()}
    assert {name: entry.mode for name, entry in entries.items() if not entry.issym()} == {
        "bin": 0o755,
        "bin/run": 0o755,
        "text": 0o644,
        "tmp": 0o1777,
    }
    assert entries["bin/also"].linkname == "/bin/run"
    assert {(each.uid, each.gid, each.mtime) for each in entries.values()} == {(0, 0, 0)}


def test_an_image_has_its_layers_in_order_and_its_user(root: Path, tmp_path: Path) -> None:
    layers = (archives.layer_of(root), archives.layer_of(root / "bin"))
    image = Image("example.org/x:1", layers, ("/bin/run",), ("A=b",), user="7:7")
    archives.write(tmp_path / "image.tar", [image])
    config, unpacked = opened(tmp_path / "image.tar")
    assert config["config"] == {"Entrypoint": ["/bin/run"], "Env": ["A=b"], "User": "7:7", "WorkingDir": "/"}
    assert unpacked == layers
    assert len(config["history"]) == 2


def opened(archive: Path) -> tuple[Any, tuple[bytes, ...]]:
    """The configuration and the layers of the only image in an archive."""
    with tarfile.open(archive) as tar:

        def read(name: str) -> bytes:
            member = tar.extractfile(name)
            assert member is not None
            return member.read()

        [image] = json.loads(read("manifest.json"))
        return json.loads(read(image["Config"])), tuple(read(name) for name in image["Layers"])


ENSURE = """
from mooring.lab import place
from mooring.lab.assets import product
if not place.CACHE.exists():
    for number in range(5):
        (place.CACHE / f"mooring-image-{number}").mkdir(parents=True)
print(product.ensure())
print(sum(1 for each in place.CACHE.glob("mooring-image-*")))
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("product")


@pytest.fixture(scope="module")
def archive(scratch: Path) -> Path:
    file, left = apart.run(ENSURE, scratch).split()
    assert int(left) == product.KEPT
    return Path(file)


@pytest.fixture(scope="module")
def unpacked(archive: Path, scratch: Path) -> Path:
    for layer in opened(archive)[1]:
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(scratch / "root")  # noqa: S202 - we packed it
    return scratch / "root"


@long
def test_it_starts_as_somebody_who_is_not_root(archive: Path) -> None:
    config, layers = opened(archive)
    assert config["config"]["User"] == f"{product.USER}:{product.USER}"
    assert len(layers) == 2
    assert sum(map(len, layers)) < 200 * 2**20


@long
def test_it_is_all_compiled_and_without_tools_of_developers(unpacked: Path) -> None:
    packages = unpacked / product.HOME
    sources = list(packages.rglob("*.py"))
    assert all((file.parent / "__pycache__" / f"{file.stem}.cpython-311.pyc").exists() for file in sources)
    assert not [name for name in ("pytest", "sphinx", "mypy", "uv") if (packages / name).exists()]


@long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may chroot")
def test_it_needs_nothing_else_of_this_machine(archive: Path, unpacked: Path) -> None:
    config, _ = opened(archive)
    environment = dict(line.split("=", 1) for line in config["config"]["Env"])
    alone = [shutil.which("chroot") or "chroot", f"--userspec={product.USER}:{product.USER}", str(unpacked)]

    def run(*words: str) -> str:
        return subprocess.run([*alone, *words], env=environment, capture_output=True, text=True, check=True).stdout

    assert run(*config["config"]["Entrypoint"], "--version").startswith("mooring ")
    program = "import mooring.controller.main, openstack, aiohttp, cryptography, lightkube, os; print(os.getuid())"
    assert run("/usr/bin/python3", "-c", program) == f"{product.USER}\n"


@long
def test_another_source_is_another_image_on_the_same_base(archive: Path, scratch: Path, tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    again = apart.run(ENSURE, scratch, PYTHONPATH=str(tmp_path / "src")).split()[0]
    source_copy.write_module(tmp_path, "cli/another.py", "x = 1")
    changed = apart.run(ENSURE, scratch, PYTHONPATH=str(tmp_path / "src")).split()[0]
    assert len({str(archive), again, changed}) == 3
    assert opened(Path(changed))[1][0] == opened(archive)[1][0]
    assert len(list(archive.parents[1].glob("mooring-base-*"))) == 1
