"""What is worth an event."""

import pytest

from mooring.core import telling


@pytest.mark.parametrize(
    ("had", "has", "note"),
    [
        (["10.0.0.5"], ["10.0.0.6"], "It moves from 10.0.0.5 to 10.0.0.6."),
        (
            ["10.0.0.5", "fd00::5"],
            ["10.0.0.6", "fd00::6"],
            "It moves from 10.0.0.5 and fd00::5 to 10.0.0.6 and fd00::6.",
        ),
        (["10.0.0.5", "fd00::5"], ["10.0.0.5"], "It moves from 10.0.0.5 and fd00::5 to 10.0.0.5."),
        (["10.0.0.5"], ["10.0.0.5", "fd00::5"], ""),
        (["10.0.0.5"], ["10.0.0.5"], ""),
        ([], ["10.0.0.6"], ""),
        ([None], ["10.0.0.6"], ""),
        (["10.0.0.5"], [None], ""),
    ],
)
def test_who_moves_says_from_where_to_where(had: list[str | None], has: list[str | None], note: str) -> None:
    assert [each.note for each in telling.moved(had, has)] == ([note] if note else [])
