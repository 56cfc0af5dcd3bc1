"""What a test does to the lab's API server: has it forget, kills it, has it stand still."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from mooring.lab import faults, lifecycle, servers
from mooring.lab.lab import Lab
from mooring.lab.progress import PlainProgress

API = "kube-apiserver"


def compact(lab: Lab, version: str) -> None:
    """Have the store forget everything before a version, as an API server does every few minutes."""
    pair = lab.authority.pair("apiserver-etcd")
    tls: list[str | Path] = ["--cacert", lab.authority.certificate, "--cert", pair.certificate, "--key", pair.key]
    order = msgspec.json.encode({"revision": int(version)}).decode()
    url = "https://127.0.0.1:2379/v3/kv/compaction"
    lab.hosts.run("control", ["curl", "--silent", "--fail", *tls, "--data", order, url])


async def restart(lab: Lab) -> None:
    await asyncio.to_thread(faults.kill, lab, API, signal.SIGKILL)
    await asyncio.to_thread(lifecycle.revive, lab, PlainProgress())


@contextlib.contextmanager
def without_watch_lists(lab: Lab) -> Iterator[None]:
    """A time in which the API server is one that does not offer them; its own settings come back afterwards."""
    record = lab.processes.record(API)
    assert record is not None
    lab.processes.stop(API, seconds=10)
    with lab.cage.inside():
        lab.processes.spawn(API, [*record.argv, "--feature-gates=WatchList=false"], host=record.host)
    ready = f"https://{lab.control}:6443/readyz"
    lab.wait(API, lambda: servers.answers(ready, ca=lab.authority.certificate), seconds=90, what="it to be ready")
    try:
        yield
    finally:
        lifecycle.restart(lab, API, PlainProgress())


@contextlib.asynccontextmanager
async def frozen(lab: Lab) -> AsyncIterator[None]:
    """A time in which the API server does nothing at all, not even refuse."""
    faults.freeze(lab, API, signal.SIGSTOP)
    try:
        yield
    finally:
        faults.freeze(lab, API, signal.SIGCONT)
