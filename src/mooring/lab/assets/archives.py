"""How container images travel without a registry: as `docker save` writes them and `ctr images import` reads them.

Knows nothing of what is in an image. The same files give the same bytes.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

EVERYBODY = 0o1777
"""A folder in which everybody may write, and nobody may remove what is of others."""
_EXECUTABLE = 0o100


class Image(msgspec.Struct, frozen=True):
    """An image: its layers, the lowest first, and how it is started."""

    tag: str
    layers: tuple[bytes, ...]
    entrypoint: tuple[str, ...]
    environment: tuple[str, ...] = ("PATH=/bin",)
    user: str = ""


def layer(files: Mapping[str, bytes], *, links: Mapping[str, str], folders: Sequence[str]) -> bytes:
    """A layer of a few programs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted({str(Path(file).parent) for file in files} - {"."} | set(folders)):
            _add_folder(archive, name, 0o755)
        for name, content in files.items():
            _add_file(archive, name, content, 0o755)
        for name, target in links.items():
            _add_link(archive, name, target)
    return buffer.getvalue()


def layer_of(root: Path) -> bytes:
    """A layer with all that lies below a folder. It belongs to root and has no age."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if path.is_symlink():
                _add_link(archive, name, str(path.readlink()))
            elif path.is_dir():
                _add_folder(archive, name, EVERYBODY if name == "tmp" else 0o755)
            else:
                _add_file(archive, name, path.read_bytes(), 0o755 if path.stat().st_mode & _EXECUTABLE else 0o644)
    return buffer.getvalue()


def write(target: Path, images: Sequence[Image]) -> None:
    """Write the archive; what several images have in common is in it once."""
    manifest, written = [], set()
    with tarfile.open(target, mode="w") as archive:

        def add(name: str, content: bytes) -> None:
            if name not in written:
                written.add(name)
                _add_file(archive, name, content, 0o644)

        for image in images:
            digests = [hashlib.sha256(content).hexdigest() for content in image.layers]
            config = _described(image, digests)
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            for digest, content in zip(digests, image.layers, strict=True):
                add(f"{digest}.tar", content)
            add(name, config)
            layers = [f"{digest}.tar" for digest in digests]
            manifest.append({"Config": name, "RepoTags": [image.tag], "Layers": layers})
        add("manifest.json", json.dumps(manifest).encode())


def _described(image: Image, digests: Sequence[str]) -> bytes:
    settings = {"Entrypoint": list(image.entrypoint), "Env": list(image.environment), "WorkingDir": "/"}
    described = {
        "architecture": "amd64",
        "os": "linux",
        "config": settings | ({"User": image.user} if image.user else {}),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        "history": [{"created_by": "mooring lab"} for _ in digests],
    }
    return json.dumps(described, sort_keys=True).encode()


def _add_folder(archive: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    archive.addfile(entry)


def _add_file(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _add_link(archive: tarfile.TarFile, name: str, target: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    archive.addfile(entry)
