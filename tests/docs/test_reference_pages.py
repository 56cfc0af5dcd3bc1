"""The generated half of the reference names every key and every command."""

import click
import reference_pages
from click.testing import CliRunner

from mooring.cli.main import lab_command, main
from mooring.core import config_keys


def test_every_key_has_a_heading_its_sentence_and_its_variable() -> None:
    text = reference_pages.configuration()
    for section in config_keys.sections():
        assert f"## [{section.name}]\n\n{section.description}\n" in text
        for key in section.keys:
            assert f"### {key.path}\n\n{key.description}\n" in text
            assert f"`{key.variable}`" in text


def test_every_command_has_its_own_help() -> None:
    text = reference_pages.commands()
    assert "## mooring config check\n\n```text\nUsage: mooring config check [OPTIONS]\n" in text
    for name in lab_command().list_commands(click.Context(main)):
        assert f"## mooring lab {name}\n" in text


def test_the_list_of_commands_is_that_of_the_command_itself() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output
    assert all(f"  {name} " in shown for name in main.commands)
