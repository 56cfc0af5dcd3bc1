"""The guide lists what is read of other load balancers, each beside what it is read as."""

import re

from mooring.model import names
from tests.docs import blocks

PAGE = (blocks.ROOT / "docs" / "guides" / "addresses.md").read_text()
ROW = re.compile(r"^\| (?P<theirs>`.+`) \| `(?P<ours>openstack\.org/[^`]+)`", re.MULTILINE)


def test_the_table_is_what_is_read() -> None:
    rows = {row["ours"]: tuple(re.findall(r"`([^`]+)`", row["theirs"])) for row in ROW.finditer(PAGE)}
    assert rows == names.ALIKE


def test_the_list_of_what_nobody_does_is_what_is_told() -> None:
    page = (blocks.ROOT / "docs" / "guides" / "adopt.md").read_text()
    items = re.findall(r"^- `(\S+)`: ((?:.|\n  )+)$", page, re.MULTILINE)
    assert {f"{prefix}/{name}" for prefix, told in items for name in re.findall(r"`([^`]+)`", told)} == names.NOT_DONE
