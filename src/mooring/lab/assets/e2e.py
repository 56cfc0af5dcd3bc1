"""What Kubernetes' own end-to-end suite needs: the suite itself, and the image of the server that its pods run.

That image is in a registry which not everybody reaches. It is made anew here, under the same name: the server from
Kubernetes' own source, and the programs that tests start in its pods from Debian.
"""

import shutil
from pathlib import Path

from mooring.lab import place, processes
from mooring.lab.assets import archives, debian, golang, openvswitch, store
from mooring.lab.assets.archives import Image

_NAME = "registry.k8s.io/e2e-test-images/agnhost"
_PACKAGES = (
    "bash",
    "bind9-dnsutils",
    "coreutils",
    "curl",
    "dash",
    "grep",
    "hostname",
    "iproute2",
    "iputils-ping",
    "netcat-openbsd",
    "procps",
    "wget",
)
_LINKS = {"usr/bin/nc": "nc.openbsd"}
"""What the packages' own scripts would link, which do not run here."""
_TEXTS = {"etc/wgetrc": "tries = 1\n"}
"""The original has a wget that tries once; twenty times would take minutes where packets are dropped."""
_NOT_NEEDED = ("usr/share", "usr/include", "var")
_ENVIRONMENT = ("PATH=/usr/sbin:/usr/bin",)
_RECIPE = "2"


def suite() -> Path:
    """The suite itself."""
    return golang.folder_of("e2e.test") / "e2e.test"


def image() -> Path:
    """The archive of the image, as `ctr images import` takes it."""
    key = store.key(_RECIPE, golang.folder_of("agnhost").name, openvswitch.SUITE, *_PACKAGES, *_NOT_NEEDED)
    return place.CACHE / f"e2e-image-{key}" / "image.tar"


def ensure() -> None:
    """Have both in the cache; the first time takes minutes."""
    golang.ensure("e2e")
    store.ensure(image().parent, _make_image)


def _make_image(draft: Path) -> None:
    root = debian.unpack(openvswitch.SUITE, _PACKAGES, draft)
    for folder in _NOT_NEEDED:
        shutil.rmtree(root / folder, ignore_errors=True)
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    for name, text in _TEXTS.items():
        (root / name).write_text(text)
    for folder in ("proc", "sys", "dev", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    shutil.copy(golang.folder_of("agnhost") / "agnhost", root / "agnhost")
    layer = archives.layer_of(root)
    archives.write(draft / "image.tar", [Image(f"{_NAME}:{_version()}", (layer,), ("/agnhost",), _ENVIRONMENT)])
    shutil.rmtree(root)


def _version() -> str:
    """The newest that the suite wants; it names an older one too, for a test of upgrades."""
    listed = processes.run([suite(), "--list-images"]).split()
    versions = [each.removeprefix(f"{_NAME}:") for each in listed if each.startswith(f"{_NAME}:")]
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])
