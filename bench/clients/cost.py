"""What this very process uses, told the same way by every client. Standard library only."""

import asyncio
import ctypes
import gc
import http.client
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from bench import services

WRITES = 1_000
WARM_UP = 100
TOKEN = "t" * 900
CHANGE = {"metadata": {"annotations": {"openstack.org/mooring-port": "8f14e45f-ceea-467f-a9f7-6d1c9d3c1c1f"}}}

Job = Callable[[str, int], Awaitable[Mapping[str, float]]]


def run(**jobs: Job) -> None:
    """Do the job that the command line names and print what it took."""
    job, kubeconfig, number = sys.argv[1:]
    print(json.dumps(asyncio.run(_awaited(jobs[job](kubeconfig, int(number))))))  # noqa: T201 - this is its answer


async def _awaited(job: Awaitable[Mapping[str, float]]) -> Mapping[str, float]:
    return await job


def server(kubeconfig: str) -> str:
    """The address in a kubeconfig, which is JSON here and so YAML too."""
    found: str = json.loads(Path(kubeconfig).read_text())["clusters"][0]["cluster"]["server"]
    return found


async def until(reached: Callable[[], bool]) -> None:
    """Looks from time to time, so that those who count are not slowed by telling it."""
    while not reached():  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.05)


async def events(kubeconfig: str, handled: Callable[[], int], *, rest: float = 1.0) -> Mapping[str, float]:
    """CPU seconds of each event, from when the server is asked for them to when all are handled."""
    await asyncio.sleep(rest)
    return {wave: await _wave(kubeconfig, wave, handled, count) for wave, count in services.WAVES.items()}


async def _wave(kubeconfig: str, wave: str, handled: Callable[[], int], count: int) -> float:
    before, begin = handled(), time.process_time()
    connection = http.client.HTTPConnection(urlsplit(server(kubeconfig)).netloc)
    connection.request("POST", f"/bench/{wave}")
    connection.getresponse()
    await until(lambda: handled() >= before + count)
    return (time.process_time() - begin) / count


class Growth:
    """CPU time and memory that a process took since this was made."""

    def __init__(self) -> None:
        _release()
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
        self._memory = _status("VmRSS")
        self._cpu = time.process_time()

    def report(self) -> Mapping[str, float]:
        cpu, peak = time.process_time() - self._cpu, _status("VmHWM")
        _release()
        return {"cpu": cpu, "memory": _status("VmRSS") - self._memory, "peak": peak - self._memory}


async def writes(write: Callable[[], Awaitable[object]], in_flight: int) -> Mapping[str, float]:
    """CPU seconds of each write, so many at a time."""
    await _repeat(write, WARM_UP, in_flight)
    begin = time.process_time()
    await _repeat(write, WRITES, in_flight)
    return {"cpu": (time.process_time() - begin) / WRITES}


async def _repeat(write: Callable[[], Awaitable[object]], times: int, in_flight: int) -> None:
    left = iter(range(times))

    async def worker() -> None:
        for _ in left:
            await write()

    await asyncio.gather(*(worker() for _ in range(in_flight)))


def memory() -> float:
    """MiB that this process has now."""
    return _status("VmRSS")


def _release() -> None:
    """Give back to the system what is not used."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> float:
    """A figure of /proc/self/status, in MiB."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
