"""Each import contract is broken once in a copy of the source, and the linter has to name just that one."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import source_copy

DOWN = "Imports go down: tools, processes, core and adapters, model"
PROCESSES = "Processes never import one another"
APART = "Core and the adapters never meet, nor do adapters"
PURE = "Core and model know no clock, chance, system, file or network"

BREAKS = [
    (DOWN, {"model/x.py": "import mooring.core"}),
    (DOWN, {"kube/x.py": "import mooring.agent", "agent/x.py": ""}),
    (DOWN, {"lab/x.py": "import mooring.cli"}),
    (DOWN, {"lab/x.py": "import mooring.manifests.x", "manifests/x.py": ""}),
    (DOWN, {"drawer/x.py": ""}),
    (DOWN, {"wire/x.py": "import mooring.cloud"}),
    (PROCESSES, {"controller/x.py": "import mooring.agent.x", "agent/x.py": ""}),
    (APART, {"kube/x.py": "import mooring.cloud.x", "cloud/x.py": ""}),
    (APART, {"core/x.py": "import mooring.host.x", "host/x.py": ""}),
    (APART, {"ovsdb/x.py": "import mooring.core"}),
    (PURE, {"core/x.py": "import time"}),
    (PURE, {"core/x.py": "from os import path"}),
    (PURE, {"core/x.py": "import mooring.wire.patient"}),
    (PURE, {"model/x.py": "def now():\n    import openstack"}),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "COLUMNS": "200"}
    linter = Path(sys.executable).with_name("lint-imports")
    command = [str(linter), "--no-cache", "--config", "pyproject.toml"]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def broken_contracts(root: Path) -> list[str]:
    run = lint(root)
    broken = re.findall(r"^(.*) BROKEN$", run.stdout, re.MULTILINE)
    assert re.search(rf"^Contracts: \d+ kept, {len(broken)} broken\.$", run.stdout, re.MULTILINE), (
        run.stdout + run.stderr
    )
    assert run.returncode == (1 if broken else 0)
    return broken


def test_the_source_as_it_is_breaks_none(tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    assert broken_contracts(tmp_path) == []


@pytest.mark.parametrize(
    ("contract", "files"), BREAKS, ids=[" ".join(files.values()) or "drawer" for _, files in BREAKS]
)
def test_a_broken_contract_is_named(contract: str, files: dict[str, str], tmp_path: Path) -> None:
    source_copy.copy_python_to(tmp_path)
    for name, text in files.items():
        source_copy.write_module(tmp_path, name, text)
    assert broken_contracts(tmp_path) == [contract]


def test_every_contract_is_broken_by_some_test() -> None:
    contracts = tomllib.loads((source_copy.ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["name"] for contract in contracts} == {contract for contract, _ in BREAKS}


def test_every_door_to_the_outside_is_watched(tmp_path: Path) -> None:
    doors = ["asyncio", "logging", "os", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid"]
    libraries = ["click", "httpx", "lightkube", "openstack", "ovsdbapp", "psutil", "pyroute2", "requests", "structlog"]
    source_copy.copy_python_to(tmp_path)
    source_copy.write_module(tmp_path, "core/x.py", "\n".join(f"import {name}" for name in doors + libraries))
    seen = re.findall(r"mooring\.core\.x -> (\w+) ", lint(tmp_path).stdout)
    assert sorted(seen) == sorted(doors + libraries)
