"""Sphinx: MyST for the pages, Furo for their look, the reference from the source itself."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Mooring"
author = "The Mooring authors"
release = importlib.metadata.version("mooring")
extensions = ["myst_parser", "reference_pages"]
myst_heading_anchors = 3
smartquotes = False  # quotes in what can be typed have to stay as they are
html_theme = "furo"
html_title = "Mooring"
html_show_copyright = False
