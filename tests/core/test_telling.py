"""What is worth an event."""

import pytest

from mooring.core import telling
from mooring.model.kubernetes import Ingress, LoadBalancerStatus, Meta, Service, ServiceSpec, ServiceStatus
from mooring.model.steps import Publish


@pytest.mark.parametrize(
    ("had", "has", "note"),
    [
        (["10.0.0.5"], ["10.0.0.6"], "It moves from 10.0.0.5 to 10.0.0.6."),
        (
            ["10.0.0.5", "fd00::5"],
            ["10.0.0.6", "fd00::6"],
            "It moves from 10.0.0.5 and fd00::5 to 10.0.0.6 and fd00::6.",
        ),
        (["10.0.0.5", "fd00::5"], ["10.0.0.6"], "It moves from 10.0.0.5 and fd00::5 to 10.0.0.6."),
        (["10.0.0.5", "fd00::5"], ["10.0.0.5"], ""),
        (["10.0.0.5"], ["10.0.0.5", "fd00::5"], ""),
        (["10.0.0.5"], ["10.0.0.5"], ""),
        ([], ["10.0.0.6"], ""),
        ([None], ["10.0.0.6"], ""),
        (["10.0.0.5"], [None], ""),
    ],
)
def test_who_moves_says_from_where_to_where(had: list[str | None], has: list[str | None], note: str) -> None:
    assert [each.note for each in telling.moved(had, has)] == ([note] if note else [])


FOUR, SIX, OTHER = "10.0.0.5", "fd00::5", "10.0.0.9"
BOTH = ("IPv4", "IPv6")


@pytest.mark.parametrize(
    ("families", "shown", "shows", "told"),
    [
        (("IPv4",), (), (FOUR,), ("Normal", "Published", f"Its address is {FOUR}.")),
        (BOTH, (FOUR,), (FOUR, SIX), ("Normal", "Published", f"Its address is {FOUR} and {SIX}.")),
        # its owner gave a family up
        (("IPv4",), (FOUR, SIX), (FOUR,), ("Normal", "Withdrawn", f"{SIX} is no longer its address.")),
        ((), (FOUR, SIX), (FOUR,), ("Normal", "Withdrawn", f"{SIX} is no longer its address.")),
        # somebody wrote there
        (BOTH, (FOUR, SIX), (FOUR,), ("Warning", "Restored", f"It showed {FOUR}, {SIX}, which is not its address;")),
        (("IPv4",), (FOUR, OTHER), (FOUR,), ("Warning", "Restored", f"It showed {FOUR}, {OTHER}, which is not its")),
        (("IPv4",), (SIX,), (FOUR,), ("Warning", "Restored", f"It showed {SIX}, which is not its address;")),
    ],
)
def test_who_gets_or_gives_up_a_family_is_not_warned(
    families: tuple[str, ...], shown: tuple[str, ...], shows: tuple[str, ...], told: tuple[str, str, str]
) -> None:
    status = ServiceStatus(LoadBalancerStatus(tuple(map(Ingress, shown))))
    [found] = telling.news(Service(Meta(), ServiceSpec(ip_families=families), status), Publish(shows))
    assert (found.type, found.reason) == told[:2]
    assert found.note.startswith(told[2])
