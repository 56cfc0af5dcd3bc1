"""`mooring lab` on the command line: every command explains itself, and what cannot be done is answered.

Commands that would make or remove something run apart, over a scratch folder: the labs of this machine stay untouched.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from mooring.lab.cage import Cage
from mooring.lab.commands import lab as group
from mooring.lab.place import Place
from mooring.lab.spec import Spec
from tests.tools import apart

COMMANDS = sorted(group.commands)
ABSENT = "no-such-lab"
GIVE_UP_ROOT = "give-up-root"


def invoke(*words: str) -> Result:
    return CliRunner().invoke(group, words)


def test_the_commands_are_these() -> None:
    wanted = "cut deploy doctor down env exec heal kill logs pause reset restart resume status undeploy up"
    assert " ".join(COMMANDS) == wanted
    listed = invoke("--help")
    assert listed.exit_code == 0
    assert all(f"  {name} " in listed.output for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_text(name: str) -> None:
    run = invoke(name, "--help")
    assert run.exit_code == 0
    assert run.output.startswith(f"Usage: lab {name} ")
    command = group.commands[name]
    text = command.help or ""
    assert text[:1].isupper()
    assert "." in text
    assert text.splitlines()[0] in " ".join(run.output.split())


def test_every_option_has_a_help_text() -> None:
    options = [(name, each) for name in COMMANDS for each in group.commands[name].params]
    silent = [f"{name} {each.name}" for name, each in options if isinstance(each, click.Option) and not each.help]
    assert silent == []


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["status", "--output=json"],
        ["env"],
        ["reset"],
        ["exec", "client", "true"],
        ["logs", "etcd"],
        ["restart", "etcd"],
        ["kill", "etcd"],
        ["pause", "etcd"],
        ["resume", "etcd"],
        ["cut", "n1", "--link=eth0"],
        ["heal"],
    ],
    ids=" ".join,
)
def test_a_lab_that_does_not_exist(words: list[str]) -> None:
    command, *rest = words
    run = invoke(command, "--name", ABSENT, *rest)
    assert run.exit_code == 1
    assert run.stdout == ""
    assert run.stderr.splitlines() == [
        f"mooring lab: there is no lab {ABSENT}",
        f"what to do: `mooring lab up --name {ABSENT}` makes one",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["up", "--nodes=many"],
        ["up", "--assets=/nowhere"],
        ["logs"],
        ["cut", "n1"],
        ["status", "-o", "xml"],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told(words: list[str]) -> None:
    run = invoke(*words)
    assert run.exit_code == 2
    assert "Usage: lab" in run.stderr


class Answer(msgspec.Struct):
    """What one command did."""

    code: int
    out: str
    err: str


# One process for all of them, because most of its time goes into imports. What is refused is asked for without root's
# powers: even a mistake in the checks would start nothing.
SCRIPT = """
import json, os, sys
from click.testing import CliRunner
from mooring.lab.commands import lab

for words in json.loads(sys.argv[1]):
    if words == ["give-up-root"]:
        os.setuid(65534)
        continue
    run = CliRunner().invoke(lab, words)
    trouble = "" if isinstance(run.exception, (SystemExit, type(None))) else repr(run.exception)
    print(json.dumps({"code": run.exit_code, "out": run.stdout, "err": run.stderr + trouble}))
