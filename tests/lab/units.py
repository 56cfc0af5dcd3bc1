"""`systemctl` for the hosts of a lab, which have no systemd: what it does with Mooring's units, done with its parts."""

import sys
from pathlib import Path

from mooring.lab import product
from mooring.lab.lab import open_lab

SCRIPT = """#!{python}
import sys
sys.path.insert(0, {root!r})
from tests.lab import units
units.systemctl({lab!r}, {host!r}, sys.argv[1:])
"""
STARTS = {"mooring-agent": product.start_agent, "mooring-controller": product.start_controller}


def install(folder: Path, lab: str, host: str) -> None:
    """Put the command into a folder, for one host."""
    folder.mkdir(exist_ok=True)
    root = str(Path(__file__).parents[2])
    (folder / "systemctl").write_text(SCRIPT.format(python=sys.executable, root=root, lab=lab, host=host))
    (folder / "systemctl").chmod(0o755)


def systemctl(name: str, host: str, words: list[str]) -> None:
    """Stop or start a unit. Whether the unit's file is right, other tests tell."""
    verb, unit = words[0], words[-1]
    part = f"{unit.removeprefix('mooring-')}-{host}"
    lab = open_lab(name)
    if verb in {"stop", "restart", "disable"}:
        lab.processes.stop(part, seconds=20, shared=unit == "mooring-agent")  # keepalived outlives it
    if verb in {"start", "restart", "enable"}:
        STARTS[unit](lab, gateway=host)
