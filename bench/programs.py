"""Starts the fake API and, beside it, each client in a fresh process; turns about, and takes the middle of what it saw.

Clients run in the order A-B-C, C-B-A, A-B-C, ..., so that a machine that grows slower is unfair to nobody.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.clients import cost
from mooring.host.certificates import Authority

PEERS = Path("build/bench-venv/bin/python")
LONGEST = 600.0


class Client(msgspec.Struct, frozen=True):
    """A program of `bench.clients`, under the name that the tables have for it."""

    title: str
    module: str
    python: Path = PEERS


OURS = Client("mooring", "mooring_client", Path(sys.executable))
KOPF = Client("kopf", "kopf_client")
KR8S = Client("kr8s", "kr8s_client")
LIGHTKUBE = Client("lightkube", "lightkube_client")
HTTPX2 = Client("httpx2", "httpx2_client")
STREAMS = Client("bare streams", "plain_client")
DICTS = Client("json and dicts", "plain_client")
OWN_DICTS = Client("json and dicts", "plain_client", Path(sys.executable))
"""The same where no other environment is needed."""


@contextlib.contextmanager
def fake_api(size: int, *, tls: bool = False) -> Iterator[Path]:
    """A fake API with so many Services; gives a kubeconfig that leads to it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = _pair(folder) if tls else ()
        command = [sys.executable, "-m", "bench.fake_api", str(size), *map(str, pair)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            port = process.stdout.readline().strip() if process.stdout else ""
            yield _kubeconfig(folder, f"{'https' if tls else 'http'}://127.0.0.1:{port}")
            process.communicate("")


def turns(clients: Sequence[Client], job: str, kubeconfig: Path, number: int, *, rounds: int) -> "Costs":
    """What each client took: the median of the rounds, by client and figure."""
    seen: dict[str, list[Mapping[str, float]]] = {each.title: [] for each in clients}
    for turn in range(rounds):
        for each in clients if turn % 2 == 0 else reversed(clients):
            seen[each.title].append(run(each, job, kubeconfig, number))
    return {
        title: {figure: statistics.median(each[figure] for each in found) for figure in found[0]}
        for title, found in seen.items()
    }


Costs = Mapping[str, Mapping[str, float]]


def run(client: Client, job: str, kubeconfig: Path, number: int) -> Mapping[str, float]:
    command = [str(client.python), "-m", f"bench.clients.{client.module}", job, str(kubeconfig), str(number)]
    environment = os.environ | {"KUBECONFIG": str(kubeconfig)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=LONGEST, check=True)
    found: Mapping[str, float] = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(f"{client.title} {job} {number}: {found}\n")
    return found


def _pair(folder: Path) -> tuple[Path, Path]:
    authority = Authority(folder)
    authority.create()
    pair = authority.issue("server", "bench", addresses=["127.0.0.1"])
    return pair.certificate, pair.key


def _kubeconfig(folder: Path, server: str) -> Path:
    cluster = {"server": server}
    if server.startswith("https"):
        cluster["certificate-authority"] = str(folder / "ca.crt")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": cost.TOKEN}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "current-context": "bench",
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return file
