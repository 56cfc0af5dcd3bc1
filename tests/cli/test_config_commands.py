"""`mooring config` over real files."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mooring.cli import config_file
from mooring.cli.main import main
from mooring.model.config import Config


def mooring(*arguments: str | Path, **environment: str) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=environment)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mooring.toml"


WHOLE = "[addresses]\nnetwork = 'n'\n[gateways.gw1]\nagent = 'gw1:9443'\nport = 'p1'\n"


@pytest.mark.parametrize("arguments", [(), ("--for", "controller"), ("--for", "agent")])
def test_a_valid_file(file: Path, arguments: tuple[str, ...]) -> None:
    file.write_text(WHOLE)
    run = mooring("config", "check", "--config", file, *arguments)
    assert (run.exit_code, run.output) == (0, "The configuration is valid.\n")


@pytest.mark.parametrize("text", ["", "[log]\nlevel = 'debug'\n"])
def test_a_file_that_is_enough_for_an_agent_says_what_a_controller_lacks(file: Path, text: str) -> None:
    file.write_text(text)
    run = mooring("config", "check", "--config", file)
    assert (run.exit_code, run.stderr) == (0, "")
    valid, who, network, gateways = run.stdout.splitlines()
    assert (valid, who) == ("The configuration is valid.", "An agent starts with it; a controller does not:")
    assert network.startswith("addresses.network is not set")
    assert gateways.startswith("gateways is empty")


def test_a_file_that_is_not_enough_is_refused_for_whom_it_is_meant(file: Path) -> None:
    file.touch()
    run = mooring("config", "check", "--config", file, "--for", "controller")
    assert (run.exit_code, run.stdout) == (2, "")
    assert run.stderr.startswith("addresses.network is not set")
    run = mooring("config", "check", "--config", file, "--for", "agent")
    assert (run.exit_code, run.output) == (0, "The configuration is valid.\n")


def test_problems_are_lines_that_begin_with_the_place(file: Path) -> None:
    file.write_text("[log]\nlevle = 1\nformat = 'xml'\n")
    run = mooring("config", "check", "--config", file)
    assert run.exit_code == 2
    assert run.stderr.splitlines() == [
        f'{file}:2: log.levle: unknown key, did you mean "level"? allowed: level, format',
        f'{file}:3: log.format: "xml" is refused, allowed: "text", "json"',
    ]


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_file_that_was_asked_for_has_to_be_there(command: str, file: Path) -> None:
    run = mooring("config", command, "--config", file)
    assert (run.exit_code, run.stderr) == (2, f"{file}: there is no such file\n")


def test_the_default_file_may_be_missing(file: Path) -> None:
    assert config_file.load(None, default=file).config == Config()
    file.write_text("log.level = 'debug'\n")
    assert config_file.load(None, default=file).config.log.level == "debug"


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    run = mooring("config", "check", "--config", tmp_path)
    assert (run.exit_code, run.stderr) == (2, f"{tmp_path}: cannot be read: Is a directory\n")


def test_a_file_that_is_not_text(file: Path) -> None:
    file.write_bytes(b"[log]\n# \xff\n")
    run = mooring("config", "check", "--config", file)
    assert (run.exit_code, run.stderr) == (2, f"{file}:2: not valid TOML: the text is not UTF-8\n")


def test_show_tells_values_and_origins(file: Path) -> None:
    file.write_text("[log]\nlevel = 'debug'\n")
    run = mooring("config", "show", "--config", file, MOORING_CLUSTER_NAME="east")
    assert run.exit_code == 0
    assert 'name = "east"  # environment variable MOORING_CLUSTER_NAME' in run.output
    assert f'level = "debug"  # {file}:2' in run.output
    assert 'format = "text"  # default' in run.output
    assert "# cloud is not set" in run.output
    assert tomllib.loads(run.output)["log"] == {"level": "debug", "format": "text"}


def test_a_wrong_variable_is_told(file: Path) -> None:
    file.touch()
    run = mooring("config", "show", "--config", file, MOORING_LOG_FORMAT="xml")
    assert run.exit_code == 2
    assert run.stderr.startswith('environment variable MOORING_LOG_FORMAT: log.format: "xml" is refused')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[vrrp]\nmode = 'spread'\n", '2: vrrp.mode = "spread" needs vrrp.instances'),
        (
            "[forwarding]\nsnat = 'never'\n[vrrp]\nmode = 'spread'\ninstances = 2\n",
            '4: vrrp.mode = "spread" is refused where backends see the address of the client',
        ),
        ("[vrrp]\ninstance = 1\n", "2: vrrp.instances and vrrp.instance are for"),
        ("[vrrp]\npeers = ['192.0.2.12']\n", "2: vrrp.peers needs vrrp.source_address"),
        (
            "[vrrp]\nsource_address = '192.0.2.12'\npeers = ['192.0.2.12']\n",
            '3: vrrp.peers = "192.0.2.12" is refused: it is this gateway itself',
        ),
        ("[vrrp]\naddress = '127.0.0.1'\n", '2: vrrp.address = "127.0.0.1" is refused'),
        ("[agent]\n\nstate = '/var/lib/my state'\n", '3: agent.state = "/var/lib/my state" is refused'),
    ],
)
def test_what_an_agent_would_refuse_is_told_with_its_place(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    run = mooring("config", "check", "--config", file)
    assert (run.exit_code, run.stdout) == (2, "")
    [line] = run.stderr.splitlines()
    assert line.startswith(f"{file}:{told}")


def test_what_an_agent_would_refuse_may_come_from_a_variable(file: Path) -> None:
    file.touch()
    run = mooring("config", "check", "--config", file, MOORING_VRRP_ADDRESS="224.0.0.18")
    assert run.exit_code == 2
    assert run.stderr.startswith('environment variable MOORING_VRRP_ADDRESS: vrrp.address = "224.0.0.18" is refused')


def test_values_that_an_agent_would_refuse_can_be_shown(file: Path) -> None:
    file.write_text("[vrrp]\nmode = 'spread'\n")
    assert mooring("config", "show", "--config", file).exit_code == 0


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_variable_that_counts_for_nothing_is_told_once(file: Path, command: str) -> None:
    file.write_text(WHOLE)
    run = mooring("config", command, "--config", file, MOORING_ADDRESES_NETWORK="n")
    assert run.exit_code == 0
    [line] = run.stderr.splitlines()
    assert line.startswith("environment variable MOORING_ADDRESES_NETWORK: counts for nothing")
