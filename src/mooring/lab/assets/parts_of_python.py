"""Which files of this machine and this environment a program in Python needs, by their places in an image.

Nothing is guessed from names: packages come from what they require of each other, libraries from the loader itself.
"""

import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from mooring.lab import processes
from mooring.lab.errors import LabError

EXECUTABLE = Path(sys.executable).resolve()
STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
# Folders of the standard library and of packages that only their own developers, or a screen, need.
NOT_NEEDED = frozenset(
    ("__pycache__", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tests", "tkinter", "turtledemo")
) | {"site-packages", "dist-packages"}
# Modules that draw in libraries of graphics, terminals, sound and Sun's yellow pages.
NOT_NEEDED_MODULES = frozenset(("_curses", "_curses_panel", "_tkinter", "nis", "ossaudiodev", "readline"))

_REQUIRED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[(?P<extras>[^]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")
_LOADED = re.compile(r"(/\S+) \(0x")


def interpreter() -> dict[str, Path]:
    """Python and its standard library, where they are on this machine."""
    files = (
        file
        for file in files_below(STANDARD_LIBRARY)
        if not file.relative_to(STANDARD_LIBRARY).parts[0].startswith("config-")
        and file.name.partition(".")[0] not in NOT_NEEDED_MODULES
    )
    return {_target(file): file for file in (EXECUTABLE, *files)}


def packages(name: str) -> dict[str, Path]:
    """The files of everything that a package requires, without its own; relative to the folder of packages."""
    found = {}
    for each in sorted(required(name) - {_normal(name)}):
        for listed in _files(metadata.distribution(each)):
            file = Path(str(listed.locate()))
            if not NOT_NEEDED & set(listed.parts) and ".." not in listed.parts and file.is_file():
                found[str(listed)] = file
    return found


def description(name: str) -> dict[str, Path]:
    """The file by which a package knows its own version; relative to the folder of packages."""
    return {
        str(each): Path(str(each.locate()))
        for each in _files(metadata.distribution(name))
        if each.name == "METADATA" and each.parent.suffix == ".dist-info"
    }


def required(name: str) -> set[str]:
    """A package and all that it requires here. What is not installed was not required: a marker said so."""
    found: set[str] = set()
    waiting = [(name, frozenset[str]())]
    seen = set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        name, extras = here
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found.add(_normal(name))
        waiting += _requirements(distribution, extras)
    return found


def libraries(files: Iterable[Path]) -> dict[str, Path]:
    """The shared libraries that programs and extension modules among these files are loaded with."""
    given = set(files)
    loaded = sorted(str(file) for file in given if file.suffix == ".so" or ".so." in file.name or file == EXECUTABLE)
    found = {Path(line) for line in _LOADED.findall(processes.run(["ldd", *loaded]))}
    return {_target(file): file for file in sorted(found - given)}


def files_below(folder: Path) -> Iterator[Path]:
    """All files that somebody needs, in order."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not NOT_NEEDED & set(file.relative_to(folder).parts):
            yield file


def _requirements(distribution: metadata.Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in distribution.requires or ():
        wanted, _, marker = line.partition(";")
        of_extra = _EXTRA.search(marker)
        if of_extra and of_extra["extra"] not in extras:
            continue
        if parsed := _REQUIRED.match(wanted.strip()):
            asked = frozenset(each.strip() for each in (parsed["extras"] or "").split(",") if each.strip())
            yield parsed["name"], asked


def _files(distribution: metadata.Distribution) -> list[metadata.PackagePath]:
    if distribution.files is None:
        name = distribution.metadata["Name"]
        raise LabError(f"the package {name} has no list of its files", hint="make the environment anew with `make`")
    return distribution.files


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _target(file: Path) -> str:
    return str(file).lstrip("/")
