"""The daemons' commands, with daemons of the tests' own in a copy of the source."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import source_copy

IMPORTS = "import asyncio\nfrom mooring.model.errors import Hindered, StartRefused\n\n\n"
START = f"{IMPORTS}async def run(config, log, *further):\n    "
MOORING = [sys.executable, "-c", "from mooring.cli.main import main; main(prog_name='mooring')"]
WHOLE = "[addresses]\nnetwork = 'n'\n[gateways.gw1]\nagent = 'gw1:9443'\nport = 'p1'\n"


def environment(root: Path, **variables: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(root / "src"), **variables}


def with_daemon(root: Path, daemon: str, body: str, config: str = WHOLE) -> list[str]:
    """A copy of the source with a daemon that does this; the command that starts it."""
    source_copy.copy_python_to(root)
    source_copy.write_module(root, f"{daemon}/main.py", START + body.replace("\n", "\n    "))
    (root / "mooring.toml").write_text(config)
    return [*MOORING, daemon, "--config", str(root / "mooring.toml")]


def run(command: list[str], root: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment(root, **variables), capture_output=True, text=True, check=False, timeout=30
    )


@pytest.mark.parametrize("daemon", ["controller", "agent"])
def test_a_daemon_gets_its_configuration_and_a_log(daemon: str, tmp_path: Path) -> None:
    command = with_daemon(tmp_path, daemon, "log.info('started', network=config.addresses.network)")
    ended = run(command, tmp_path, MOORING_LOG_FORMAT="json")
    assert (ended.returncode, ended.stdout) == (0, "")
    line = json.loads(ended.stderr)
    assert (line["level"], line["event"], line["network"]) == ("info", "started", "n")


def test_what_a_library_says_is_in_the_log(tmp_path: Path) -> None:
    command = with_daemon(tmp_path, "agent", "import logging\nlogging.getLogger('uvicorn.error').warning('a\\nb')")
    ended = run(command, tmp_path)
    assert ended.returncode == 0
    assert ended.stderr.endswith("Z warning a\\nb logger=uvicorn.error\n")


def test_an_agent_needs_no_more_than_the_defaults(tmp_path: Path) -> None:
    assert run(with_daemon(tmp_path, "agent", "pass", config=""), tmp_path).returncode == 0


def test_what_a_controller_lacks_is_told_at_once(tmp_path: Path) -> None:
    ended = run(with_daemon(tmp_path, "controller", "pass", config=""), tmp_path)
    assert ended.returncode == 2
    network, gateways = ended.stderr.splitlines()
    assert network.startswith("addresses.network is not set")
    assert gateways.startswith("gateways is empty")


def test_a_variable_that_counts_for_nothing_is_a_line_of_the_log(tmp_path: Path) -> None:
    ended = run(with_daemon(tmp_path, "agent", "pass"), tmp_path, MOORING_LOG_FORMAT="json", MOORING_LOG_LEVLE="debug")
    assert ended.returncode == 0
    line = json.loads(ended.stderr)
    assert (line["level"], line["event"]) == ("warning", "variable counts for nothing")
    assert line["told"].endswith("did you mean MOORING_LOG_LEVEL?")


def test_a_variable_that_counts_for_nothing_is_told_with_what_is_missing(tmp_path: Path) -> None:
    ended = run(with_daemon(tmp_path, "controller", "pass", config=""), tmp_path, MOORING_ADDRESES_NETWORK="n")
    assert ended.returncode == 2
    network, _, variable = ended.stderr.splitlines()
    assert network.startswith("addresses.network is not set")
    assert variable.endswith("did you mean MOORING_ADDRESSES_NETWORK?")


def test_a_wrong_configuration_is_told(tmp_path: Path) -> None:
    ended = run(with_daemon(tmp_path, "agent", "pass", config="[agnet]"), tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f'{tmp_path}/mooring.toml:1: agnet: unknown section, did you mean "agent"?')


@pytest.mark.parametrize(("error", "code"), [("StartRefused", 2), ("Hindered", 1)])
@pytest.mark.parametrize(
    "body", ["await refuse()", "async with asyncio.TaskGroup() as tasks:\n    tasks.create_task(refuse())"]
)
def test_a_refusal_to_start_is_told_without_a_traceback(body: str, error: str, code: int, tmp_path: Path) -> None:
    refusing = f"async def refuse():\n    raise {error}('no key: run this')\n"
    ended = run(with_daemon(tmp_path, "agent", refusing + body), tmp_path)
    assert (ended.returncode, ended.stderr) == (code, "Error: no key: run this\n")


def test_a_mistake_of_its_own_is_one_line_of_the_log(tmp_path: Path) -> None:
    ended = run(with_daemon(tmp_path, "agent", "raise ValueError('a\\nb')"), tmp_path, MOORING_LOG_FORMAT="json")
    assert ended.returncode == 1
    line = json.loads(ended.stderr)
    assert (line["level"], line["event"]) == ("critical", "ended by a mistake of its own")
    assert line["exception"] == "ValueError: a\nb"
    assert line["at"].startswith("main.py:6 run < ")


def test_a_daemon_that_ends_at_sigterm_ends_well(tmp_path: Path) -> None:
    body = (
        "import signal\nended = asyncio.Event()\n"
        "asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)\n"
        "log.info('ready')\nawait ended.wait()"
    )
    command = with_daemon(tmp_path, "agent", body)
    with subprocess.Popen(command, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "ready" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_other_commands_do_not_wait_for_what_a_daemon_needs() -> None:
    program = "import sys; from mooring.cli.main import main; print(*sys.modules)"
    loaded = run([sys.executable, "-c", program], source_copy.ROOT)
    assert "mooring.cli.daemon_commands" in loaded.stdout.split()
    assert {"structlog", "cryptography", "aiohttp", "openstack"}.isdisjoint(loaded.stdout.split())
