"""An agent as a whole: what keeps it from starting, and certificates that are replaced while it runs."""

import asyncio
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from mooring.agent import doctor
from mooring.agent.certificates import Certificates
from mooring.agent.main import reset_epoch, run
from mooring.agent.record import restored
from mooring.core import gateway_document
from mooring.host import locking
from mooring.host.certificates import Role
from mooring.host.disk import Folder
from mooring.host.journal import NAME, Journal
from mooring.model.config import Agent, Config, Tls, Vrrp
from mooring.model.errors import StartRefused
from mooring.model.gateway import Backend, Forward
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


def test_a_second_agent_does_not_start_beside_the_first(config: Config) -> None:
    with (
        locking.held(Path(config.agent.state)),
        pytest.raises(StartRefused, match="another agent works with"),
    ):
        asyncio.run(run(config, SILENT))


def test_who_forgets_whose_document_it_holds_takes_any_and_serves_on(config: Config) -> None:
    web = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
    held = gateway_document.document([web], epoch=9, generation=4, seed=7)
    journal = Journal(Folder(Path(config.agent.state)))
    journal.prepare(msgspec.json.encode(held))
    journal.commit()
    assert reset_epoch(config) == held.held
    after = restored(Journal(Folder(Path(config.agent.state))).read() or ())
    assert after.document == msgspec.structs.replace(held, epoch=0, generation=0)


def test_nothing_is_forgotten_while_an_agent_runs(config: Config) -> None:
    with locking.held(Path(config.agent.state)), pytest.raises(StartRefused, match="end it first"):
        reset_epoch(config)


def test_the_doctor_says_what_is_wrong_and_what_to_do(config: Config) -> None:
    bad = msgspec.structs.replace(config, vrrp=Vrrp(interface="nowhere0"), tls=Tls(ca="/nowhere"))
    found = {each.what: each for each in doctor.examine(bad, seconds=0.1)}
    for what in ("interface nowhere0", "certificate", "VRRP"):
        assert not found[what].well, what
        assert found[what].fix
    assert found["agent"].seen.startswith("never ran")
    assert found["what was chosen"].well
    assert not Path(bad.agent.state).exists(), "it looks, and changes nothing"


def test_the_doctor_sees_an_agent_that_runs(config: Config) -> None:
    with locking.held(Path(config.agent.state)):
        found = {each.what: each for each in doctor.examine(config, seconds=0.1)}
    assert found["agent"].seen == "runs"
    assert found["certificate"].seen.endswith("days left")