"""
NAMES = "1 to 12 small letters, digits and hyphens, beginning with a letter, not ending with a hyphen, are allowed"
OWN, HALF = f"unit-{os.getpid()}", f"half-{os.getpid()}"

# Of both labs only the wish was written down, as after a crash right at the beginning.
AS_ROOT = [
    ("status --all", 0, f"{OWN:<12} remains ", ""),
    (f"down --name {OWN}", 0, f"Lab {OWN} is gone.\n", ""),
    (f"status --name {OWN}", 1, "", f"there is no lab {OWN}\n"),
    (f"down --name {OWN}  ", 0, f"There is no lab {OWN}.\n", ""),
    (f"status --name {HALF}", 1, f"It was never completed: `mooring lab up --name {HALF}` makes it anew.", ""),
    (f"status --name {HALF} --output json", 1, '"state": "not started"', ""),
    (f"env --name {HALF}", 0, "export KUBECONFIG=", ""),
    (
        f"logs --name {HALF} etcd",
        1,
        "",
        "there is no log of a part etcd\nwhat to do: there are: neutron; for pods: kubectl logs\n",
    ),
    (f"logs --name {HALF} --lines 2 neutron", 0, "two\nthree\n", ""),
    (
        f"restart --name {HALF} nonsense",
        1,
        "",
        f"lab {HALF} has no part nonsense with a process\nwhat to do: there are: host",
    ),
    (
        f"restart --name {HALF} host-n1",
        1,
        "",
        "host-n1 holds the namespaces of a host\nwhat to do: `mooring lab reset --n",
    ),
    (f"kill --name {HALF} --signal WINK etcd", 1, "", "there is no signal WINK\nwhat to do: there are: HUP, "),
    (f"kill --name {HALF} etcd", 1, "", "etcd: is not running\nwhat to do: "),
    (f"exec --name {HALF} n7 true", 1, "", f"lab {HALF} has no host n7\nwhat to do: there are: wire, control, "),
    (f"exec --name {HALF} n1 true", 1, "", "host-n1: is not running\nwhat to do: "),
    (
        f"cut --name {HALF} n1 --link eth9",
        1,
        "",
        "host n1 has no link eth9 that can be cut\nwhat to do: there are: eth0, t",
    ),
    (f"heal --name {HALF}", 0, "", ""),
]
NO_NAMES = ["down --name=", "down --name=..", "down --name=../beside"]
AS_ANYBODY = [
    ("--name=Lab", f"name 'Lab': {NAMES}"),
    ("--name=", f"name '': {NAMES}"),
    ("--name=../../x", f"name '../../x': {NAMES}"),
    ("--nodes=0", "nodes 0: 1 to 8 are allowed"),
    ("--gateways=9", "gateways 9: 1 to 8 are allowed"),
    ("--nodes=9 --gateways=0", "nodes 9: 1 to 8 are allowed; gateways 0: 1 to 8 are allowed"),
    ("--without=assets", "nothing is left without assets\nwhat to do: "),
    ("--without=nonsense", "no part or group is called nonsense\nwhat to do: there are: "),
    ("", "the lab makes namespaces and control groups, which only root may\nwhat to do: run it as root"),
]


class Told:
    """The answers, by the words of their command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: dict[str, Answer] = {}

    def __getitem__(self, words: str) -> Answer:
        if words not in self.answers:
            pytest.skip("only root makes and ends labs")
        return self.answers[words]

    def ask(self, lines: list[str]) -> None:
        printed = apart.run(SCRIPT, self.folder, json.dumps([line.split() for line in lines])).splitlines()
        asked = [line for line in lines if line != GIVE_UP_ROOT]
        self.answers = {line: msgspec.json.decode(one, type=Answer) for line, one in zip(asked, printed, strict=True)}

    def place(self, name: str) -> Place:
        return Place(self.folder / "state/labs" / name)

    def wish(self, name: str) -> Path:
        self.place(name).make()
        self.place(name).spec.write_bytes(msgspec.json.encode(Spec(name=name)))
        return self.place(name).spec


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    refused = [f"up {words}" for words, _ in AS_ANYBODY]
    with TemporaryDirectory(prefix="it's-", dir="/tmp") as folder:  # Unix sockets want a short path
        there = Told(Path(folder))
        there.wish(OWN)
        there.wish(HALF)
        there.place(HALF).log_of("neutron").write_text("one\ntwo\nthree\n")
        (there.folder / "state/beside").mkdir()
        as_root = [*(words for words, *_ in AS_ROOT), *NO_NAMES, GIVE_UP_ROOT]
        try:
            there.ask([*(as_root if os.geteuid() == 0 else []), *refused])
            yield there
        finally:
            if os.geteuid() == 0:  # nothing of them runs, unless a command did what it should have refused
                Cage(OWN).kill()
                Cage(HALF).kill()


