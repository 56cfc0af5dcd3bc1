"""What goes, in which order, and what is never touched."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mooring.core import removing
from mooring.core.removing import Deed, Empty
from mooring.core.surveyed import Leader, Sights, Survey
from mooring.model import names
from mooring.model.kubernetes import Service
from mooring.model.steps import Clear, Tell
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import look, scene

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALL = ["Clear", "Empty", "Empty", "Forget", "LetGo", "Unpair", "Unpair", "Remove", "Remove"]


async def _two(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP")
    user.pods("web", "10.244.1.5")
    user.expose("theirs", "80/TCP", ours=False)
    user.set_status("theirs", "198.51.100.7")
    await user.wait(15.0)
    return await look(world)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return scene(_two)


def deeds(survey: Survey, *, keep: bool = False) -> list[Deed]:
    return [each for stage in removing.stages(survey, keep=keep) for each in stage]


def changed(survey: Survey, **changes: object) -> Survey:
    return Survey(msgspec.structs.replace(survey.sights, **changes))


def web(survey: Survey) -> Service:
    [found] = [each for each in survey.sights.services if each.name.name == "web"]
    return found


def with_web(survey: Survey, service: Service) -> Survey:
    return changed(survey, services=(service,))


def without(service: Service, *, annotations: bool = False, finalizers: bool = False, status: bool = False) -> Service:
    meta = service.metadata
    if annotations:
        meta = msgspec.structs.replace(meta, annotations={})
    if finalizers:
        meta = msgspec.structs.replace(meta, finalizers=())
    found = msgspec.structs.replace(service, metadata=meta)
    if not status:
        return found
    balancer = msgspec.structs.replace(found.status.load_balancer, ingress=())
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, load_balancer=balancer))


def test_all_of_it_in_its_order(survey: Survey) -> None:
    found = deeds(survey)
    assert [removing.told(each).step for each in found] == ALL
    assert {each.about for each in found if each.service} == {"shop/web"}, "of others nothing is touched"
    assert [each.about for each in found if isinstance(each.step, Empty)] == ["gateway g1", "gateway g2"]


def test_floating_ips_that_stay_are_tagged_first_and_then_given_back(survey: Survey) -> None:
    assert [removing.told(each).step for each in deeds(survey, keep=True)][5] == "Keep"
    owned = survey.sights.owned
    assert owned is not None
    tagged = tuple(msgspec.structs.replace(each, tags=(names.KEEP_TAG,)) for each in owned.floating_ips)
    for keep in (False, True):
        found = deeds(changed(survey, owned=msgspec.structs.replace(owned, floating_ips=tagged)), keep=keep)
        assert [removing.told(each).step for each in found] == [*ALL[:7], "GiveBack", "Remove"]


@pytest.mark.parametrize(
    ("lacks", "steps"),
    [
        ({}, ["Clear", "Forget", "LetGo"]),
        ({"status": True}, ["Tell", "Forget", "LetGo"]),
        ({"annotations": True}, ["Clear", "LetGo"]),
        ({"finalizers": True}, ["Clear", "Forget", "LetGo"]),
        ({"annotations": True, "finalizers": True}, ["Clear"]),
        ({"annotations": True, "finalizers": True, "status": True}, ["Tell"]),
    ],
    ids=str,
)
def test_what_a_service_bears_goes_and_no_more(survey: Survey, lacks: dict[str, bool], steps: list[str]) -> None:
    found = deeds(with_web(survey, without(web(survey), **lacks)))
    assert [removing.told(each).step for each in found if each.service] == steps


def test_conditions_that_go_are_not_said_to_be_written(survey: Survey) -> None:
    lacking = without(web(survey), annotations=True, finalizers=True, status=True)
    [found] = [each for each in deeds(with_web(survey, lacking)) if each.service]
    assert removing.told(found).to_do == "take its conditions away"


def test_an_address_that_somebody_else_gave_stays(survey: Survey) -> None:
    service = without(web(survey), annotations=True, finalizers=True)
    [ingress] = service.status.load_balancer.ingress
    balancer = msgspec.structs.replace(
        service.status.load_balancer, ingress=(msgspec.structs.replace(ingress, ip="198.51.100.9"),)
    )
    status = msgspec.structs.replace(service.status, load_balancer=balancer)
    found = deeds(with_web(survey, msgspec.structs.replace(service, status=status)))
    assert [each.step for each in found if each.service] == [Tell(())]
    assert not any(isinstance(each.step, Clear) for each in found)


def test_a_copy_in_a_service_of_another_class_is_somebody_elses(survey: Survey) -> None:
    service = without(web(survey), finalizers=True)
    spec = msgspec.structs.replace(service.spec, load_balancer_class="example.org/other")
    assert not [each for each in deeds(with_web(survey, msgspec.structs.replace(service, spec=spec))) if each.service]


def test_an_opt_out_of_its_owner_stays(survey: Survey) -> None:
    service = without(web(survey), finalizers=True, status=True)
    meta = msgspec.structs.replace(service.metadata, annotations={names.MANAGED: "false"})
    status = msgspec.structs.replace(service.status, conditions=())
    found = deeds(with_web(survey, msgspec.structs.replace(service, metadata=meta, status=status)))
    assert not [each for each in found if each.service]


@pytest.mark.parametrize(
    ("identity", "ago", "refused"),
    [
        ("", 0, False),
        ("gw1_1", 1, True),
        ("gw1_1", 60, False),
        ("mooring-uninstall_gw1_1", 1, False),
    ],
)
def test_who_leads_is_in_the_way(identity: str, ago: int, refused: bool) -> None:  # noqa: FBT001 - a column
    leader = Leader(identity, NOW, NOW - timedelta(seconds=ago), 15.0, 3)
    sights = Sights(NOW, leader, (), (), (), None)
    why = removing.why_not(sights, "mooring-uninstall_")
    assert bool(why) is refused
    assert not refused or ("--replicas 0" in why and "systemctl disable" in why)
