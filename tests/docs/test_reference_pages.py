"""The generated half of the reference names every key, command, name, event and figure."""

import click
import pytest
import reference_metrics
import reference_pages
from click.testing import CliRunner

from mooring.cli.main import lab_command, main
from mooring.core import config_keys
from mooring.model import names
from mooring.model.reasons import Reason
from tests.docs import blocks


def test_every_key_has_a_heading_its_sentence_and_its_variable() -> None:
    text = reference_pages.configuration()
    for section in config_keys.sections():
        assert f"## [{section.header}]\n\n{section.description}\n" in text
        for key in section.keys:
            assert f"### {key.path}\n\n{key.description}\n" in text
            assert key.variable is None or f"`{key.variable}`" in text


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        ("addresses.network", ["Default: not set", "Environment: `MOORING_ADDRESSES_NETWORK`"]),
        ("gateways.NAME.agent", ["Default: none, it is required", "Environment: none, only the file"]),
        ("vrrp.router_id", ["Allowed: 1 to 255", "Default: `51`"]),
        ("vrrp.interval", ["Default: `0.1`"]),
        ("vrrp.also", ["Default: `[]`"]),
        ("log.level", ['Default: `"info"`']),
    ],
)
def test_each_kind_of_key_says_its_default(key: str, facts: list[str]) -> None:
    part = reference_pages.configuration().split(f"### {key}\n")[1].split("\n#")[0]
    assert [fact for fact in facts if f"- {fact}\n" not in f"{part}\n"] == []


def test_every_command_has_its_own_help() -> None:
    text = reference_pages.commands()
    assert "## mooring config check\n\n```text\nUsage: mooring config check [OPTIONS]\n" in text
    for name in lab_command().list_commands(click.Context(main)):
        assert f"## mooring lab {name}\n" in text


def test_the_list_of_commands_is_that_of_the_command_itself() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output
    assert all(f"  {name} " in shown for name in main.commands)


def test_every_name_is_told_and_no_other() -> None:
    ours = {name for name in vars(names) if name.isupper() and name not in {"CONDITIONS", "ALIKE", "NOT_DONE"}}
    assert set(reference_pages.NAMES) == ours
    assert {names.ACCEPTED, names.ALLOCATED, names.PROGRAMMED} == set(names.CONDITIONS)
    text = reference_pages.names()
    assert [name for name in ours if f"| `{getattr(names, name)}` |" not in text] == []


def test_warnings_are_those_of_what_is_not_well_and_does_not_pass_by_itself() -> None:
    listed = reference_pages.warnings()
    assert "[NoEndpoints](reasons.md#noendpoints)" in listed
    quiet = (Reason.ACCEPTED, Reason.PROGRAMMED, Reason.WAITING_FOR_GATEWAYS, Reason.OPTED_OUT)
    assert [each for each in quiet if f"[{each.value}]" in listed] == []


def test_every_figure_has_its_help_type_and_labels() -> None:
    text = reference_metrics.page("controller")
    assert "### mooring_gateway_live\n\n1 while a gateway answers.\n\n- Type: gauge\n- Label `gateway`" in text
    assert "### mooring_neutron_calls_total\n" in text
    assert "### mooring_agent_vrrp_state\n" in reference_metrics.page("agent")
    every = [*reference_metrics.families("controller"), *reference_metrics.families("agent")]
    assert len({each.name for each in every}) == len(every)


def test_each_part_stands_on_one_page_and_each_marker_means_a_part() -> None:
    pages = [page.read_text() for page in blocks.pages() if page.parent.name == "reference"]
    marks = [line for text in pages for line in text.splitlines() if line.startswith("<!-- generated: ")]
    assert sorted(marks) == sorted(f"<!-- generated: {name} -->" for name in reference_pages.PARTS)
