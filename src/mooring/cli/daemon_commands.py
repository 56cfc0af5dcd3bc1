"""`mooring controller`, and how a daemon is run.

A daemon's own modules are imported when it is started: they need much that the other commands do not.
"""

import asyncio
import importlib
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from mooring.cli import config_file
from mooring.cli.config_commands import daemon_config_option
from mooring.core import config_variables
from mooring.core.needs import Daemon
from mooring.model.config import Config
from mooring.model.errors import Hindered, StartRefused


@click.command()
@daemon_config_option
def controller(path: Path | None) -> None:
    """Run the controller.

    It gives Services their addresses and tells the gateways what to serve. It runs until it gets SIGTERM; of several
    that run side by side, one leads. The log goes to standard error.
    """
    from mooring.controller.reloading import Source  # noqa: PLC0415 - see the module's first lines

    def load() -> Config:
        try:
            return config_file.load_for("controller", path)
        except config_file.RefusedError as error:
            raise StartRefused(error.message) from error

    run("controller", path, Source(path or config_file.DEFAULT, load))


def run(daemon: Daemon, path: Path | None, *further: object) -> None:
    """Start a daemon and stay until it ends. `further` is what it needs beside its configuration and a log."""
    from mooring.cli import logs  # noqa: PLC0415 - see the module's first lines

    strange = config_variables.strange(os.environ)
    try:
        config = config_file.load_for(daemon, path)
    except config_file.RefusedError as error:
        raise config_file.RefusedError("\n".join([error.message, *strange])) from error
    log = logs.make(config.log, sys.stderr)
    for each in strange:
        log.warning("variable counts for nothing", told=each)
    main: Callable[..., Coroutine[Any, Any, None]]
    main = importlib.import_module(f"mooring.{daemon}.main").run
    try:
        with logs.libraries(log):
            asyncio.run(main(config, log, *further))
    except Exception as error:
        refusals = _refusals(error)
        if not refusals:
            log.critical("ended by a mistake of its own", exc_info=error)
            sys.exit(1)
        hindered = all(isinstance(each, Hindered) for each in refusals)
        kind = click.ClickException if hindered else config_file.NotUsableError
        raise kind("\n".join(map(str, refusals))) from error


def _refusals(error: BaseException) -> list[StartRefused]:
    """What a daemon refused to start with; nothing if there was anything else. Tasks of a group come wrapped."""
    if isinstance(error, StartRefused):
        return [error]
    if not isinstance(error, BaseExceptionGroup):
        return []
    inner = [_refusals(each) for each in error.exceptions]
    return [refusal for each in inner for refusal in each] if all(inner) else []
