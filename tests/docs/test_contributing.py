"""What a stranger reads first names what there is."""

import re

from mooring.cli.main import main
from tests.source_copy import ROOT


def test_contributing_names_every_package() -> None:
    packages = {each.parent.name for each in (ROOT / "src" / "mooring").glob("*/__init__.py")}
    named = set(re.findall(r"`src/mooring/(\w+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named == packages


def test_the_readme_names_every_tool() -> None:
    """Daemons, and what only prepares something, have guides of their own."""
    others = {"controller", "agent", "config", "pki", "manifests", "completion", "lab"}
    text = (ROOT / "README.md").read_text().partition("## Two commands")[0]
    assert set(re.findall(r"`mooring (\w+)`", text)) == set(main.commands) - others
