"""A configuration that changes while a controller runs, with real files and certificates."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path

import msgspec
import prometheus_client
import pytest

from mooring.controller.reloading import Reloading, Source
from mooring.controller.wiring import AgentWays
from mooring.host.certificates import Role
from mooring.kube.transport import HttpTransport
from mooring.model.config import Backends, Config, Controller, Gateway, Log, Services, Tls
from mooring.model.errors import StartRefused
from mooring.wire.http import NotSent, Request, Response
from tests.agent.agents import Certificates, running
from tests.silent import SILENT

GATEWAYS = {"gw1": Gateway("127.0.0.1:1", "p1")}


class Scene:
    """A file, what a controller would read from it, and what it went on with."""

    def __init__(self, folder: Path) -> None:
        self.certificates = Certificates(folder)
        own = self.certificates.issued(Role.CONTROLLER, "controller")
        self.tls = Tls(str(own / "ca.crt"), str(own / "tls.crt"), str(own / "tls.key"))
        self.file = folder / "mooring.toml"
        self.file.write_text("first")
        self.config = Config(gateways=GATEWAYS, tls=self.tls)
        self.wrong = ""
        self.used: list[Config] = []
        self.came = asyncio.Event()
        self.agents = AgentWays(self.tls)
        self.registry = prometheus_client.CollectorRegistry()

    def reloading(self) -> Reloading:
        source = Source(self.file, self._load)
        return Reloading(self.config, source, self.agents, self._use, registry=self.registry, log=SILENT)

    def _load(self) -> Config:
        if self.wrong:
            raise StartRefused(self.wrong)
        return self.config

    async def _use(self, config: Config) -> None:
        if not config.gateways:
            raise StartRefused("gateways is empty")
        self.used.append(config)
        self.came.set()

    def change(self, **values: object) -> None:
        self.config = msgspec.structs.replace(self.config, **values)
        self.touch(self.file)

    def touch(self, file: Path) -> None:
        """Written a second later: clocks of files may be coarse."""
        when = file.stat().st_mtime_ns + 10**9
        os.utime(file, ns=(when, when))

    def take_certificates(self, folder: Path) -> None:
        files = {"ca.crt": self.tls.ca, "tls.crt": self.tls.certificate, "tls.key": self.tls.key}
        for name, path in files.items():
            Path(path).write_bytes((folder / name).read_bytes())
            self.touch(Path(path))

    def spoil_key(self) -> None:
        Path(self.tls.key).write_text("half a pair")
        self.touch(Path(self.tls.key))

    @property
    def refused(self) -> float | None:
        return self.registry.get_sample_value("mooring_config_refused")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def run(deeds: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(deeds())


def test_nothing_is_read_until_the_file_changes_or_somebody_asks(scene: Scene) -> None:
    async def deeds() -> None:
        it = scene.reloading()
        await it.look()
        assert scene.used == []
        it.asked.set()
        await it.look()
        await it.look()
        assert scene.used == [scene.config]
        scene.change(gateways={"gw2": Gateway("127.0.0.1:2", "p2")})
        await it.look()
        await it.look()
        assert [sorted(each.gateways) for each in scene.used] == [["gw1"], ["gw2"]]

    run(deeds)


@pytest.mark.parametrize("wrong", ["file", "names"])
def test_what_is_wrong_is_refused_until_it_is_right(scene: Scene, wrong: str) -> None:
    async def deeds() -> None:
        it = scene.reloading()
        if wrong == "file":
            scene.wrong = "mooring.toml:1: not valid TOML"
            scene.change()
        else:
            scene.change(gateways={})
        await it.look()
        assert (scene.used, scene.refused) == ([], 1.0)
        scene.wrong = ""
        scene.change(gateways=GATEWAYS)
        await it.look()
        assert (len(scene.used), scene.refused) == (1, 0.0)

    run(deeds)


def test_what_is_not_followed_counts_from_the_next_start(scene: Scene) -> None:
    async def deeds() -> None:
        it = scene.reloading()
        scene.change(log=Log(level="debug"), services=Services(claim_unclassed=True), backends=Backends(layer="node"))
        await it.look()
        assert scene.refused == 0.0
        assert (scene.used[-1].services, scene.used[-1].backends) == (Services(), Backends())

    run(deeds)


def test_whether_to_act_is_followed_and_where_to_listen_is_not(scene: Scene) -> None:
    async def deeds() -> None:
        it = scene.reloading()
        for reconcile, acts in (("observe", False), ("act", True)):
            scene.change(controller=msgspec.convert({"reconcile": reconcile, "monitoring": "127.0.0.1:1"}, Controller))
            await it.look()
            assert scene.used[-1].acts is acts
        assert it._config.controller == Controller()  # noqa: SLF001 - what is in force

    run(deeds)


def test_it_goes_on_by_itself(scene: Scene) -> None:
    async def deeds() -> None:
        it = scene.reloading()
        work = asyncio.create_task(it.run(every=0.05))
        scene.change()
        async with asyncio.timeout(10):
            await scene.came.wait()
            scene.came.clear()
            it.asked.set()
            await scene.came.wait()
        work.cancel()

    run(deeds)


async def asked(way: HttpTransport) -> Response:
    return await way.send(Request("get state", "GET", "/v1/state", seconds=5.0))


def test_new_certificates_are_used_at_the_next_request(scene: Scene, tmp_path: Path) -> None:
    """An authority is replaced: who was trusted is not any more, and the other way round."""

    async def deeds() -> None:
        it = scene.reloading()
        (tmp_path / "other").mkdir()
        other = Certificates(tmp_path / "other")
        async with running(scene.certificates) as old, running(other) as new:
            ways = [scene.agents.reach(each.url.removeprefix("https://")) for each in (old, new)]
            assert (await asked(ways[0])).status == 200
            with pytest.raises(NotSent, match="certificate"):
                await asked(ways[1])
            scene.take_certificates(other.issued(Role.CONTROLLER, "controller"))
            await it.look()
            assert (await asked(ways[1])).status == 200
            with pytest.raises(NotSent, match="certificate"):
                await asked(ways[0])
            scene.spoil_key()
            await it.look()
            assert scene.refused == 1.0
            assert (await asked(ways[1])).status == 200
            await scene.agents.close()

    run(deeds)


def test_a_way_is_made_once(scene: Scene) -> None:
    assert scene.agents.reach("a:1") is scene.agents.reach("a:1")
    assert scene.agents.reach("a:1") is not scene.agents.reach("b:1")
