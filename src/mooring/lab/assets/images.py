"""Container images without a registry: one archive with all that the lab's pods run."""

from pathlib import Path

from mooring.lab import place
from mooring.lab.assets import archives, golang, store
from mooring.lab.assets.archives import Image

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
    busybox = {"bin/busybox": BUSYBOX.read_bytes()}
    shell = archives.layer(
        busybox,
        links={f"bin/{name}": "busybox" for name in APPLETS},
        folders=("etc", "tmp", "www", "proc", "sys", "dev"),
    )
    coredns = archives.layer(
        {"coredns": (golang.folder_of("coredns", assets=assets) / "coredns").read_bytes()},
        links={},
        folders=("etc", "tmp", "proc", "sys", "dev"),
    )
    archives.write(
        target,
        [
            Image("docker.io/mooring/pause:1", (shell,), ("/bin/sleep", "1000000000")),
            Image("docker.io/mooring/web:1", (shell,), ("/bin/sh", "-c", _WEB)),
            Image("docker.io/mooring/shell:1", (shell,), ("/bin/sleep", "1000000000")),
            Image("docker.io/mooring/coredns:1", (coredns,), ("/coredns",)),
        ],
    )
