"""A copy of the source that a test may break."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy_python_to(target: Path) -> None:
    """Copy what the linter and the interpreter look at; the lab's data is large and is left out."""
    shutil.copy(ROOT / "pyproject.toml", target)
    for file in (ROOT / "src" / "mooring").rglob("*.py"):
        copy = target / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)


def write_module(root: Path, name: str, text: str) -> None:
    """Put a module, given by its path below `mooring`, into a copy; its package is made if need be."""
    file = root / "src" / "mooring" / name
    file.parent.mkdir(exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(text + "\n")
