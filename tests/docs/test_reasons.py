"""Each reason has its entry in the reference, and each event its row."""

import re

import pytest

from mooring.core import explaining, telling
from mooring.model.kubernetes import Ingress, LoadBalancerStatus, Name, Service, ServiceStatus
from mooring.model.reasons import Reason
from mooring.model.steps import Clear, Publish
from tests.docs import blocks

REFERENCE = blocks.ROOT / "docs" / "reference"
REASONS = (REFERENCE / "reasons.md").read_text()
EVENTS = (REFERENCE / "events.md").read_text()
SHOWN = Service(status=ServiceStatus(LoadBalancerStatus((Ingress("192.0.2.1"),))))


def entries() -> dict[str, str]:
    """What stands below each heading."""
    parts = re.split(r"^## (.+)$", REASONS, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_reason_has_an_entry_and_every_entry_a_reason() -> None:
    assert list(entries()) == [each.value for each in Reason]


@pytest.mark.parametrize("reason", list(Reason))
def test_an_entry_says_what_it_means_who_told_it_and_what_to_do(reason: Reason) -> None:
    lines = [line.partition(":")[0] for line in entries()[reason.value].splitlines() if line.startswith("- ")]
    assert lines == ["- Means", "- Told by", "- To do"]


def test_the_table_has_every_reason_with_its_link() -> None:
    assert [each.value for each in Reason if f"[{each.value}](#{each.value.lower()})" not in REASONS] == []


def test_reasons_of_the_cloud_can_all_be_told() -> None:
    """A reason without a sentence on what to do would end the controller's telling."""
    told = {Reason.QUOTA_EXCEEDED, Reason.NO_MORE_ADDRESSES, Reason.CLOUD_FORBIDS, Reason.CLOUD_REFUSES}
    told |= {Reason.PAIRS_LIMIT, Reason.NOT_LET_IN}
    assert set(explaining.FIXES) == told | {Reason.CLOUD_UNREACHABLE, Reason.WISH_REFUSED}


def test_every_event_of_a_step_has_a_row() -> None:
    steps = ((Service(), Publish(("192.0.2.1",))), (SHOWN, Publish(("192.0.2.2",))), (SHOWN, Clear()))
    moved = (*telling.moved(["192.0.2.1"], ["192.0.2.2"]), telling.kept("192.0.2.1", Name("shop", "twin")))
    told = {(news.reason, news.type) for service, step in steps for news in (*telling.news(service, step), *moved)}
    assert told == set(re.findall(r"^\| `(\w+)` \| (\w+) \|", EVENTS, flags=re.MULTILINE))
