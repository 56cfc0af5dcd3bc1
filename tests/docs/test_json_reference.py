"""The page on commands names everything that `-o json` prints."""

from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

from mooring.model import reports
from tests.docs import blocks

PAGE = (blocks.ROOT / "docs" / "reference" / "commands.md").read_text()


def structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """A struct, and all that it is made of."""
    yield kind
    for each in msgspec.structs.fields(kind):
        for inner in (each.type, *get_args(each.type)):
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                yield from structs(inner)


@pytest.mark.parametrize(
    "kind",
    [
        reports.StatusReport,
        reports.WhyReport,
        reports.PlanReport,
        reports.GatewaysReport,
        reports.WhoReport,
        reports.OrphansReport,
        reports.UninstallReport,
        reports.DoctorReport,
    ],
)
def test_every_field_is_documented(kind: type[msgspec.Struct]) -> None:
    fields = {name for each in structs(kind) for name in each.__struct_fields__}
    assert len(fields) >= 5
    assert sorted(name for name in fields if f"`{name}`" not in PAGE) == []


def test_every_state_and_mark_is_documented() -> None:
    words = (*get_args(reports.State), *get_args(reports.Mark))
    assert [word for word in words if f"`{word}`" not in PAGE] == []
