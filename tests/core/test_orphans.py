"""What is an orphan, what is only told, and what a person may let go."""

import asyncio

import msgspec
import pytest

from mooring.core import orphans
from mooring.core.cleaning import Doom
from mooring.core.surveyed import Around, Survey
from mooring.model import names
from mooring.model.cloud import AddressPair, Port
from mooring.model.reports import EntryReport, Missing
from tests.simulation.user import User
from tests.simulation.world import World
from tests.surveying import leave_port, limit, look_around, scene


async def _left(world: World) -> Survey:
    user = User(world)
    user.expose("web", "80/TCP")
    await user.wait(15.0)
    leave_port(world)
    leave_port(world)
    return await look_around(world)


@pytest.fixture(scope="module")
def survey() -> Survey:
    return scene(_left)


def changed(survey: Survey, **changes: object) -> Survey:
    return Survey(msgspec.structs.replace(survey.sights, **changes))


def left(survey: Survey) -> list[Port]:
    assert survey.sights.owned is not None
    return [each for each in survey.sights.owned.ports if each.name == "left"]


def test_what_nobody_needs_is_what_the_controller_dooms(survey: Survey) -> None:
    report = orphans.orphans(survey)
    doomed = [each.what.id for each in survey.clean_up() if isinstance(each, Doom)]
    assert [each.id for each in report.orphans] == sorted(doomed) == sorted(each.id for each in left(survey))
    assert {(each.kind, each.going, each.cluster) for each in report.orphans} == {
        ("port", False, survey.sights.owned and survey.sights.owned.place.cluster)
    }
    assert [each.id for each in orphans.to_tag(survey)] == sorted(doomed)


def test_what_other_clusters_have_is_only_told(survey: Survey) -> None:
    others = orphans.orphans(survey).others
    assert [(each.kind, each.cluster) for each in others] == [("port", "another"), ("floating IP", "another")]
    assert not {each.id for each in others} & {each.id for each in orphans.to_tag(survey)}


def test_what_goes_already_is_told_and_not_tagged_again(survey: Survey) -> None:
    owned = survey.sights.owned
    assert owned is not None
    ports = tuple(
        msgspec.structs.replace(each, tags=(names.DELETING_TAG,)) if each.name == "left" else each
        for each in owned.ports
    )
    found = changed(survey, owned=msgspec.structs.replace(owned, ports=ports))
    assert [each.going for each in orphans.orphans(found).orphans] == [True, True]
    assert orphans.to_tag(found) == ()


def test_what_a_service_shows_is_never_tagged(survey: Survey) -> None:
    """Somebody took all annotations away: nothing is left. Of another class: who knows what for."""
    bare = tuple(
        msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, annotations={}))
        for each in survey.sights.services
    )
    replaced = orphans.orphans(changed(survey, services=bare))
    assert [each.id for each in replaced.orphans] == [each.id for each in orphans.orphans(survey).orphans]
    strange = tuple(
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, load_balancer_class="example.org/other"))
        for each in bare
    )
    found = changed(survey, services=strange)
    report = orphans.orphans(found)
    shown = [each for each in report.orphans if each.shown_by]
    assert [(each.kind, each.shown_by) for each in shown] == [
        ("port", ("shop/web",)),
        ("floating IP", ("shop/web",)),
    ]
    assert sorted(each.id for each in orphans.to_tag(found)) == sorted(each.id for each in left(survey))


@pytest.mark.parametrize("missing", [True, False])
def test_nothing_is_tagged_by_who_has_not_seen_everything(survey: Survey, missing: bool) -> None:  # noqa: FBT001 - a column
    told = (Missing("OpenStack", "no answer."),) if missing else ()
    found = changed(survey, missing=told, owned=survey.sights.owned if missing else None)
    assert orphans.to_tag(found) == ()
    assert orphans.why_not(found) == ("OpenStack: no answer" if missing else "OpenStack was not looked at")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("10.0.0.200", True),  # of our subnet, and nobody's
        ("10.0.0.0/28", False),  # a prefix is somebody's own
        ("192.0.2.9", False),  # not of a subnet that addresses come from
        ("", False),  # that of a port that is there
    ],
)
def test_an_entry_that_no_port_stands_for(survey: Survey, address: str, told: bool) -> None:  # noqa: FBT001 - a column
    owned = survey.sights.owned
    assert owned is not None
    pair = AddressPair(address or left(survey)[0].fixed_ips[0].ip_address)
    first = msgspec.structs.replace(
        owned.gateways[0], allowed_address_pairs=(*owned.gateways[0].allowed_address_pairs, pair)
    )
    found = changed(survey, owned=msgspec.structs.replace(owned, gateways=(first, owned.gateways[1])))
    expected = (EntryReport("g1", first.id, address),) if told else ()
    assert orphans.orphans(found).entries == expected


def test_without_a_look_around_there_is_nothing_to_tell_of_others(survey: Survey) -> None:
    owned = survey.sights.owned
    assert owned is not None
    for around in (None, Around()):
        report = orphans.orphans(changed(survey, owned=msgspec.structs.replace(owned, around=around)))
        assert report.others == ()
        assert len(report.orphans) == 2


def test_what_was_begun_for_a_service_in_trouble_is_no_orphan() -> None:
    async def deeds(world: World) -> Survey:
        await asyncio.sleep(5.0)
        limit(world, floatingip=3)  # which nobody knows of before the next audit
        User(world).expose("web", "80/TCP")
        await asyncio.sleep(10.0)
        found = await look_around(world)
        limit(world, floatingip=-1)
        return found

    found = scene(deeds)
    assert found.sights.owned is not None
    assert len(found.sights.owned.ports) == 1
    assert orphans.orphans(found).orphans == ()
