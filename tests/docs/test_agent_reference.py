"""The page on the agent: its examples are what the agent takes and gives, and it names every path, refusal and file."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import prometheus_client
import pytest
from starlette.routing import Route

from mooring.agent import app, main
from mooring.agent.counting import Counting
from mooring.agent.metrics import Metrics
from mooring.core.gateway_checks import Reason
from mooring.core.told import Told
from mooring.host import journal, settings
from mooring.host.keepalived_files import Files
from mooring.host.nftables import Nftables
from mooring.model.config import Config
from mooring.model.gateway import Clients, Counters, Delta, Document, Heartbeat, Probes, Refusal, State, Vrrp
from tests.docs import blocks
from tests.silent import SILENT

PAGE = (blocks.ROOT / "docs" / "reference" / "agent.md").read_text()
EXAMPLES = {each.note: "\n".join(each.lines) for each in blocks.blocks(PAGE, "agent.md") if each.kind == "file"}


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("document.json", Document),
        ("delta.json", Delta),
        ("heartbeat.json", Heartbeat),
        ("state.json", State),
        ("clients.json", Clients),
        ("counters.json", Counters),
        ("probes.json", Probes),
        ("refusal.json", Refusal),
    ],
)
def test_an_example_has_every_field_and_no_other(file: str, kind: type[msgspec.Struct]) -> None:
    body = EXAMPLES[file]
    again = msgspec.json.encode(msgspec.json.decode(body, type=kind))
    assert msgspec.json.decode(again) == msgspec.json.decode(body)


def test_an_agent_would_take_the_document() -> None:
    document = msgspec.json.decode(EXAMPLES["document.json"], type=Document)
    told = Told()
    told.follow(told.change(document))
    assert msgspec.json.decode(EXAMPLES["state.json"], type=State).held == document.held == told.held
    delta = msgspec.json.decode(EXAMPLES["delta.json"], type=Delta)
    assert delta.base == document.held
    assert told.change(delta).told == delta.digest


def test_every_path_stands_there() -> None:
    gateway = main.build(Config(), SILENT)
    with ThreadPoolExecutor(1) as hand:
        served = app.app(
            gateway,
            hand,
            Metrics(prometheus_client.CollectorRegistry()),
            Counting(gateway.rules, Nftables()),
        )
    routes = [each for each in served.routes if isinstance(each, Route)]
    ways = {(method, each.path) for each in routes for method in (each.methods or set()) - {"HEAD"}}
    assert ways == set(re.findall(r"^\| `(\w+) (/\S+)` \|", PAGE, flags=re.MULTILINE))


def test_every_refusal_stands_there() -> None:
    rows = re.findall(r"^\| `(\w+)` \| \d{3} \|", PAGE, flags=re.MULTILINE)
    assert rows == [each.value for each in Reason]


def test_every_file_stands_there() -> None:
    of_keepalived = {
        getattr(Files(Path()), name).name for name, kind in vars(Files).items() if isinstance(kind, property)
    }
    files = {journal.NAME, journal.READY, *of_keepalived}
    assert len(files) > 5
    assert sorted(file for file in files if f"`{file}`" not in PAGE) == []


def test_every_state_of_vrrp_and_every_setting_stands_there() -> None:
    words = [*(each.value for each in Vrrp), *(each.name for each in settings.needs("INTERFACE"))]
    assert [word for word in words if f"`{word}`" not in PAGE] == []
