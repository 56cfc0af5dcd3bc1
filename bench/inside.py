"""A thread in a network namespace: the sockets that it opens and the programs that it starts are in there.

No program has to be started only to get inside, so what is measured is what was meant.
"""

import ctypes
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from tests.lab.two_gateways import Namespaces

P = ParamSpec("P")
T = TypeVar("T")

NETWORK = 0x40000000


class Inside:
    def __init__(self, spaces: Namespaces, name: str) -> None:
        holder = spaces.enter(name)[2]
        self._thread = ThreadPoolExecutor(1, initializer=partial(_enter, Path(f"/proc/{holder}/ns/net")))

    def do(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.submit(what, *args, **kwargs).result()

    def end(self) -> None:
        self._thread.shutdown()


class Cost(msgspec.Struct, frozen=True):
    """Seconds of CPU, the kernel's for it with them, and seconds."""

    cpu: float
    seconds: float


def nft(text: str, file: Path) -> Cost:
    """Have `nft` carry out a text, from its start to its end. That the text is written to a file is not counted."""
    file.write_text(text)
    begin = time.perf_counter()
    pid = os.posix_spawnp("nft", ["nft", "-f", str(file)], os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begin
    if status:
        raise RuntimeError(f"nft refuses {file}")
    return Cost(usage.ru_utime + usage.ru_stime, seconds)


def _enter(namespace: Path) -> None:
    """Take the thread there, and no other."""
    with namespace.open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NETWORK):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
