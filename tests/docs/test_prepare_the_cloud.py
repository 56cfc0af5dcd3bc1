"""What the guide says that a cloud has to have is what Mooring relies on."""

from mooring.core import cloud_findings
from tests.docs.blocks import ROOT


def test_the_guide_names_each_extension_that_is_needed() -> None:
    page = (ROOT / "docs/guides/prepare-the-cloud.md").read_text()
    listed = [line for line in page.splitlines() if line in cloud_findings.EXTENSIONS]
    assert listed == sorted(cloud_findings.EXTENSIONS)
