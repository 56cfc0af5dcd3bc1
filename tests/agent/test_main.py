"""An agent as a whole: what keeps it from starting, and certificates that are replaced while it runs."""

import asyncio
import os
import re
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from mooring.agent import doctor
from mooring.agent.certificates import Certificates
from mooring.agent.main import build, reset_epoch, run
from mooring.agent.record import restored
from mooring.core import agent_choices, gateway_document
from mooring.host import locking
from mooring.host.adverts import Advert
from mooring.host.certificates import Role
from mooring.host.disk import Folder
from mooring.host.journal import NAME, Journal
from mooring.host.keepalived_files import Files
from mooring.model.config import Agent, Config, Tls, Vrrp
from mooring.model.errors import Hindered, StartRefused
from mooring.model.gateway import Backend, Document, Forward
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


def told(config: Config) -> Document:
    """What stands in the agent's journal from now on."""
    web = Forward("10.0.0.5", "TCP", 80, "shop/web", (Backend("10.1.0.7", 8080),))
    document = gateway_document.document([web], epoch=9, generation=4, seed=7)
    journal = Journal(Folder(Path(config.agent.state)))
    journal.prepare(msgspec.json.encode(document))
    journal.commit()
    return document


def test_a_journal_that_cannot_be_read_keeps_it_from_starting(config: Config) -> None:
    (Path(config.agent.state) / NAME).mkdir(parents=True)
    with pytest.raises(Hindered, match=r"document.json: Is a directory"):
        asyncio.run(run(config, SILENT))


@pytest.mark.parametrize(
    ("vrrp", "folder", "why"),
    [
        (Vrrp(mode="spread"), "state", 'vrrp.mode = "spread" needs vrrp.instances'),
        (Vrrp(address="224.0.0.18"), "state", 'vrrp.address = "224.0.0.18" is refused'),
        (Vrrp(), "a state", "a state\" is refused: keepalived's configuration names files in it"),
    ],
)
def test_choices_that_cannot_be_keep_it_from_starting(
    config: Config, tmp_path: Path, vrrp: Vrrp, folder: str, why: str
) -> None:
    chosen = msgspec.structs.replace(config, vrrp=vrrp, agent=Agent(state=str(tmp_path / folder)))
    with pytest.raises(StartRefused, match=re.escape(why)):
        asyncio.run(run(chosen, SILENT))
    found = {each.what: each for each in doctor.examine(chosen, seconds=0.1)}
    assert why in found["what was chosen"].seen
    assert not found["what was chosen"].well
    assert (found["VRRP"].well, found["VRRP"].seen) == (False, "nobody was listened to")


def test_the_folder_that_the_agent_is_started_in_counts_too(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a place").mkdir()
    monkeypatch.chdir(tmp_path / "a place")
    with pytest.raises(StartRefused, match=r"a place/state\" is refused"):
        build(msgspec.structs.replace(config, agent=Agent(state="state")), SILENT)


def test_no_file_of_keepalived_has_a_longer_name_than_is_reckoned_with() -> None:
    files = Files(Path("/"))
    named = (files.stale, files.reload, files.script, files.fifo)
    assert max((each.name for each in named), key=len) == agent_choices.LONGEST


def test_certificates_that_are_missing_keep_it_from_starting() -> None:
    with pytest.raises(
        StartRefused, match=r"^the certificates cannot be used: /nowhere: .*mooring pki issue agent NAME"
    ):
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
        pytest.raises(Hindered, match="another agent works with"),
    ):
        asyncio.run(run(config, SILENT))


def test_who_forgets_whose_document_it_holds_takes_any_and_serves_on(config: Config) -> None:
    held = told(config)
    assert reset_epoch(config) == held.held
    after = restored(Journal(Folder(Path(config.agent.state))).read() or ())
    assert after.document == msgspec.structs.replace(held, epoch=0, generation=0)


def test_who_was_never_told_anything_has_nothing_to_forget(config: Config) -> None:
    with pytest.raises(StartRefused, match="there is nothing to reset"):
        reset_epoch(config)
    assert not Path(config.agent.state).exists()
    with locking.held(Path(config.agent.state)):
        pass
    with pytest.raises(StartRefused, match="there is nothing to reset"):
        reset_epoch(config)
    assert [each.name for each in Path(config.agent.state).iterdir()] == [locking.NAME]


def test_a_damaged_journal_is_not_reset(config: Config) -> None:
    Folder(Path(config.agent.state)).write(NAME, b"half a li")
    with pytest.raises(StartRefused, match="its first line is not what was written"):
        reset_epoch(config)
    assert [each.name for each in Path(config.agent.state).iterdir()] == [NAME]


