"""Programs of the system that end by themselves, or are ended when their time is over."""

import os
import select
import signal
import subprocess
from collections.abc import Sequence

MOST = 1 << 16


def run(words: Sequence[str], *, seconds: float) -> tuple[int, str]:
    """The status and what was said. TimeoutError after so many seconds, OSError if there is no such program.

    What is said goes to memory instead of a pipe, which a process that the program leaves behind would hold open.
    """
    with os.fdopen(os.memfd_create("output"), "r+b") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        if not _ends(process.pid, seconds):
            os.killpg(process.pid, signal.SIGKILL)  # it has not been waited for, so the number is still its own
            process.wait()
            raise TimeoutError(f"it did not end within {seconds:g} s")
        code = process.wait()
        output.seek(0)
        return code, output.read(MOST).decode(errors="replace")


def _ends(pid: int, seconds: float) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        end = select.poll()
        end.register(descriptor, select.POLLIN)
        return bool(end.poll(seconds * 1000))
    finally:
        os.close(descriptor)
