"""Container images without a registry: one archive with all that the lab's pods run."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mooring.lab import place
from mooring.lab.assets import golang, store

BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "cat", "hostname", "httpd", "ip", "ls", "nc", "nslookup", "ping", "sleep", "wget")
_WEB = "hostname >/www/index.html; exec httpd -f -p 8080 -h /www"
_RECIPE = "1"


def file(*, assets: str = "") -> Path:
    """The archive, as `ctr images import` takes it."""
    return _folder(assets) / "images.tar"


def ensure(*, assets: str = "") -> None:
    """Have the archive in the cache."""
    store.ensure(_folder(assets), lambda draft: _write(draft / "images.tar", assets))


def _folder(assets: str) -> Path:
    coredns = golang.folder_of("coredns", assets=assets)  # named after its content, but for the user's own folder
    content = coredns / "coredns" if assets else coredns.name
    return place.CACHE / f"images-{store.key(_RECIPE, content, BUSYBOX, _WEB, *APPLETS)}"


def _write(target: Path, assets: str) -> None:
    target.write_bytes(_archive(assets))


def _archive(assets: str) -> bytes:
    busybox = {"bin/busybox": BUSYBOX.read_bytes()}
    shell = _layer(
        busybox,
        links={f"bin/{name}": "busybox" for name in APPLETS},
        folders=("etc", "tmp", "www", "proc", "sys", "dev"),
    )
    coredns = _layer(
        {"coredns": (golang.folder_of("coredns", assets=assets) / "coredns").read_bytes()},
        links={},
        folders=("etc", "tmp", "proc", "sys", "dev"),
    )
    return _docker_archive(
        [
            ("docker.io/mooring/pause:1", shell, ["/bin/sleep", "1000000000"]),
            ("docker.io/mooring/web:1", shell, ["/bin/sh", "-c", _WEB]),
            ("docker.io/mooring/shell:1", shell, ["/bin/sleep", "1000000000"]),
            ("docker.io/mooring/coredns:1", coredns, ["/coredns"]),
        ]
    )


def _layer(files: Mapping[str, bytes], *, links: Mapping[str, str], folders: Sequence[str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted({str(Path(file).parent) for file in files} - {"."} | set(folders)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


def _docker_archive(images: Sequence[tuple[str, bytes, list[str]]]) -> bytes:
    buffer, manifest, written = io.BytesIO(), [], set()
    with tarfile.open(fileobj=buffer, mode="w") as archive:

        def add(name: str, content: bytes) -> None:
            if name not in written:
                written.add(name)
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

        for tag, layer, entrypoint in images:
            digest = hashlib.sha256(layer).hexdigest()
            settings = {"Entrypoint": entrypoint, "Env": ["PATH=/bin"], "WorkingDir": "/"}
            described = {
                "architecture": "amd64",
                "os": "linux",
                "config": settings,
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
                "history": [{"created_by": "mooring lab"}],
            }
            config = json.dumps(described, sort_keys=True).encode()
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            add(f"{digest}.tar", layer)
            add(name, config)
            manifest.append({"Config": name, "RepoTags": [tag], "Layers": [f"{digest}.tar"]})
        add("manifest.json", json.dumps(manifest).encode())
    return buffer.getvalue()
