"""What is handed out is whole: the wheel and the source archive are built, and every file of the package is in them."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.docs import blocks

ROOT = Path(__file__).parents[1]
GUIDE = "docs/guides/install.md"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    builder = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(target)]
    subprocess.run(builder, cwd=ROOT, check=True, capture_output=True)
    return target


def package_files() -> set[str]:
    files = (file for file in (ROOT / "src" / "mooring").rglob("*") if file.is_file())
    return {file.relative_to(ROOT / "src").as_posix() for file in files if "__pycache__" not in file.parts}


def test_the_wheel_has_every_file_of_the_package_and_no_other(archives: Path) -> None:
    [wheel] = archives.glob("mooring-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == package_files()
    assert "mooring/py.typed" in names


def test_the_source_archive_can_be_worked_with(archives: Path) -> None:
    [sdist] = archives.glob("mooring-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in package_files()} <= names
    assert {"LICENSE", "Makefile", "README.md", "pyproject.toml", "requirements/dev.txt"} <= names
    assert not [name for name in names if name.startswith((".venv/", "build/", ".mypy_cache/"))]


def test_only_the_extra_asks_for_what_the_lab_needs(archives: Path) -> None:
    [wheel] = archives.glob("mooring-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    wanted = metadata.get_all("Requires-Dist") or []
    needed = {
        "aiohttp",
        "click",
        "cryptography",
        "h11",
        "lightkube",
        "msgspec",
        "openstacksdk",
        "prometheus-client",
        "rich",
        "starlette",
        "structlog",
        "uvicorn",
    }
    assert {line.split(">=")[0] for line in wanted if "extra ==" not in line} == needed
    assert all("extra == 'lab'" in line for line in wanted if "extra ==" in line)


def test_the_locks_name_no_registry() -> None:
    locks = [*(ROOT / "requirements").glob("*.txt"), *(ROOT / "src/mooring/lab/data").glob("*/requirements.txt")]
    assert len(locks) == 6
    for file in locks:
        lines = [line for line in file.read_text().splitlines() if not line.lstrip().startswith("#")]
        assert all(line.startswith("    --hash=sha256:") or "==" in line for line in lines), file
        assert "://" not in file.read_text(), file


@pytest.mark.long
def test_the_guide_installs_what_works(archives: Path, tmp_path: Path) -> None:
    """With nothing but a Python and the two files that the guide names, in another folder than there."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    [wheel] = archives.glob("mooring-*.whl")
    shutil.copy(wheel, tmp_path)
    commands = [each for each in blocks.commands("shown") if each.file == GUIDE and "/opt/mooring" in each.text]
    assert len(commands) == 3
    target = tmp_path / "opt"
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    for each in commands:
        text = each.text.replace("/opt/mooring", str(target))
        subprocess.run(["bash", "-ec", text], cwd=tmp_path, env=clean, check=True, capture_output=True)
    (tmp_path / "mooring.toml").write_text("")
    for words in (("--version",), ("config", "check", "--config", "mooring.toml"), ("manifests",)):
        subprocess.run([target / "bin/mooring", *words], cwd=tmp_path, env=clean, check=True, capture_output=True)


def test_what_is_installed_is_what_was_tested() -> None:
    def pinned(name: str) -> set[str]:
        lines = (ROOT / "requirements" / name).read_text().splitlines()
        return {line.removesuffix(" \\") for line in lines if "==" in line and not line.lstrip().startswith("#")}

    assert pinned("runtime.txt") <= pinned("dev.txt")
    assert not [line for line in pinned("runtime.txt") if line.startswith(("pytest", "sphinx", "uv=="))]
