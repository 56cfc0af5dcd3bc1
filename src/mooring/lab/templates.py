"""Configuration files from the templates in `data`; a name that is left over is an error."""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from mooring.lab import place


def text(name: str, values: Mapping[str, object]) -> str:
    """A template of ours, filled in."""
    return Template((place.DATA / name).read_text()).substitute({key: str(value) for key, value in values.items()})


def write(name: str, target: Path, values: Mapping[str, object]) -> Path:
    """Fill in a template and write it; returns where it is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text(name, values))
    return target
