"""systemd's units start commands that there are, with files and variables that these know."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import msgspec
import pytest

from mooring.cli.main import main
from mooring.core import config_keys
from mooring.model.config import Agent, Vrrp
from tests.source_copy import ROOT

UNITS = {file.stem: file for file in sorted((ROOT / "deploy" / "systemd").glob("*.service"))}
DROP_IN = ROOT / "deploy" / "systemd" / "mooring-agent.service.d" / "host-keepalived.conf"
PROGRAM = "/opt/mooring/bin/mooring"


def settings(unit: str) -> dict[str, list[str]]:
    """What a unit says, by key; most keys may be there several times."""
    found: dict[str, list[str]] = {}
    for line in UNITS[unit].read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_there_is_one_for_each_daemon() -> None:
    assert set(UNITS) == {"mooring-agent", "mooring-controller"}


@pytest.mark.parametrize("unit", UNITS)
def test_it_starts_a_command_that_there_is(unit: str) -> None:
    [line] = settings(unit)["ExecStart"]
    program, command, *arguments = line.split()
    assert program == PROGRAM
    assert command == unit.removeprefix("mooring-")
    found = main.commands[command].make_context(command, list(arguments), parent=click.Context(main))
    assert found.params == {"path": Path("/etc/mooring/mooring.toml")}


@pytest.mark.parametrize("unit", UNITS)
def test_it_comes_back_and_waits_for_the_network(unit: str) -> None:
    said = settings(unit)
    assert said["Restart"] == ["always"]
    assert said["Wants"] == ["network-online.target"]
    assert "network-online.target" in said["After"][0].split()


def test_every_file_that_the_controller_is_handed_is_named_by_a_variable_that_there_is() -> None:
    said = settings("mooring-controller")
    handed = [each.partition(":")[0] for each in said["LoadCredential"]]
    variables = dict(each.split("=", 1) for each in said["Environment"])
    assert [value.removeprefix("%d/") for value in variables.values()] == handed
    assert set(variables) <= {key.variable for section in config_keys.sections() for key in section.keys}


def test_a_controller_that_needs_no_cloud_starts_without_clouds_yaml_and_never_without_the_rest() -> None:
    """Where systemd does not find a file it fails the unit, unless a value stands in for it."""
    [given] = settings("mooring-controller")["SetCredential"]
    name, _, text = given.partition(":")
    assert name == "clouds.yaml"
    assert msgspec.yaml.decode(text) == {"clouds": {}}


def test_an_agent_writes_for_the_host_s_keepalived_only_where_that_was_chosen() -> None:
    """Systemd takes its folder from it otherwise: who can write there has programs run outside of all limits."""
    said = settings("mooring-agent")
    assert said["ProtectSystem"] == ["strict"]
    assert "ReadWritePaths" not in said
    [sample] = DROP_IN.read_text().splitlines()[-1:]
    assert sample == f"ReadWritePaths={Path(Vrrp().file).parent}"
    assert str(DROP_IN.relative_to(ROOT)) in (ROOT / "docs" / "guides" / "run-gateways.md").read_text()


def test_keepalived_outlives_the_agent_and_what_it_needs_is_not_forbidden() -> None:
    said = settings("mooring-agent")
    assert said["KillMode"] == ["process"]
    assert said["OOMPolicy"] == ["continue"]
    assert set(said["CapabilityBoundingSet"][0].split()) == {"CAP_NET_ADMIN", "CAP_NET_RAW"}
    assert {"AF_NETLINK", "AF_PACKET", "AF_INET", "AF_INET6"} <= set(said["RestrictAddressFamilies"][0].split())
    assert {"User", "DynamicUser", "ProtectKernelTunables", "MemoryDenyWriteExecute"}.isdisjoint(said)


def test_the_agents_folder_is_the_one_that_is_kept_for_it() -> None:
    [folder] = settings("mooring-agent")["StateDirectory"]
    assert f"/var/lib/{folder}" == Agent().state


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_nothing_wrong(unit: str, tmp_path: Path) -> None:
    copy = tmp_path / f"{unit}.service"
    here = str(Path(sys.executable).with_name("mooring"))
    copy.write_text(re.sub(PROGRAM, here, UNITS[unit].read_text()))  # it looks whether the program is there
    if unit in DROP_IN.parent.name:
        shutil.copytree(DROP_IN.parent, tmp_path / DROP_IN.parent.name)
    run = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (run.returncode, [line for line in run.stderr.splitlines() if str(tmp_path) in line or unit in line]) == (
        0,
        [],
    )
