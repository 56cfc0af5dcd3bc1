"""Python in a process of its own, whose labs and caches are below a scratch folder: the real ones stay untouched."""

import os
import subprocess
import sys
from pathlib import Path

PATIENCE = 40  # seconds, on a machine that is busy with something else


def start(script: str, folder: Path, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
    """Begin; the caller waits for the end."""
    own = {"MOORING_STATE": str(folder / "state"), "MOORING_CACHE": str(folder / "cache"), "COLUMNS": "200"}
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=os.environ | own | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: str, folder: Path, *arguments: str | Path, **environment: str) -> str:
    """What the script printed. Its failure is the test's failure."""
    with start(script, folder, *arguments, **environment) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0, errors
    return output
