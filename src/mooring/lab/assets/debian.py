"""Programs from Debian: those of this machine's release are installed, those of the next one only unpacked."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mooring.lab import processes
from mooring.lab.assets import store
from mooring.lab.errors import CommandError, LabError

PACKAGES = (
    "busybox-static",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "curl",
    "ethtool",
    "iproute2",
    "iputils-ping",
    "keepalived",
    "mariadb-server",
    "nftables",
    "procps",
    "runc",
    "tcpdump",
    "util-linux",
)
_NO_QUESTIONS = {"DEBIAN_FRONTEND": "noninteractive"}
# Debian asks this file before it starts a daemon; 101 = no.
_POLICY = Path("/usr/sbin/policy-rc.d")
_NO_DAEMONS = "#!/bin/sh\n# while packages for the Mooring lab are installed\nexit 101\n"


def missing() -> list[str]:
    """Packages that this machine still lacks."""
    if shutil.which("dpkg-query") is None:
        raise LabError("this machine is no Debian: dpkg-query is missing", hint="run the lab on Debian 12")
    with suppress(CommandError):
        shown = processes.run(["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *PACKAGES])
        return [name for name in PACKAGES if f"{name} installed" not in shown.splitlines()]
    return [name for name in PACKAGES if not _installed(name)]


def install() -> None:
    """Install what is missing; the daemons that come with it are not started."""
    with store.locked("debian"):
        if _POLICY.exists() and _POLICY.read_text() == _NO_DAEMONS:  # left there by one that was killed
            _POLICY.unlink()
        names = missing()
        if not names:
            return
        apt = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300"]
        processes.run([*apt, "update"], env=_NO_QUESTIONS)
        processes.run(["dpkg", "--configure", "-a"], env=_NO_QUESTIONS)  # what was interrupted before
        ours = not _POLICY.exists()
        if ours:
            _POLICY.write_text(_NO_DAEMONS)
            _POLICY.chmod(0o755)
        try:
            processes.run([*apt, "install", "--no-install-recommends", *names], env=_NO_QUESTIONS)
        finally:
            if ours:
                _POLICY.unlink()


def unpack(suite: str, packages: Sequence[str], target: Path) -> Path:
    """Fetch packages of another release, with all that they need, and unpack them below `target`."""
    apt, root = target / "apt", target / "root"
    for folder in ("lists/partial", "cache/archives/partial", "etc"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "etc/sources.list").write_text(f"deb [signed-by={key}] {_mirror()} {suite} main\n")
    options = {
        "Dir::Etc::sourcelist": apt / "etc/sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": apt / "lists",
        "Dir::Cache": apt / "cache",
        "Dir::State::status": apt / "status",
        "APT::Sandbox::User": "root",
    }
    command = ["apt-get", "-q", "-y", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    processes.run([*command, "update"])
    processes.run([*command, "--download-only", "--no-install-recommends", "install", *packages])
    for archive in sorted((apt / "cache/archives").glob("*.deb")):
        processes.run(["dpkg", "-x", archive, root])
    shutil.rmtree(apt)
    return root


def _mirror() -> str:
    """The mirror that this machine already uses for Debian itself."""
    targets = processes.run(["apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN) $(CODENAME)"])
    for line in targets.splitlines():
        site, _, rest = line.partition(" ")
        if rest.startswith("Debian ") and "security" not in line:
            return site
    raise LabError("apt knows no mirror of Debian", hint="run `apt-get update` and look at /etc/apt/sources.list")


def _installed(package: str) -> bool:
    try:
        return "installed" in processes.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", package])
    except CommandError:
        return False
