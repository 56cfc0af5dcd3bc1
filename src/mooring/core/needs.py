"""What a daemon cannot start without, beyond a configuration that is valid."""

import typing
from typing import Literal

from mooring.model.config import Config

Daemon = Literal["controller", "agent"]
DAEMONS: tuple[Daemon, ...] = typing.get_args(Daemon)

NETWORK = (
    "addresses.network is not set, and without it there is nowhere to take addresses from: "
    'set it in the file, [addresses] network = "ID or name", or by MOORING_ADDRESSES_NETWORK; '
    "or list the addresses in addresses.static"
)
GATEWAYS = (
    "gateways is empty, and without a gateway no Service can be reached: "
    "add a table [gateways.NAME] with agent and port to the file for each; no variable can give them"
)


def missing(config: Config, daemon: Daemon) -> tuple[str, ...]:
    """A sentence for each thing that the daemon still needs: the key, why, and how to set it."""
    if daemon == "agent":
        return ()
    nowhere = config.addresses.network is None and not config.addresses.static
    needs = ((nowhere, NETWORK), (not config.gateways, GATEWAYS))
    return tuple(sentence for lacks, sentence in needs if lacks)