@pytest.mark.parametrize(("words", "code", "out", "err"), AS_ROOT, ids=[words for words, *_ in AS_ROOT])
def test_each_command_says_what_happened(words: str, code: int, out: str, err: str, told: Told) -> None:
    answer = told[words]
    assert answer.code == code
    assert out in answer.out
    assert answer.err.startswith(f"mooring lab: {err}" if err else "")
    assert bool(answer.err) is bool(err)


@pytest.mark.parametrize(("words", "expected"), AS_ANYBODY, ids=[words for words, _ in AS_ANYBODY])
def test_a_lab_that_cannot_be_made_is_refused_with_the_reason(words: str, expected: str, told: Told) -> None:
    answer = told[f"up {words}"]
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"mooring lab: {expected}")


def test_a_list_of_all_labs_names_each(told: Told) -> None:
    lines = [line.split() for line in told["status --all"].out.splitlines()]
    assert [HALF, "remains", "0", "processes", str(told.place(HALF).root)] in lines


def test_what_is_shown_as_json_is_what_was_seen(told: Told) -> None:
    seen = json.loads(told[f"status --name {HALF} --output json"].out)
    assert (seen["name"], seen["ready"]) == (HALF, False)
    assert {"part", "group", "host", "state", "pid", "memory", "seconds"} == set(seen["parts"][0])


def test_what_a_shell_is_given_is_quoted(told: Told) -> None:
    script = told[f"env --name {HALF}"].out + 'printf %s "$KUBECONFIG"'
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert (shell.stdout, shell.stderr) == (str(told.place(HALF).kubeconfig), "")


@pytest.mark.parametrize("words", [f"kill --name {HALF} etcd", f"exec --name {HALF} n1 true"])
def test_what_to_do_is_to_be_done_to_the_lab_that_was_asked_for(words: str, told: Told) -> None:
    advice = re.findall("`(mooring lab .*?)`", told[words].err)
    assert advice
    assert all(f"--name {HALF}" in each for each in advice)


@pytest.mark.parametrize("words", NO_NAMES)
def test_a_name_that_is_none_ends_nothing(words: str, told: Told) -> None:
    answer = told[words]
    assert (answer.code, answer.out) == (1, "")
    assert NAMES in answer.err


def test_neither_labs_nor_what_lies_beside_them_went_with_a_name_that_is_none(told: Told) -> None:
    assert set(told.answers) > set(NO_NAMES) or os.geteuid() != 0
    assert (told.folder / "state/beside").exists()
    assert told.place(HALF).spec.exists()


OPEN = """
import sys
from mooring.lab.errors import LabError
from mooring.lab.lab import open_lab

try:
    open_lab("torn")
except LabError as error:
    print(error.what, error.hint, sep="\\n")
"""


@pytest.mark.parametrize("text", ['{"name": "to', '{"name": "torn", "colour": "red"}'], ids=["torn", "unknown field"])
def test_a_spec_that_cannot_be_read_is_told_with_what_to_do(text: str, tmp_path: Path) -> None:
    Told(tmp_path).wish("torn").write_text(text)
    [what, hint] = apart.run(OPEN, tmp_path).splitlines()
    assert "spec.json" in what
    assert "`mooring lab down --name torn`" in hint


def test_a_folder_that_is_no_lab_is_passed_over(tmp_path: Path) -> None:
    Told(tmp_path).wish("own")
    (tmp_path / "state/labs/lost+found").mkdir()
    assert apart.run("from mooring.lab import place; print(place.lab_names())", tmp_path) == "['own']\n"
