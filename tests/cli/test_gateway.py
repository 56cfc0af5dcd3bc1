"""`mooring gateway`: what it shows, and what it refuses."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from mooring.core.surveyed import Asked, Leader, Sights, Survey
from mooring.model.gateway import Held, State, Vrrp
from mooring.model.reports import GatewaysReport
from tests.looking import WHOLE, mooring, seeing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TWO = WHOLE + "[gateways.g2]\nagent = 'g2:9443'\nport = 'p2'\n"
WELL = State(Held(3, 7, "x"), Vrrp.MASTER, version="1.0", connections=12, certificate_ends=1_800_000_000)
SILENT = "its agent does not answer: no route to host"


def survey(first: State | None = WELL, second: State | None = WELL, *, drained: str = "") -> Survey:
    asked = tuple(
        Asked(name, state, failure="" if state else SILENT) for name, state in (("g1", first), ("g2", second))
    )
    leader = Leader("c1", NOW, NOW, 15.0, 3, frozenset(drained.split()))
    return Survey(Sights(NOW, leader, (), (), asked, None))


def test_the_list(tmp_path: Path) -> None:
    backup = State(Held(), Vrrp.BACKUP, stale=True)
    run = mooring(seeing(survey(second=backup, drained="g2")), tmp_path, "gateway", "list", config=TWO)
    assert run.exit_code == 0
    assert run.output.splitlines() == [
        "GATEWAY  ANSWERS  VRRP    DRAINED  UP TO DATE  CONNECTIONS  CERTIFICATE UNTIL  VERSION",
        "g1       yes      master  no       unknown     12           2027-01-15         1.0",
        "g2       yes      backup  yes      stale       0            unknown",
    ]


def test_one_that_does_not_answer(tmp_path: Path) -> None:
    run = mooring(seeing(survey(second=None)), tmp_path, "gateway", "list", config=TWO)
    assert run.exit_code == 3
    assert run.output.splitlines()[-1] == f"Missing: gateway g2: {SILENT}."


def test_json(tmp_path: Path) -> None:
    run = mooring(seeing(survey(drained="g1")), tmp_path, "gateway", "list", "-o", "json", config=TWO)
    found = msgspec.json.decode(run.stdout, type=GatewaysReport)
    assert [(each.name, each.drained, each.certificate_ends) for each in found.gateways] == [
        ("g1", True, "2027-01-15"),
        ("g2", False, "2027-01-15"),
    ]


@pytest.mark.parametrize(
    ("seen", "name", "told"),
    [
        (survey(), "g3", "There is no gateway 'g3'. The configuration has g1, g2."),
        (survey(second=None), "g1", "Gateway g1 is the last one that could hold the addresses"),
        (survey(drained="g2"), "g1", "Gateway g1 is the last one that could hold the addresses"),
    ],
    ids=["unknown", "silent", "drained"],
)
def test_what_cannot_be_drained(seen: Survey, name: str, told: str, tmp_path: Path) -> None:
    run = mooring(seeing(seen), tmp_path, "gateway", "drain", name, config=TWO)
    assert run.exit_code == 1
    assert told in run.output


@pytest.mark.parametrize("words", [("drain", "g1"), ("drain", "g1", "--force"), ("undrain", "g1")])
def test_without_kubernetes_nothing_is_written(words: tuple[str, ...], tmp_path: Path) -> None:
    """It is allowed, and goes as far as to the API server."""
    config = TWO + f"[kubernetes]\nkubeconfig = '{tmp_path}/none'\n"
    seen = survey(second=None) if "--force" in words else survey()
    run = mooring(seeing(seen), tmp_path, "gateway", *words, config=config)
    assert run.exit_code == 2
    assert "The Kubernetes API cannot be used" in run.output
