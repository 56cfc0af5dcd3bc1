"""A real controller, as an operator starts it, and the world that it works on, each in a process of its own."""

import contextlib
import datetime as dt
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.clients import cost
from bench.world import Options, memory
from mooring.host.certificates import Authority, Role
from mooring.lab import waiting

MOORING = Path(sys.executable).with_name("mooring")
LIFE = dt.timedelta(days=2)
PATIENCE = 300.0
LEASE = 15.0
CPU_OF_A_PROCESS = 2
NO_WORDS: Sequence[str] = ()


class World:
    """The other end of `bench.world`. `before`: what has to stand before its command, such as to enter a namespace."""

    def __init__(self, options: Options, *, before: Sequence[str] = NO_WORDS) -> None:
        told = msgspec.json.encode(options).decode()
        command = [*before, sys.executable, "-m", "bench.world", told]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.listen = options.listen
        where = self._hear()
        self.kube: int = where["kube"]
        self.cloud: int = where["cloud"]
        self.gateways: list[int] = where["gateways"]
        self.targets: list[tuple[str, str, int]] = [tuple(each) for each in where["targets"]]

    def ask(self, do: str, **more: object) -> Any:  # noqa: ANN401 - whatever can be JSON
        assert self._process.stdin is not None  # noqa: S101 - for the checker
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()
        return self._hear()

    def kubeconfig(self, file: Path) -> Path:
        cluster = {"server": f"http://{self.listen}:{self.kube}"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bench", "cluster": cluster}],
            "users": [{"name": "bench", "user": {"token": cost.TOKEN}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            "current-context": "bench",
        }
        file.write_text(json.dumps(config))
        return file

    def clouds(self, file: Path) -> Path:
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        where = {"auth_url": f"http://{self.listen}:{self.cloud}/v3", "username": "u", "project_name": "p"}
        auth = {**where, "password": "p", **domains}
        file.write_text(json.dumps({"clouds": {"bench": {"region_name": "RegionOne", "auth": auth}}}))
        return file

    def end(self) -> None:
        self._process.communicate("")

    def _hear(self) -> Any:  # noqa: ANN401 - whatever can be JSON
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError("the world has ended")
        return json.loads(line)


class Controller:
    """One process of `mooring controller`. `gateways`: where the agent of each listens."""

    def __init__(
        self, world: World, folder: Path, gateways: Sequence[str], tls: Path, *, before: Sequence[str] = NO_WORDS
    ) -> None:
        folder.mkdir(exist_ok=True)
        told = "".join(
            f'[gateways.gw{number}]\nagent = "{each}"\nport = "gw{number}"\n' for number, each in enumerate(gateways, 1)
        )
        (folder / "mooring.toml").write_text(
            f'[kubernetes]\nkubeconfig = "{world.kubeconfig(folder / "kubeconfig")}"\n'
            f'[openstack]\ncloud = "bench"\nclouds_file = "{world.clouds(folder / "clouds.yaml")}"\n'
            '[addresses]\nnetwork = "inside"\nfloating_network = "outside"\npairs_limit = 0\n'
            f'[tls]\nca = "{tls}/ca.crt"\ncertificate = "{tls}/tls.crt"\nkey = "{tls}/tls.key"\n'
            f'[controller]\nmonitoring = "127.0.0.1:{_free_port()}"\n'
            f"{told}"
        )
        self.log = folder / "log"
        command = [*before, str(MOORING), "controller", "--config", str(folder / "mooring.toml")]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self.pid = self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def cpu(self) -> float:
        return time.clock_gettime(~self.pid << 3 | CPU_OF_A_PROCESS)

    def memory(self) -> float:
        return memory(self.pid)

    def end(self) -> None:
        """Let it give the Lease back, so that nobody has to wait for it; not for longer than a Lease lasts, though."""
        self._process.terminate()
        try:
            self._process.wait(LEASE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def world(options: Options) -> Iterator[tuple[World, Path]]:
    """A world on this very host, with gateways of its own and certificates for them; the folder has those."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = Authority(folder / "authority")
        authority.create()
        authority.issue_to(folder / "gateways", Role.AGENT, "gw1", addresses=["127.0.0.1"], life=LIFE)
        authority.issue_to(folder / "tls", Role.CONTROLLER, "controller", addresses=[], life=LIFE)
        pair = folder / "gateways"
        files = {"ca": f"{pair}/ca.crt", "certificate": f"{pair}/tls.crt", "key": f"{pair}/tls.key"}
        made = World(msgspec.structs.replace(options, **files))
        try:
            yield made, folder
        finally:
            made.end()


@contextlib.contextmanager
def controller(made: World, folder: Path) -> Iterator[Controller]:
    """One that works on such a world."""
    started = Controller(made, folder / "controller", [f"127.0.0.1:{port}" for port in made.gateways], folder / "tls")
    try:
        made.ask("watch", pid=started.pid)
        yield started
    finally:
        started.end()


def first_push(made: World, started: Controller) -> dict[str, float]:
    """What it had used when it told a gateway for the first time."""

    def pushed() -> bool:
        if started.running:
            return made.ask("pushed") is not None
        raise RuntimeError(started.log.read_text()[-2000:])

    waiting.until(pushed, seconds=PATIENCE, what="the first push")
    found: dict[str, float] = made.ask("pushed")
    return found


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port
