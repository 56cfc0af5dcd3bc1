"""Sphinx extension: the parts of the reference that the source itself tells.

A page holds a marker, `<!-- generated: configuration -->` or `<!-- generated: commands -->`, and gets the text in its
place when it is read. So the reference cannot fall behind the source.
"""

from collections.abc import Iterator

import click
from sphinx.application import Sphinx

from mooring.cli.main import lab_command, main
from mooring.core import config_keys
from mooring.core.config_keys import Key

WIDTH = 96


def configuration() -> str:
    """Every section and key of the configuration file."""
    lines: list[str] = []
    for section in config_keys.sections():
        lines += [f"## [{section.name}]", "", section.description, ""]
        for key in section.keys:
            lines += [f"### {key.path}", "", *_key(key), ""]
    return "\n".join(lines)


def _key(key: Key) -> Iterator[str]:
    default = "not set" if key.default is None else f'`"{key.default}"`'
    yield key.description
    yield ""
    yield f"- Allowed: {key.allowed}"
    yield f"- Default: {default}"
    yield f"- Environment: `{key.variable}`"


def commands() -> str:
    """Every command's own help, the groups before their commands."""
    lines: list[str] = []
    for path, command in _walk("mooring", main):
        context = click.Context(command, info_name=path, terminal_width=WIDTH, **main.context_settings)
        lines += [f"## {path}", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from _walk(f"{path} {name}", lab_command() if (path, name) == ("mooring", "lab") else inner)


def fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    for name, text in (("configuration", configuration), ("commands", commands)):
        marker = f"<!-- generated: {name} -->"
        if marker in source[0]:
            source[0] = source[0].replace(marker, text())


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True}
