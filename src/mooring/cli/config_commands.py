"""`mooring config`: what the configuration says and what is wrong with it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mooring.cli import config_file
from mooring.core import agent_choices, config_variables, configuration, needs
from mooring.core.needs import DAEMONS, Daemon
from mooring.model.config import Config


def _option(**further: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: ANN401 - click's own
    return click.option(
        "--config",
        "path",
        type=click.Path(path_type=Path),
        metavar="FILE",
        envvar="MOORING_CONFIG",
        show_envvar=True,
        help=f"The configuration file.  [default: {config_file.DEFAULT}, if it is there]",
        **further,
    )


def _tell_variables(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    for line in config_variables.strange(os.environ):
        click.echo(line, err=True)
    return path


config_option = _option(callback=_tell_variables)
"""Who has it tells of variables that count for nothing."""
daemon_config_option = _option()
"""The same for a daemon, which has a log to tell it in."""


@click.group()
def config() -> None:
    """Check the configuration, show the values in force."""


@config.command()
@click.option(
    "--for", "daemon", type=click.Choice(DAEMONS), help="Refuse also what is not enough for this one to start with."
)
@config_option
def check(path: Path | None, *, daemon: Daemon | None) -> None:
    """Tell everything that is wrong with the configuration.

    Each problem is one line: file, line, key, what is wrong and what is allowed. The exit code is 2 if there is one.
    A file that is valid and not enough for a controller is well, if it is that of a gateway: it is told, and with
    --for controller refused.
    """
    settings = config_file.load(path)
    refused = agent_choices.line(settings)
    if refused is not None:
        raise config_file.RefusedError(refused)
    if daemon is not None:
        config_file.load_for(daemon, path)
    click.echo("The configuration is valid.")
    for line in () if daemon is not None else _not_enough(settings.config):
        click.echo(line)


def _not_enough(config: Config) -> tuple[str, ...]:
    """Who does not start with it, and what is missing."""
    lacks = needs.missing(config, "controller")
    return ("An agent starts with it; a controller does not:", *lacks) if lacks else ()


@config.command()
@config_option
def show(path: Path | None) -> None:
    """Print the values in force and where each comes from.

    The output is a configuration file itself. The origin is a comment: file and line, environment variable, or default.
    """
    click.echo(configuration.as_toml(config_file.load(path)), nl=False)
