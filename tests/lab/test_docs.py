"""The commands of the documentation that need a lab, carried out in one: as it comes up, then with Mooring in it."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import reference_metrics
from reference_metrics import Daemon

from mooring.lab import faults, gateways, lifecycle, report, waiting
from mooring.lab.lab import Lab, open_lab
from mooring.lab.progress import PlainProgress
from tests.docs import blocks
from tests.lab import pages

COMMANDS = blocks.commands("lab")
MOORED = blocks.commands("moored")
METRIC = re.compile(r"^# HELP (\w+) ", re.MULTILINE)
CREATED = "_created"  # the client library adds the time to each counter


def test_there_are_commands_to_run() -> None:
    assert COMMANDS
    assert MOORED


def named(command: blocks.Command) -> str:
    return f"{command.file}:{command.line}"


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_a_command_does_what_the_page_says(lab: Lab, tmp_path: Path, command: blocks.Command) -> None:
    pages.execute(lab, tmp_path, command)


def test_the_lab_is_whole_after_all_of_them(lab: Lab) -> None:
    assert report.observe(lab).whole


@pytest.fixture(scope="module")
def moored(lab: Lab) -> Iterator[Lab]:
    """The lab with Mooring in it, until all pages are through."""
    lifecycle.deploy(lab, "host", PlainProgress())
    product = open_lab(lab.spec.name)
    yield product
    faults.heal(product)
    product.kubectl("delete", "deployments,services", "--selector=app", "--timeout=60s")
    lifecycle.deploy(product, "", PlainProgress())


@pytest.fixture
def page(moored: Lab, command: blocks.Command) -> Lab:
    """Every page begins where gw1 holds the addresses and all is well, and so can say it."""
    if command == next(each for each in MOORED if each.file == command.file):
        waiting.until(lambda: bool(_holder(moored)), seconds=60, what="all to be well")
        if _holder(moored) == "gw2":
            _mooring(moored, "gateway", "drain", "gw2")
            waiting.until(lambda: "gw1" in gateways.holders(moored), seconds=30, what="gw1 to hold the addresses")
            _mooring(moored, "gateway", "undrain", "gw2")
        waiting.until(lambda: _holder(moored) == "gw1", seconds=60, what="gw1 to hold all and all to be well")
    return moored


def _mooring(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | report.environment(lab)
    return subprocess.run(["mooring", *words], env=environment, capture_output=True, text=True, check=False)


def _holder(lab: Lab) -> str:
    """Who holds the addresses when all is well, there is a backup, and no Service of another page.

    Told by what a reader looks at: the agents say it a moment later than the kernel.
    """
    looked = _mooring(lab, "status", "-o", "json")
    if looked.returncode != 0:
        return ""
    seen = json.loads(looked.stdout)
    names = {each["vrrp"]: each["name"] for each in seen["gateways"]}
    return names["master"] if names.keys() == {"master", "backup"} and not seen["services"] else ""


@pytest.mark.parametrize("command", MOORED, ids=named)
def test_a_command_does_what_the_page_says_with_mooring(page: Lab, tmp_path: Path, command: blocks.Command) -> None:
    pages.execute(page, tmp_path, command)


WHERE_CONFIGURED = {
    "mooring_service_received_packets_total",
    "mooring_service_received_bytes_total",
    "mooring_service_sent_packets_total",
    "mooring_service_sent_bytes_total",
    "mooring_service_endpoint_connections_total",
    "mooring_planned_steps",
}
"""By `forwarding.counters`, and by `controller.reconcile`."""


def test_the_metrics_of_the_reference_are_those_that_are_served(moored: Lab) -> None:
    """What one controller or agent serves, another may not yet: of calls there are those that were made."""
    daemons: tuple[tuple[Daemon, int], ...] = (("controller", 9440), ("agent", 9441))
    waiting.until(lambda: "mooring_addresses" in served(moored, 9440), seconds=60, what="a controller to lead")
    for daemon, port in daemons:
        assert served(moored, port) == {each.name for each in reference_metrics.families(daemon)} - WHERE_CONFIGURED


def served(lab: Lab, port: int) -> set[str]:
    found: set[str] = set()
    for gateway in lab.spec.gateway_names:
        text = lab.hosts.run(gateway, ["curl", "--silent", "--fail", f"http://127.0.0.1:{port}/metrics"])
        found |= {name for name in METRIC.findall(text) if not name.endswith(CREATED)}
    return found
