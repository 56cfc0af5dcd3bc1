"""The marks of the documentation's blocks: what is read, and what is refused."""

import pytest

from tests.docs import blocks
from tests.docs.blocks import Command


def test_commands_outputs_and_lines() -> None:
    text = "# T\n\n<!-- run: exit 2 -->\n```console\n$ one\na\nb\n$ two \\\n  more\n```\n"
    [block] = blocks.blocks(text, "t.md")
    assert block.commands == (
        Command("t.md", 5, "one", ("a", "b"), 2),
        Command("t.md", 8, "two \\\n  more", (), 2),
    )


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("mooring status", True),
        ("mooring who 203.0.113.7:80 -o json", True),
        ("kubectl get events --field-selector=involvedObject.name=web", True),
        ("mooring gateway list", True),
        ("mooring gateway drain gw2", False),
        ("mooring orphans --delete --yes", False),
        ("kubectl get secret | kubectl apply -f -", False),
        ("mooring doctor > told", False),
        ("mooring whoever", False),
    ],
)
def test_what_only_looks_may_look_again(text: str, *, looks: bool) -> None:
    assert blocks.Command("page.md", 1, text).looks is looks


def test_commands_for_a_host() -> None:
    [block] = blocks.blocks("<!-- walk: gw1 -->\n```console\n$ one\n```\n", "t.md")
    assert [(each.text, each.host) for each in block.commands] == [("one", "gw1")]


def test_an_indented_block_and_a_file() -> None:
    text = "- x\n\n  <!-- lab -->\n  ```console\n  $ one\n  ```\n\n<!-- file: a.toml -->\n```toml\n$ b = 1\n```\n"
    lab, file = blocks.blocks(text, "t.md")
    assert (lab.kind, [command.text for command in lab.commands]) == ("lab", ["one"])
    assert (file.kind, file.note, file.lines, file.commands) == ("file", "a.toml", ("$ b = 1",), ())


def test_blocks_within_blocks_and_of_other_languages_need_no_mark() -> None:
    assert blocks.blocks("````text\n```console\n$ x\n```\n````\n```python\nx\n```\n```\ny\n```\n", "t.md") == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ x\n```", "t.md:1: say in the line above"),
        ("<!-- run -->\n\n```console\n$ x\n```", "t.md:3: say in the line above"),
        ("<!-- talk -->\n```console\n$ x\n```", "t.md:2: say in the line above"),
        ("<!-- file: x -->\n```console\n$ x\n```", "t.md:2: say in the line above"),
        ("<!-- shown -->\n```console\n$ x\n```", "t.md:2: <!-- shown: ... --> needs"),
        ("<!-- moored: gw -->\n```console\n$ x\n```", "t.md:2: the only notes"),
        ("<!-- lab: gw1 -->\n```console\n$ x\n```", "t.md:2: the only notes"),
        ("<!-- run: often -->\n```console\n$ x\n```", "t.md:2: the only note"),
        ("<!-- run -->\n```toml\nx\n```", "t.md:2: only ```console"),
        ("```bash\nx\n```", "t.md:1: write commands as ```console"),
    ],
)
def test_each_complaint(text: str, complaint: str) -> None:
    with pytest.raises(blocks.MarkError) as refused:
        blocks.blocks(text, "t.md")
    assert str(refused.value).startswith(complaint)


@pytest.mark.parametrize(
    ("output", "expected", "fits"),
    [
        ("anything", (), True),
        ("a\nb\n", ("a", "b"), True),
        ("a\nb\n", ("a", "b", ""), True),
        ("a\nb\n", ("a",), False),
        ("a\n\nb\n", ("a", "b"), False),
        ("a\nx\ny\nb\n", ("a", "...", "b"), True),
        ("a\nx\ny\n", ("a", "..."), True),
        ("version 1.2\n", ("version ...",), True),
        ("aXb\n", ("a.b",), False),
    ],
)
def test_what_a_command_prints_is_compared(output: str, expected: tuple[str, ...], fits: bool) -> None:  # noqa: FBT001 - a column
    assert blocks.fits(output, expected) is fits
