"""`mooring config`: what the configuration says and what is wrong with it."""

from pathlib import Path

import click

from mooring.cli import config_file
from mooring.core import agent_choices, configuration

config_option = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="MOORING_CONFIG",
    show_envvar=True,
    help=f"The configuration file.  [default: {config_file.DEFAULT}, if it is there]",
)


@click.group()
def config() -> None:
    """Check the configuration, show the values in force."""


@config.command()
@config_option
def check(path: Path | None) -> None:
    """Tell everything that is wrong with the configuration.

    Each problem is one line: file, line, key, what is wrong and what is allowed. The exit code is 2 if there is one.
    """
    refused = agent_choices.line(config_file.load(path))
    if refused is not None:
        raise config_file.RefusedError(refused)
    click.echo("The configuration is valid.")


@config.command()
@config_option
def show(path: Path | None) -> None:
    """Print the values in force and where each comes from.

    The output is a configuration file itself. The origin is a comment: file and line, environment variable, or default.
    """
    click.echo(configuration.as_toml(config_file.load(path)), nl=False)
