"""The files that we share with keepalived, in a folder of ours that nobody else can write to."""

import os
from pathlib import Path

from msgspec import Struct

SCRIPT_MODE = 0o700
UPTIME = Path("/proc/uptime")
SCRIPT = """\
#!/bin/sh
# keepalived asks whether the agent lives, which writes again and again until when it should be taken to do so.
# In hundredths of seconds since the host was started: no clock that somebody sets. What is far off is of another start.
read -r now _ </proc/uptime || exit 1
echo "${now%.*}${now#*.}" 2>/dev/null >"${0%/*}/asked" # so that the agent knows that keepalived does
read -r until <"${0%/*}/alive" || exit 1
left=$((until - ${now%.*}${now#*.}))
[ "$left" -gt 0 ] && [ "$left" -lt 6000 ]
"""


class Files(Struct, frozen=True):
    """Where things are, and what is written there for keepalived beside its configuration."""

    folder: Path

    @property
    def configuration(self) -> Path:
        return self.folder / "keepalived.conf"

    @property
    def draft(self) -> Path:
        return self.folder / "keepalived.new"

    @property
    def pid(self) -> Path:
        return self.folder / "keepalived.pid"

    @property
    def vrrp_pid(self) -> Path:
        return self.folder / "keepalived.vrrp.pid"

    @property
    def reload(self) -> Path:
        return self.folder / "keepalived.reload"

    @property
    def fifo(self) -> Path:
        return self.folder / "keepalived.fifo"

    @property
    def stale(self) -> Path:
        return self.folder / "stale"

    @property
    def alive(self) -> Path:
        return self.folder / "alive"

    @property
    def asked(self) -> Path:
        return self.folder / "asked"

    @property
    def script(self) -> Path:
        return self.folder / "alive.sh"

    def every(self) -> tuple[Path, ...]:
        """All that we, and keepalived, leave here."""
        pids = (self.pid, self.vrrp_pid, self.folder / "keepalived.checkers.pid")
        ours = (self.configuration, self.draft, self.reload, self.fifo, self.stale, self.alive, self.asked, self.script)
        return *pids, *ours, self.script.with_suffix(".new")

    def prepare(self) -> None:
        """All that a configuration of ours mentions, but for the FIFO."""
        self._make_folder()
        self._write_script()
        if not self.stale.exists():
            self.lower(0)

    def lower(self, by: int) -> None:
        self._make_folder()
        self.stale.write_text(f"{-by}\n")

    def lowered(self) -> bool:
        try:
            return int(self.stale.read_text()) < 0
        except (OSError, ValueError):
            return False

    def unasked_for(self) -> float:
        """For how many seconds our script was not run. Nobody knows, if it was never."""
        try:
            return (_now() - int(self.asked.read_text())) / 100
        except (OSError, ValueError):
            return 0.0

    def mark_alive(self, seconds: float) -> None:
        """Tell our script that we live. Written in its place: a full disk has no room for another."""
        self._make_folder()
        until = _now() + round(100 * seconds)
        descriptor = os.open(self.alive, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, f"{until:>16d}\n".encode(), 0)
        finally:
            os.close(descriptor)

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _write_script(self) -> None:
        """Keepalived runs it every second, so it is never half written."""
        script = self.script
        if script.exists() and script.read_text() == SCRIPT and script.stat().st_mode & 0o777 == SCRIPT_MODE:
            return
        draft = script.with_suffix(".new")
        draft.write_text(SCRIPT)
        draft.chmod(SCRIPT_MODE)
        draft.rename(script)


def _now() -> int:
    """Hundredths of seconds since the host was started."""
    return int(UPTIME.read_text().split()[0].replace(".", ""))
