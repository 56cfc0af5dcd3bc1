"""An agent as a whole: what keeps it from starting, and certificates that are replaced while it runs."""

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from mooring.agent.main import Certificates, run
from mooring.host.certificates import Role
from mooring.host.journal import NAME
from mooring.model.config import Agent, Config, Tls
from mooring.model.errors import StartRefused
from mooring.wire.serving import CannotServe
from tests.agent import agents
from tests.silent import SILENT


@pytest.fixture
def made(tmp_path: Path) -> agents.Certificates:
    return agents.Certificates(tmp_path)


@pytest.fixture
def config(made: agents.Certificates, tmp_path: Path) -> Config:
    own = made.issued(Role.AGENT, "gw1")
    tls = Tls(ca=str(own / "ca.crt"), certificate=str(own / "tls.crt"), key=str(own / "tls.key"))
    return Config(tls=tls, agent=Agent(state=str(tmp_path / "state")))


def test_a_journal_that_cannot_be_read_keeps_it_from_starting(config: Config) -> None:
    (Path(config.agent.state) / NAME).mkdir(parents=True)
    with pytest.raises(StartRefused, match=r"document.json: Is a directory"):
        asyncio.run(run(config, SILENT))


def test_certificates_that_are_missing_keep_it_from_starting() -> None:
    with pytest.raises(StartRefused, match="cannot be used"):
        asyncio.run(run(Config(tls=Tls(ca="/nowhere")), SILENT))


def test_certificates_last_as_long_as_they_say(config: Config) -> None:
    assert abs(Certificates(config).ends - time.time() - agents.LIFE.total_seconds()) < 60


def test_new_certificates_are_used_and_half_a_pair_is_not(made: agents.Certificates, config: Config) -> None:
    certificates = Certificates(config)
    assert not certificates.renew()
    other = made.issued(Role.AGENT, "gw2")
    shutil.copyfile(other / "tls.crt", config.tls.certificate)
    with pytest.raises(CannotServe):
        certificates.renew()
    shutil.copyfile(other / "tls.key", config.tls.key)
    assert certificates.renew()
    assert not certificates.renew()
