"""Mooring itself as an image, without a registry or an index: made from this machine's Python and this environment.

Two layers: Python with the packages that Mooring needs at run time, which hardly ever change; and Mooring as it is now,
installed or edited in a checkout, made anew within a second. deploy/Containerfile is the image for everybody else.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

import mooring
from mooring.lab import place, processes
from mooring.lab.assets import archives, parts_of_python, store
from mooring.lab.assets.archives import Image

IMAGE = "docker.io/mooring/mooring:1"
USER = 65532
HOME = "opt/mooring"
"""Where packages are. It is on Python's path by the image's environment."""
KEPT = 3
"""So many of the newest archives stay in the cache: each is large, and an edited source makes another one."""

_RECIPE = "1"
_LAYER = "layer.tar"
_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_TEXTS = {
    "etc/passwd": f"root:x:0:0::/:/nologin\nmooring:x:{USER}:{USER}::/:/nologin\n",
    "etc/group": f"root:x:0:\nmooring:x:{USER}:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
_FOLDERS = ("dev", "etc/mooring", "proc", "sys", "tmp")
_COMMAND = """#!/usr/bin/python3
from mooring.cli.main import main
main(prog_name="mooring")
"""
_ENVIRONMENT = (
    "PATH=/usr/bin",
    "LANG=C.UTF-8",
    f"PYTHONPATH=/{HOME}",
    "PYTHONDONTWRITEBYTECODE=1",
    f"SSL_CERT_FILE={_BUNDLE}",
)


class Contents(msgspec.Struct, frozen=True):
    """What a layer holds, by places in the image. A text that names its interpreter can be started."""

    files: Mapping[str, Path]
    texts: Mapping[str, str]
    links: Mapping[str, str] = {}
    folders: tuple[str, ...] = ()

    def described(self) -> Iterator[str]:
        """All but the contents of files."""
        yield from self.files
        yield from self.folders
        for pairs in (self.texts, self.links):
            for pair in pairs.items():
                yield from pair


def ensure() -> Path:
    """Have the archive of Mooring as it is now in the cache, as `ctr images import` takes it."""
    lower, upper = _lower(), _upper()
    # Those below are too many to be read each time: an age and a size stand for a content.
    base_key = store.key(_RECIPE, sys.version, *lower.described(), *map(_fact, lower.files.values()))
    base = store.ensure(place.CACHE / f"mooring-base-{base_key}", lambda draft: _make_layer(draft, lower))
    key = store.key(_RECIPE, base_key, *_ENVIRONMENT, *upper.described(), *upper.files.values())
    folder = store.ensure(place.CACHE / f"mooring-image-{key}", lambda draft: _make_image(draft, base, upper))
    for newest in (base, folder):
        os.utime(newest)
        _forget_old(newest)
    return folder / "image.tar"


def _lower() -> Contents:
    """Python, packages, libraries, and what a system has in /etc."""
    packages = {f"{HOME}/{name}": file for name, file in parts_of_python.packages("mooring").items()}
    files = parts_of_python.interpreter() | packages
    if _BUNDLE.exists():
        files[str(_BUNDLE).lstrip("/")] = _BUNDLE
    files |= parts_of_python.libraries(files.values())
    return Contents(files, texts=_TEXTS, links={"usr/bin/python3": str(parts_of_python.EXECUTABLE)}, folders=_FOLDERS)


def _upper() -> Contents:
    """Mooring's own files, wherever they are imported from."""
    source = Path(mooring.__file__).parent
    files = {f"{HOME}/mooring/{file.relative_to(source)}": file for file in parts_of_python.files_below(source)}
    files |= {f"{HOME}/{name}": file for name, file in parts_of_python.description("mooring").items()}
    return Contents(files, texts={"usr/bin/mooring": _COMMAND})


def _fact(file: Path) -> str:
    seen = file.stat()
    return f"{seen.st_size} {seen.st_mtime_ns}"


def _make_layer(draft: Path, contents: Contents) -> None:
    """Lay everything out as it will be in the image, compiled, and pack it."""
    root = draft / "root"
    for folder in contents.folders:
        (root / folder).mkdir(parents=True)
    for target in (*contents.files, *contents.texts, *contents.links):
        (root / target).parent.mkdir(parents=True, exist_ok=True)
    for target, file in contents.files.items():
        shutil.copy(file, root / target)
    for target, text in contents.texts.items():
        (root / target).write_text(text)
        (root / target).chmod(0o755 if text.startswith("#!") else 0o644)
    for target, other in contents.links.items():
        (root / target).symlink_to(other)
    _compile(root)
    (draft / _LAYER).write_bytes(archives.layer_of(root))
    shutil.rmtree(root)


def _compile(root: Path) -> None:
    """Python may not write where it runs, and would compile everything at each start.

    What is compiled is never held against its source, whose age a layer does not keep.
    """
    compiler = [sys.executable, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    processes.run([*compiler, "-s", root, "-p", "/", root])


def _make_image(draft: Path, base: Path, upper: Contents) -> None:
    _make_layer(draft, upper)
    layers = ((base / _LAYER).read_bytes(), (draft / _LAYER).read_bytes())
    archives.write(
        draft / "image.tar", [Image(IMAGE, layers, ("/usr/bin/mooring",), _ENVIRONMENT, user=f"{USER}:{USER}")]
    )
    (draft / _LAYER).unlink()


def _forget_old(newest: Path) -> None:
    """Of the same kind; who is about to read one used it last, and so it stays."""
    kind = newest.name.rpartition("-")[0]
    made = [each for each in place.CACHE.glob(f"{kind}-*") if each.suffix != ".draft"]
    for old in sorted(made, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
