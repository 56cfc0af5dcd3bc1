"""Finds and reads the configuration file; what it says is judged by core.

A file that was asked for has to be there. The default file may be missing: the defaults are a whole configuration.
"""

import os
from pathlib import Path
from typing import IO

import click

from mooring.core import configuration, needs
from mooring.core.needs import Daemon
from mooring.model.config import Config
from mooring.model.settings import Settings

DEFAULT = Path("/etc/mooring/mooring.toml")


class RefusedError(click.ClickException):
    """There is no valid configuration. Each line of the message is one problem."""

    exit_code = 2

    def show(self, file: IO[str] | None = None) -> None:
        """Without the word "Error": editors and people look for the file's name at the beginning of a line."""
        click.echo(self.message, file=file, err=True)


class NotUsableError(click.ClickException):
    """What was given or configured cannot be used, as somebody found out who went by it."""

    exit_code = 2


def load(asked_for: Path | None, default: Path = DEFAULT) -> Settings:
    """The settings in force. Raises RefusedError with everything that is wrong."""
    path = asked_for or default
    answer = configuration.read(_text(path, may_be_missing=asked_for is None), str(path), os.environ)
    if isinstance(answer, Settings):
        return answer
    raise RefusedError("\n".join(configuration.sentence(problem) for problem in answer))


def load_for(daemon: Daemon, asked_for: Path | None, default: Path = DEFAULT) -> Config:
    """The configuration with all that a daemon needs. Raises RefusedError with what is missing and where."""
    config = load(asked_for, default).config
    lacks = needs.missing(config, daemon)
    if not lacks:
        return config
    path = asked_for or default
    nowhere = f"{path}: there is no such file; name another one with --config or MOORING_CONFIG"
    raise RefusedError("\n".join([*lacks, *([] if path.exists() else [nowhere])]))


def _text(path: Path, *, may_be_missing: bool) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        if may_be_missing:
            return ""
        raise RefusedError(f"{path}: there is no such file") from error
    except OSError as error:
        raise RefusedError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RefusedError(f"{path}:{line}: not valid TOML: the text is not UTF-8") from error
