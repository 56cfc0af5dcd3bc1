"""The cache: folders that are there whole or not at all, named after what they were made from."""

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from mooring.lab import locking, place


def key(*ingredients: str | bytes | Path) -> str:
    """A short name for what something is made from; a folder stands for all files below it."""
    digest = hashlib.sha256()
    for ingredient in ingredients:
        for piece in _pieces(ingredient):
            digest.update(hashlib.sha256(piece).digest())
    return digest.hexdigest()[:16]


def ensure(folder: Path, make: Callable[[Path], None]) -> Path:
    """Make a folder of the cache unless it is there; two labs that want it make it once, a crash leaves no half."""
    if folder.exists():
        return folder
    with locked(folder.name):
        if not folder.exists():
            draft = folder.with_name(f"{folder.name}.draft")
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            make(draft)
            draft.rename(folder)
    return folder


def locked(name: str) -> AbstractContextManager[None]:
    """Only one process at a time makes a thing of the cache."""
    return locking.held(place.CACHE / f".{name}.lock")


def _pieces(ingredient: str | bytes | Path) -> Iterator[bytes]:
    if isinstance(ingredient, str):
        yield ingredient.encode()
    elif isinstance(ingredient, bytes):
        yield ingredient
    elif ingredient.is_dir():
        for file in sorted(
            path for path in ingredient.rglob("*") if path.is_file() and "__pycache__" not in path.parts
        ):
            yield str(file.relative_to(ingredient)).encode()
            yield file.read_bytes()
    else:
        yield ingredient.read_bytes()
