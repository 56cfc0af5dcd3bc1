"""The page that tells how we know lists just the rules that the simulation judges."""

import re

from tests import source_copy
from tests.simulation.properties import AFTER_EVERY_EFFECT

PAGE = source_copy.ROOT / "docs" / "concepts" / "how-we-know.md"
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


def test_each_rule_has_its_row() -> None:
    _, _, after = PAGE.read_text().partition("| rule | |\n|---|---|\n")
    table, _, _ = after.partition("\n\n")
    assert sorted(ROW.findall(table)) == sorted(AFTER_EVERY_EFFECT)
