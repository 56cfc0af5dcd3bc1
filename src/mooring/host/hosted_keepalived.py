"""The keepalived that the host runs anyway: it includes a file of ours, and is told to read it by the host's command.

Who starts it, and all that holds for the whole of it, is the host's business. It gives no sign when it has read its
configuration, nor does it tell us what it has become: a master is known by its addresses, a backup is trusted.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from mooring.host import commands
from mooring.host.keepalived import PROGRAM, SECONDS, Instances, Keepalived, KeepalivedError, command_line, short, told
from mooring.model.gateway import Vrrp

UNSAFE = "script_security not enabled"


class Hosted(Struct, frozen=True):
    """Where the host's keepalived is, and how it is told."""

    file: Path
    """What we write."""
    main: Path
    """What includes it."""
    pid_file: Path
    reload: tuple[str, ...]
    seconds: float = 10.0
    """The most that `reload` may take."""


class HostedKeepalived(Keepalived):
    def __init__(
        self, folder: Path, instances: Instances, hosted: Hosted, *, program: str = PROGRAM, seconds: float = SECONDS
    ) -> None:
        super().__init__(folder, instances, program=program, seconds=seconds)
        self._hosted = hosted
        self._configuration = hosted.file
        self._draft = hosted.file.with_name(f".{hosted.file.name}.new")  # hidden from who includes all of a folder

    def changes(self) -> int | None:
        return None

    def hangs(self) -> bool:
        """To end it is the host's business."""
        return False

    def leave(self) -> None:
        """The host's keepalived goes on, without our part."""
        with told():
            self._draft.unlink(missing_ok=True)
            self._configuration.unlink(missing_ok=True)
        if self.running():
            self._follow()

    def heard(self) -> dict[str, Vrrp]:
        return {}

    def _place(self, text: str) -> None:
        """Tested in its place, as a part of the whole; back goes the one before if the whole is refused."""
        if not text.strip():
            raise KeepalivedError("keepalived is given no configuration: the text is empty")
        self._check_running()
        self._check_included()
        before = self.configuration()
        self._draft.write_text(text)
        self._draft.rename(self._configuration)
        try:
            self._test(self._hosted.main)
        except KeepalivedError as error:
            self._put_back(before)
            if UNSAFE in str(error):
                advice = f"put enable_script_security into global_defs of {self._hosted.main}"
                raise KeepalivedError(f"{error}; {advice}") from error
            raise

    def _follow(self) -> None:
        self._check_running()
        command = " ".join(self._hosted.reload)
        try:
            code, output = commands.run(self._hosted.reload, seconds=self._hosted.seconds)
        except OSError as error:  # a time that is over is one too
            raise KeepalivedError(f"keepalived is not reloaded, `{command}` fails: {error}; see vrrp.reload") from error
        if code:
            why = short(output) or f"it ended with {code}"
            raise KeepalivedError(f"keepalived is not reloaded, `{command}` fails: {why}; see vrrp.reload")
        self._check_running()

    def _start(self) -> None:
        self._check_running()

    def _put_back(self, before: str) -> None:
        """A file of ours that was not there is taken away: the host may start its keepalived at any time."""
        if before:
            super()._put_back(before)
        else:
            self._configuration.unlink(missing_ok=True)

    def _check_running(self) -> None:
        if not self.running():
            raise KeepalivedError(
                f"the host's keepalived does not run: {self._hosted.pid_file} names no process of that name; "
                "it is the host's to start it, such as by systemctl start keepalived"
            )

    def _check_included(self) -> None:
        """Without that, keepalived would take any file of ours and follow none."""
        hosted = self._hosted
        if not any(hosted.file.match(each) for each in _patterns(hosted.main, set())):
            raise KeepalivedError(
                f"{hosted.main} does not include {hosted.file}; put a line into it: include {hosted.file}"
            )

    def _pid(self) -> int | None:
        found = command_line(self._hosted.pid_file)
        if found is None:
            return None
        pid, words = found
        return pid if any(Path(word).name == Path(self._program).name for word in words[:2]) else None


def _patterns(file: Path, seen: set[Path]) -> Iterator[str]:
    """What a configuration includes, and what that includes."""
    if file in seen:
        return
    seen.add(file)
    with told():
        lines = file.read_text().splitlines()
    for keyword, name in (line.split(None, 1) for line in lines if len(line.split(None, 1)) > 1):
        if keyword.startswith("include") and keyword != "include_check":
            pattern = file.parent / name.strip().strip('"')
            yield str(pattern)
            for each in sorted(pattern.parent.glob(pattern.name)):
                if each.is_file():
                    yield from _patterns(each, seen)
