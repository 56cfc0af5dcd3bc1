"""What each daemon lacks, and how its operator is told."""

from typing import get_args

import pytest

from mooring.core import config_keys, needs
from mooring.core.needs import Daemon
from mooring.model.config import Addresses, Config, Gateway

NETWORK = Addresses(network="n")
GATEWAYS = {"gw1": Gateway("192.0.2.1:9443", "p1")}


@pytest.mark.parametrize(
    ("config", "daemon", "keys"),
    [
        (Config(), "agent", []),
        (Config(), "controller", ["addresses.network", "gateways"]),
        (Config(addresses=NETWORK), "controller", ["gateways"]),
        (Config(gateways=GATEWAYS), "controller", ["addresses.network"]),
        (Config(addresses=NETWORK, gateways=GATEWAYS), "controller", []),
        (Config(addresses=Addresses(static=("192.0.2.9",)), gateways=GATEWAYS), "controller", []),
    ],
)
def test_what_is_missing(config: Config, daemon: Daemon, keys: list[str]) -> None:
    assert [sentence.split()[0] for sentence in needs.missing(config, daemon)] == keys


def test_the_way_to_set_it_exists() -> None:
    [network] = [key for section in config_keys.sections() for key in section.keys if key.path == "addresses.network"]
    assert network.variable is not None
    assert network.variable in needs.NETWORK


def test_every_daemon_is_known() -> None:
    assert all(isinstance(needs.missing(Config(), daemon), tuple) for daemon in get_args(Daemon))