def test_nothing_is_forgotten_while_an_agent_runs(config: Config) -> None:
    told(config)
    with locking.held(Path(config.agent.state)), pytest.raises(StartRefused, match="end it first"):
        reset_epoch(config)


def test_the_doctor_says_what_is_wrong_and_what_to_do(config: Config) -> None:
    bad = msgspec.structs.replace(config, vrrp=Vrrp(interface="nowhere0"), tls=Tls(ca="/nowhere"))
    found = {each.what: each for each in doctor.examine(bad, seconds=0.1)}
    for what in ("interface nowhere0", "certificate", "VRRP"):
        assert not found[what].well, what
        assert found[what].fix
    assert found["agent"].seen == f"never ran: there is no {bad.agent.state}"
    assert ("run as root" in found["VRRP"].fix) == (os.geteuid() != 0), "who is root already needs other advice"
    assert found["what was chosen"].well
    assert not Path(bad.agent.state).exists(), "it looks, and changes nothing"


@pytest.mark.parametrize("left", [(), (locking.NAME,), (locking.NAME, "labs")])
def test_a_folder_without_files_of_the_agent_is_one_in_which_it_never_ran(
    config: Config, left: tuple[str, ...]
) -> None:
    folder = Path(config.agent.state)
    folder.mkdir()
    for each in left:
        (folder / each).touch()
    found = {each.what: each for each in doctor.examine(config, seconds=0.1)}
    assert (found["agent"].well, found["agent"].seen) == (True, f"never ran: nothing of it is in {folder}")
    assert {each.name for each in folder.iterdir()} == set(left), "it looks, and changes nothing"


def test_the_doctor_sees_an_agent_that_ran_and_runs_no_more(config: Config) -> None:
    told(config)
    found = {each.what: each for each in doctor.examine(config, seconds=0.1)}
    assert (found["agent"].well, found["agent"].seen) == (False, "does not run")


def test_the_doctor_sees_an_agent_that_runs(config: Config) -> None:
    with locking.held(Path(config.agent.state)):
        found = {each.what: each for each in doctor.examine(config, seconds=0.1)}
    assert found["agent"].seen == "runs"
    assert found["certificate"].seen.endswith("days left")


OURS = {51: "169.254.77.1", 52: "169.254.77.2"}
FIRST = Advert("10.20.0.11", 51, 250, "169.254.77.1")
SECOND = Advert("10.20.0.12", 52, 249, "169.254.77.2")
ROUTER = Advert("10.20.0.1", 52, 100, "10.20.0.254")


@pytest.mark.parametrize(
    ("heard", "expected"),
    [
        pytest.param([], (), id="nobody"),
        pytest.param([FIRST, SECOND], (), id="gateways of ours"),
        pytest.param([Advert("10.20.0.1", 12, 100, "10.20.0.254")], (), id="another number"),
        pytest.param([FIRST, ROUTER], (("10.20.0.1", 52, "10.20.0.254"),), id="an address that is not ours"),
        pytest.param([Advert("10.20.0.1", 51, 100)], (("10.20.0.1", 51, ""),), id="no address"),
        pytest.param(
            [Advert("10.20.0.1", 51, 250, "169.254.77.2")], (("10.20.0.1", 51, "169.254.77.2"),), id="of another number"
        ),
        pytest.param(
            [ROUTER, msgspec.structs.replace(ROUTER, priority=0)], (("10.20.0.1", 52, "10.20.0.254"),), id="once each"
        ),
    ],
)
def test_who_is_foreign(heard: list[Advert], expected: tuple[tuple[str, int, str], ...]) -> None:
    assert doctor.foreign(heard, OURS) == expected


def test_the_doctor_names_who_uses_a_number_of_ours() -> None:
    found = doctor.judged([ROUTER], OURS)
    assert not found.well
    assert found.seen.endswith("; 10.20.0.1 has our number 52 for 10.20.0.254")
    assert "set vrrp.router_id to a number that nobody uses" in found.fix


def test_gateways_of_ours_are_well_and_too_many_are_not() -> None:
    found = doctor.judged([FIRST, SECOND, Advert("10.20.0.1", 12, 100, "10.20.0.254")], OURS)
    assert (found.well, found.seen) == (
        True,
        "with our numbers speak: 10.20.0.11, 10.20.0.12; other numbers in use: 12",
    )
    assert not doctor.judged([FIRST, SECOND, msgspec.structs.replace(FIRST, source="10.20.0.13")], OURS).well


def test_our_numbers_and_what_is_advertised_with_them() -> None:
    assert doctor.advertised(Config()) == {51: "169.254.77.1"}
    assert doctor.advertised(Config(vrrp=Vrrp(mode="spread", instances=2))) == OURS
